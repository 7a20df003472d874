/**
 * The service behind `node:http`, and so behind Express and Fastify, run on Node's messages as they are. A request is read as it is asked
 * for, an answer is written as fast as the client takes it; when a client goes away, what runs for its request is stopped.
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as HttpEffect from "effect/http/HttpEffect"
import { ClientAbort } from "effect/http/HttpServerError"
import { HttpServerRequest } from "effect/http/HttpServerRequest"
import { Scheduler } from "effect/Scheduler"
import type { ServerResponse } from "node:http"
import { type App, type Apps, notStarted } from "../App.ts"
import { loopTurns } from "../LoopTurns.ts"
import { bodyTaken, type HostedMessage, isBodyTaken, isRoundabout, type NodeHandler } from "./HostedMessage.ts"
import { NodeRequest, nodeRequest } from "./NodeRequest.ts"
import { endHalfSent } from "./HalfSent.ts"
import { write } from "./NodeResponse.ts"
import { badRequest, fault, notFound, refuse } from "./Refusals.ts"

type Serve = (message: HostedMessage, response: ServerResponse) => void

export const nodeHandler = (apps: Apps): NodeHandler => {
  const serve = whenBuilt(apps)
  return (message, response) => {
    endHalfSent(message, response, apps.bodyTimeout)
    serve(message, response)
  }
}

const whenBuilt = ({ secondsToRetry, whenNeeded }: Apps): Serve => {
  let serve: Serve | null = null
  return (message, response) => {
    if (serve !== null) {
      serve(message, response)
      return
    }
    whenNeeded().then(
      (app) => {
        serve ??= serving(app)
        serve(message, response)
      },
      () => refuse(response, notStarted.status, notStarted.detail, { "retry-after": String(secondsToRetry()) })
    )
  }
}

/** The most services that a request adds before Effect copies all of them for it. Its default is eight. */
const mostOfRequest = 24

const serving = ({ response: routed, services: given }: App): Serve => {
  // A scheduler that the host has chosen stays.
  const isChosen = Context.get(given, Scheduler) !== Context.get(Context.empty(), Scheduler)
  const all = isChosen ? given : Context.add(given, Scheduler, loopTurns())
  const services = Context.makeUnsafe(new Map(all.mapUnsafe), { maxDepth: mostOfRequest })
  // Many requests may come in one turn of the event loop: their work takes turns from the beginning.
  const answered = Effect.andThen(
    Effect.yieldNow,
    HttpEffect.toHandled(routed, (request, response) =>
      request instanceof NodeRequest ? write(response, request.response, request.method === "HEAD") : Effect.void
    )
  )
  return (message, response) => {
    if (response.destroyed) return
    if (isRoundabout(message)) {
      notFound(response)
      return
    }
    if (isBodyTaken(message)) {
      refuse(response, 500, bodyTaken)
      return
    }
    const request = nodeRequest(message, response)
    if (request === null) {
      badRequest(response)
      return
    }
    const fiber = Effect.runForkWith(Context.add(services, HttpServerRequest, request))(answered)
    // Failures of the routes have been answered by then; a failure here is one of writing the answer.
    fiber.addObserver((exit) => {
      if (Exit.isFailure(exit) && !response.writableEnded && !response.destroyed) fault(response)
    })
    if (fiber.pollUnsafe() !== undefined) return
    response.once("close", () => {
      if (!response.writableFinished) fiber.interruptUnsafe(undefined, ClientAbort.annotation)
    })
  }
}
