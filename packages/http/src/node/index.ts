export { toNodeHandler } from "./NodeHandler.ts"
