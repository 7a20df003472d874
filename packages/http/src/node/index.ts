export { toNodeHandler } from "./NodeHandler.ts"
export { refuseInJson } from "./ServerRefusals.ts"
