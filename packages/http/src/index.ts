/** The public API of the HTTP surface: mount it, call it, describe it. */

/** Mounting: one function for everything that speaks web requests, one for `node:http`, or the routes as a layer for a router of Effect. */
export type { NodeHandler } from "./node/HostedMessage.ts"
export { webHandler, type WebHandler, type WebHandlerOptions } from "./WebHandler.ts"
export { withSource } from "./Source.ts"
export { routes, type RoutesOptions } from "./Routes.ts"

/** Adding to the API: fields, events and endpoints of a host's own parts of turns. */
export { messageFields } from "./wings/MessageFields.ts"
export { served, wingApi } from "./wings/WingEndpoints.ts"
export type { Kept, MessageWords, PartFields, PartTold, Wing, WingEndpoints } from "./wings/Wing.ts"

export { NeedsScope } from "./wire/Middleware.ts"
export type { DocsPage } from "./docs-page/DocsRoutes.ts"
export { type Cors, defaultHttpSettings, HttpSettings, type Limits } from "./HttpSettings.ts"
export type { Authenticate, ClientAddress, HostCredentials } from "@colloquy/core/adapters"

/** The definition of the surface: the description of the API and the clients are made from it. */
export { Api } from "./Api.ts"
export * as ModelRecords from "./wire/ModelRecords.ts"
export * as Records from "./wire/Records.ts"
export * as WireErrors from "./wire/Errors.ts"
export { toWireError } from "./wire/ErrorStatus.ts"
export { deltaTypes, StreamEvent, terminalTypes } from "./wire/StreamEvents.ts"

/** Calling it, in this process or from afar. */
export * as Client from "./client/Client.ts"
