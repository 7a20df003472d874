/**
 * The endpoints of OpenAI's clients under `/v1`, as a wing of the API: `webHandler({ …, wings: [openai] })`. They stand outside of `Api`, because they
 * are OpenAI's and its description is the one that counts.
 */
import type { KeyScope, Principal } from "@colloquy/core"
import * as Effect from "effect/Effect"
import * as HttpRouter from "effect/http/HttpRouter"
import type { HttpServerRequest } from "effect/http/HttpServerRequest"
import type { HttpServerResponse } from "effect/http/HttpServerResponse"
import * as Layer from "effect/Layer"
import type * as Scope from "effect/Scope"
import type { Wing } from "../wings/Wing.ts"
import { makeChatCompletions } from "./ChatCompletions.ts"
import { makeConversations } from "./Conversations.ts"
import { OpenAiError } from "./Errors.ts"
import { makeGuarded } from "./Guarded.ts"
import { HeldMedia } from "./HeldMedia.ts"
import { makeModels } from "./Models.ts"
import { makeResponses } from "./Responses.ts"
import { makeStoredResponses } from "./StoredResponses.ts"
import * as TranscriptPart from "./TranscriptPart.ts"
import { transcriptPart } from "./TranscriptPart.ts"

type Handler = Effect.Effect<
  HttpServerResponse,
  OpenAiError,
  Principal | HttpServerRequest | HttpRouter.RouteContext | Scope.Scope
>

const unknownPath = Effect.fail(
  new OpenAiError({
    status: 404,
    message: "There is no such endpoint here. The server's own API may have what you need."
  })
)

/** HEAD is missing on purpose: the router answers it from the GET route. */
const methods = ["GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"] as const

const routes = HttpRouter.use(
  Effect.fnUntraced(function* (router) {
    const guarded = yield* makeGuarded
    const chat = yield* makeChatCompletions
    const models = yield* makeModels
    const responses = yield* makeResponses
    const stored = yield* makeStoredResponses
    const conversations = yield* makeConversations
    const param = (name: string) => Effect.map(HttpRouter.RouteContext, ({ params }) => params[name] ?? "")
    const at = (method: (typeof methods)[number], path: `/${string}`, scope: KeyScope, handler: Handler) =>
      router.add(method, `/v1${path}`, guarded(scope, handler))

    yield* at("POST", "/chat/completions", "write", chat)
    // Names have slashes, and not every client encodes them. The path without a name is the list.
    yield* at(
      "GET",
      "/models/*",
      "read",
      Effect.flatMap(param("*"), (name) => (name === "" ? models.list : models.get(name)))
    )
    const id = (handle: (id: string) => Handler): Handler => Effect.flatMap(param("id"), handle)
    yield* at("POST", "/responses", "write", responses)
    yield* at("GET", "/responses/:id", "read", id(stored.get))
    yield* at("DELETE", "/responses/:id", "write", id(stored.remove))
    yield* at("POST", "/responses/:id/cancel", "write", id(stored.cancel))
    yield* at("POST", "/conversations", "write", conversations.create)
    yield* at("GET", "/conversations/:id", "read", id(conversations.get))
    yield* at("POST", "/conversations/:id", "write", id(conversations.update))
    yield* at("DELETE", "/conversations/:id", "write", id(conversations.remove))
    for (const method of methods) yield* at(method, "/*", "read", unknownPath)
  })
)

/** The wing of these endpoints. Its part keeps the conversation that a client brings; no field of messages is for it. */
export const openai: Wing = {
  part: transcriptPart,
  endpoints: { routes: Layer.mergeAll(routes, TranscriptPart.layer).pipe(Layer.provide(HeldMedia.layer)) }
}
