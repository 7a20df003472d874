export { toolAccess } from "./Routes.ts"
