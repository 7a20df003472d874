/**
 * The service behind `node:http`, and so behind Express and Fastify. A handler made by `webHandler` is run on Node's messages as they are;
 * any other function of web requests is called with one. A request is read as it is asked for, an answer is written as fast as the client
 * takes it; a client that goes away stops what runs for his request.
 */
import * as Context from "effect/Context"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as HttpEffect from "effect/http/HttpEffect"
import { ClientAbort } from "effect/http/HttpServerError"
import { HttpServerRequest } from "effect/http/HttpServerRequest"
import type { ServerResponse } from "node:http"
import { type App, type Apps, appsOf, type Handler, notStarted } from "../App.ts"
import type { HostedMessage } from "./HostedMessage.ts"
import { NodeRequest, requestOf } from "./NodeRequest.ts"
import { defaultHttpSettings } from "../HttpSettings.ts"
import { endHalfSent } from "./HalfSent.ts"
import { write } from "./NodeResponse.ts"
import { badRequest, fault, refuse } from "./Refusals.ts"
import { throughWeb } from "./ThroughWeb.ts"

type Serve = (message: HostedMessage, response: ServerResponse) => void

export const toNodeHandler = (handler: Handler): Serve => {
  const apps = appsOf(handler)
  const serve = apps === undefined ? throughWeb(handler) : whenBuilt(apps)
  const patience = apps?.bodyTimeout ?? Duration.toMillis(defaultHttpSettings.bodyTimeout)
  return (message, response) => {
    endHalfSent(message, response, patience)
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

const serving = ({ answer, services }: App): Serve => {
  const answered = HttpEffect.toHandled(answer, (request, response) =>
    request instanceof NodeRequest ? write(response, request.response, request.method === "HEAD") : Effect.void
  )
  return (message, response) => {
    if (response.destroyed) return
    const request = requestOf(message, response)
    if (request === null) {
      badRequest(response)
      return
    }
    const fiber = Effect.runForkWith(Context.add(services, HttpServerRequest, request))(answered)
    // Every failure has had its answer by then; only a fault in answering itself leaves the client without.
    fiber.addObserver((exit) => {
      if (Exit.isFailure(exit) && !response.writableEnded && !response.destroyed) fault(response)
    })
    if (fiber.pollUnsafe() !== undefined) return
    response.once("close", () => {
      if (!response.writableFinished) fiber.interruptUnsafe(undefined, ClientAbort.annotation)
    })
  }
}
