/**
 * The realtime socket of Colloquy on a server that exists already:
 * `attachUpgrade(server, await runtime.runPromise(makeUpgradeHandler({ basePath: "/ai" })))`. `./client` is the client for browsers and Node.
 */
export { attachUpgrade, makeUpgradeHandler, type UpgradeHandler, type UpgradeOptions } from "./UpgradeHandler.ts"
