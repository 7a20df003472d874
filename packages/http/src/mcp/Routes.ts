/**
 * `POST /mcp`: streamable HTTP by the official SDK, as a wing of the API: `webHandler({ …, wings: [mcp] })`. It speaks the stateless revision
 * 2026-07-28, and those from 2024-11-05 to 2025-11-25 without sessions: every request stands for itself, so any process may answer it.
 */
import { Allowances, Principal } from "@colloquy/core"
import type { IdempotencyKey } from "@colloquy/core/adapters"
import {
  createMcpHandler,
  ProtocolError,
  ProtocolErrorCode,
  ResourceNotFoundError,
  Server
} from "@modelcontextprotocol/server"
import * as Effect from "effect/Effect"
import * as HttpRouter from "effect/http/HttpRouter"
import { HttpServerRequest } from "effect/http/HttpServerRequest"
import * as HttpServerResponse from "effect/http/HttpServerResponse"
import * as HttpApiBuilder from "effect/http-api/HttpApiBuilder"
import * as HttpApiEndpoint from "effect/http-api/HttpApiEndpoint"
import * as HttpApiGroup from "effect/http-api/HttpApiGroup"
import * as HttpApiSchema from "effect/http-api/HttpApiSchema"
import * as OpenApi from "effect/http-api/OpenApi"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import { dropFiles } from "../bodies/KeepFiles.ts"
import { readBody } from "../bodies/RequestBody.ts"
import { IdempotencyHeader, turnErrors } from "../endpoints/MessagesApi.ts"
import { withBearerKey } from "../guards/BearerKey.ts"
import { readIdempotency } from "../handlers/Idempotency.ts"
import { HttpSettings } from "../HttpSettings.ts"
import { toWireError } from "../wire/ErrorStatus.ts"
import { isRecord } from "../wire/Json.ts"
import { NeedsScope } from "../wire/Middleware.ts"
import type { Wing } from "../wings/Wing.ts"
import { served, wingApi } from "../wings/WingEndpoints.ts"
import { makeAssistantTools } from "./AssistantTools.ts"
import { makeResources, templates } from "./Resources.ts"

const call = HttpApiEndpoint.post("call", "/mcp", {
  headers: IdempotencyHeader,
  payload: Schema.Json,
  success: [Schema.Json, HttpApiSchema.StreamSse({ data: Schema.Json })],
  error: turnErrors
})
  .annotate(NeedsScope, "write")
  .annotate(
    OpenApi.Summary,
    "The Model Context Protocol over streamable HTTP: assistants as tools, threads and documents as resources"
  )

const api = wingApi(
  HttpApiGroup.make("mcp")
    .add(call)
    .annotate(OpenApi.Title, "MCP")
    .annotate(
      OpenApi.Description,
      "An owner's assistants, threads and documents for clients of the Model Context Protocol."
    )
)

type Run = <A>(effect: Effect.Effect<A, unknown, Principal>, signal?: AbortSignal) => Promise<A>

const makeServer = Effect.gen(function* () {
  const tools = yield* makeAssistantTools
  const resources = yield* makeResources

  return (run: Run, keyFor: (id: unknown) => IdempotencyKey | null) => {
    const server = new Server(
      { name: "colloquy", version: "1.0.0" },
      {
        capabilities: { tools: {}, resources: {} },
        instructions: "Each tool asks an assistant. A conversation goes on with its thread_id."
      }
    )
    server.setRequestHandler("tools/list", ({ params }) => run(tools.list(pageStart(params?.cursor))))
    server.setRequestHandler("tools/call", async ({ params }, context) => {
      // Only in the stateless revision can a result ask the person something.
      const { envelope, id, signal } = context.mcpReq
      const canAsk = envelope !== undefined && server.getClientCapabilities()?.elicitation !== undefined
      const asked = { name: params.name, args: params.arguments ?? {}, context, canAsk, idempotency: keyFor(id) }
      const result = await run(tools.call(asked), signal)
      if (result === null) throw invalid(`There is no tool ${params.name}.`)
      return result
    })
    server.setRequestHandler("resources/list", async ({ params }) => {
      const page = await run(resources.list(params?.cursor))
      if (page === null) throw unknownCursor
      return page
    })
    server.setRequestHandler("resources/templates/list", () => ({ resourceTemplates: templates }))
    server.setRequestHandler("resources/read", async ({ params }) => {
      const contents = await run(resources.read(params.uri))
      if (contents === null) throw new ResourceNotFoundError(params.uri)
      return { contents }
    })
    return server
  }
})

const invalid = (message: string) => new ProtocolError(ProtocolErrorCode.InvalidParams, message)

const unknownCursor = invalid("The cursor is not one of this list.")

const pageStart = (cursor = "0"): number => {
  if (!/^\d{1,9}$/u.test(cursor)) throw unknownCursor
  return Number(cursor)
}

/** In a batch, each message has a key of its own, by its place. */
const messageKey = (messages: ReadonlyArray<unknown>, { key, fingerprint }: IdempotencyKey, id: unknown) => ({
  key: `${key}:${messages.findIndex((message) => isRecord(message) && message["id"] === id)}`,
  fingerprint
})

const handlers = HttpApiBuilder.group(
  api,
  "mcp",
  Effect.fnUntraced(function* (group) {
    const bounds = yield* HttpSettings
    const { takeRequest } = yield* Allowances
    const server = yield* makeServer

    return group.handleRaw(
      "call",
      Effect.fnUntraced(function* (raw) {
        const { value: parsedBody } = yield* readBody(raw.request, raw.endpoint.payload, bounds, noFiles)
        const { idempotency = null } = yield* readIdempotency(raw, () => ({ parsedBody }))
        const batch: ReadonlyArray<unknown> | null = Array.isArray(parsedBody) ? parsedBody : null
        const principal = yield* Principal
        // The request itself is counted already, and the protocol takes no more than 100 messages.
        yield* Effect.forEach(batch?.slice(1, 100) ?? [], () => Effect.mapError(takeRequest(principal), toWireError))
        const keyFor = (id: unknown) =>
          batch === null || idempotency === null ? idempotency : messageKey(batch, idempotency, id)
        const context = yield* Effect.context<Principal>()
        const run: Run = (effect, signal) =>
          Effect.runPromiseWith(context)(effect, signal === undefined ? {} : { signal })
        const handler = createMcpHandler(() => server(run, keyFor), { responseMode: "sse" })
        const request = new Request("http://mcp.invalid/mcp", { method: "POST", headers: { ...raw.request.headers } })
        return HttpServerResponse.fromWeb(yield* Effect.promise(() => handler.fetch(request, { parsedBody })))
      })
    )
  })
)

const noFiles = { fields: {}, keep: dropFiles({}) }

const bearer = HttpRouter.middleware((app) => Effect.updateService(app, HttpServerRequest, withBearerKey))

const endpoints = served(api, handlers)

/** The wing of MCP. No field of messages is for it. */
export const mcp: Wing = {
  part: "mcp",
  endpoints: { ...endpoints, routes: Layer.provide(endpoints.routes, bearer.layer) }
}
