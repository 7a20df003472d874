/**
 * The realtime socket of Colloquy on an existing server. `realtimeSocket` is for a kernel that is built as a layer, for example for `webHandler`;
 * `makeUpgradeHandler` is for a kernel that is built already. `./client` is the client for browsers and Node.js.
 */
export { realtimeSocket, type RealtimeSocket } from "./RealtimeSocket.ts"
export type { Connection, FrontDoor, Proof, SessionWire } from "./FrontDoor.ts"
export { attachUpgrade, makeUpgradeHandler, type UpgradeHandler, type UpgradeOptions } from "./UpgradeHandler.ts"
