/** A thread behind `useChat` of the AI SDK: a transport for the browser, a route for those who point `useChat` at one, and what a chat begins with. */
export { chatRoute, type ChatRouteOptions } from "./ChatRoute.ts"
export { ColloquyTransport, type TransportOptions } from "./ColloquyTransport.ts"
export { type TurnMetadata, uiChunks } from "./UiChunks.ts"
export { uiMessages } from "./UiMessages.ts"
