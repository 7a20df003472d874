/**
 * The client for promises alone, as `Client.connect` of the main entry: for bundlers that keep all of an entry of which a page uses a part
 * (esbuild does). 30 kB there, 87 from the main entry.
 */
export type { ClientEvent } from "./ClientEvents.ts"
export type { FileInput } from "./FormBody.ts"
export * from "./PromiseClient.ts"
export * as WireErrors from "../wire/Errors.ts"
