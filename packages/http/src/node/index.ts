/** For servers of `node:http`: functions of web requests that a host made itself, and the server's own refusals in JSON. */
export type { NodeHandler } from "./HostedMessage.ts"
export { type HostRequest, hostRequest } from "../Source.ts"
export { refuseInJson } from "./ServerRefusals.ts"
export { toNodeHandler } from "./ThroughWeb.ts"
