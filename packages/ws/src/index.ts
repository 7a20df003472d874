/**
 * The realtime socket of Colloquy on a server that exists already. `realtimeSocket` is for a kernel that is built as a layer, behind
 * `webHandler` for instance; `makeUpgradeHandler` for one that is built already. `./client` is the client for browsers and Node.
 */
export { realtimeSocket, type RealtimeSocket } from "./RealtimeSocket.ts"
export { attachUpgrade, makeUpgradeHandler, type UpgradeHandler, type UpgradeOptions } from "./UpgradeHandler.ts"
