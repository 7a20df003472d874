/**
 * The path of the realtime socket, for requests that are no upgrade. The answer is 426: upgrades are taken by the server before they come
 * here.
 */
import { Tickets } from "@colloquy/core/wings"
import * as Effect from "effect/Effect"
import * as HttpRouter from "effect/http/HttpRouter"
import * as HttpServerResponse from "effect/http/HttpServerResponse"
import * as Option from "effect/Option"
import { errorResponse } from "../guards/Envelope.ts"
import { realtimeAbsent } from "./RealtimeHandlers.ts"

const wanted = HttpServerResponse.setHeaders(errorResponse(426, "This path is a WebSocket: ask for an upgrade"), {
  connection: "upgrade",
  upgrade: "websocket"
})

export const socketPath = HttpRouter.use(
  Effect.fnUntraced(function* (router) {
    const installed = yield* Effect.serviceOption(Tickets)
    const response = Option.isSome(installed) ? wanted : errorResponse(501, realtimeAbsent)
    yield* router.add("GET", "/threads/realtime", Effect.succeed(response))
  })
)
