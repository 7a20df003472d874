/**
 * A wing by which owners grant access to servers of tools at which each owner has an account. It has an endpoint that begins the access,
 * one to which the browser comes back, and those that show and end the access. The protocol of the servers is behind `ToolAccess`.
 */
import type { Principal, StoreUnavailable } from "@colloquy/core"
import { makeAuthentication } from "@colloquy/core/adapters"
import {
  accessRequired,
  KeptAccess,
  type ServerAccess,
  ToolAccess,
  toolAccessPartName,
  type ToolServerNotFound
} from "@colloquy/core/wings"
import * as Effect from "effect/Effect"
import type { HttpServerRequest } from "effect/http/HttpServerRequest"
import * as HttpServerResponse from "effect/http/HttpServerResponse"
import * as HttpApi from "effect/http-api/HttpApi"
import * as HttpApiBuilder from "effect/http-api/HttpApiBuilder"
import * as HttpApiEndpoint from "effect/http-api/HttpApiEndpoint"
import * as HttpApiGroup from "effect/http-api/HttpApiGroup"
import * as OpenApi from "effect/http-api/OpenApi"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Redacted from "effect/Redacted"
import * as Schema from "effect/Schema"
import { IdempotencyHeader } from "../endpoints/MessagesApi.ts"
import { readCredentials } from "../guards/Authorization.ts"
import { readIdempotency } from "../handlers/Idempotency.ts"
import { HttpSettings } from "../HttpSettings.ts"
import { BadGateway, BadRequest, Forbidden, NotFound, NotImplemented, ServiceUnavailable } from "../wire/Errors.ts"
import { toWireError } from "../wire/ErrorStatus.ts"
import { writeTimestamp } from "../wire/Fields.ts"
import { Validation } from "../wire/Middleware.ts"
import type { Wing } from "../wings/Wing.ts"
import { served, wingApi } from "../wings/WingEndpoints.ts"
import { described } from "../endpoints/Described.ts"

const ToolServer = Schema.Struct({
  server: Schema.String,
  status: Schema.Literals(["authorized", "not_authorized"]),
  /** When the access ends, unless it is renewed before; null: not known, or there is none. */
  expires_at: Schema.NullOr(Schema.String),
  renewed: Schema.Boolean
})
const Begun = Schema.Struct({ url: Schema.String, expires_at: Schema.String })

const errors = [NotFound, NotImplemented, ServiceUnavailable] as const
const ofServer = { server: Schema.String }

const api = wingApi(
  HttpApiGroup.make("tool_servers")
    .add(
      HttpApiEndpoint.get("list", "/tool-servers", {
        success: Schema.Struct({ tool_servers: Schema.Array(ToolServer), next_cursor: Schema.Null }),
        error: [NotImplemented, ServiceUnavailable]
      }).annotateMerge(described("read", "List the servers of tools to which access can be granted")),
      HttpApiEndpoint.get("get", "/tool-servers/:server", {
        params: ofServer,
        success: ToolServer,
        error: errors
      }).annotateMerge(described("read", "Whether the owner has granted access to a server, and until when")),
      HttpApiEndpoint.post("begin", "/tool-servers/:server/authorization", {
        params: ofServer,
        headers: IdempotencyHeader,
        success: Begun,
        error: [BadGateway, ...errors]
      }).annotateMerge(described("write", "Begin an authorization: the address to which the owner's browser is sent")),
      HttpApiEndpoint.delete("forget", "/tool-servers/:server/authorization", {
        params: ofServer,
        success: ToolServer,
        error: errors
      }).annotateMerge(described("write", "Forget the access of the owner"))
    )
    .annotate(OpenApi.Title, "Tool servers")
    .annotate(OpenApi.Description, "Servers of tools at which each owner has an account.")
)

/** The browser comes from the other server, and has no key. */
const callbackApi = HttpApi.make("colloquy-tool-access")
  .add(
    HttpApiGroup.make("tool_access")
      .add(
        HttpApiEndpoint.get("callback", "/tool-access/callback", {
          query: {
            state: Schema.String,
            code: Schema.optionalKey(Schema.String),
            iss: Schema.optionalKey(Schema.String),
            error: Schema.optionalKey(Schema.String),
            error_description: Schema.optionalKey(Schema.String)
          },
          success: Schema.Struct({ server: Schema.String }),
          error: [BadGateway, BadRequest, Forbidden, NotImplemented, ServiceUnavailable]
        }).annotate(OpenApi.Summary, "Where the browser comes back with the answer of the authorization")
      )
      .annotate(OpenApi.Title, "Tool access")
  )
  .middleware(Validation)

const absent = new NotImplemented({
  detail: "No server of tools has accounts of owners here: the host has not installed any."
})

const service = Effect.map(
  Effect.serviceOption(ToolAccess),
  Option.match({
    onNone: () => Effect.fail(absent),
    onSome: (found): Effect.Effect<typeof ToolAccess.Service, NotImplemented> => Effect.succeed(found)
  })
)

const toRecord = ({ expiresAt, isGranted, isRenewed, server }: ServerAccess): typeof ToolServer.Type => ({
  server,
  status: isGranted ? "authorized" : "not_authorized",
  expires_at: expiresAt === null ? null : writeTimestamp(expiresAt),
  renewed: isRenewed
})

const handlers = HttpApiBuilder.group(
  api,
  "tool_servers",
  Effect.fnUntraced(function* (group) {
    const installed = yield* service
    const mapped = <A>(
      use: (access: typeof ToolAccess.Service) => Effect.Effect<A, ToolServerNotFound | StoreUnavailable, Principal>
    ) => Effect.flatMap(installed, (access) => Effect.mapError(use(access), (error) => toWireError(error)))

    return group
      .handle("list", () =>
        Effect.flatMap(installed, ({ list }) =>
          Effect.mapBoth(list, {
            onFailure: toWireError,
            onSuccess: (all) => ({ tool_servers: all.map(toRecord), next_cursor: null })
          })
        )
      )
      .handle("get", ({ params }) => mapped(({ get }) => Effect.map(get(params.server), toRecord)))
      .handle(
        "begin",
        Effect.fnUntraced(function* (sent) {
          const { begin } = yield* installed
          const { idempotency } = yield* readIdempotency(sent, () => ({}))
          const { expiresAt, url } = yield* begin(sent.params.server, idempotency?.key).pipe(
            Effect.mapError((error) =>
              error._tag === "ToolAccessFailed" ? new BadGateway({ detail: error.message }) : toWireError(error)
            )
          )
          return { url, expires_at: writeTimestamp(expiresAt) }
        })
      )
      .handle("forget", ({ params }) =>
        mapped(({ forget, get }) => Effect.andThen(forget(params.server), Effect.map(get(params.server), toRecord)))
      )
  })
)

const callbackHandlers = HttpApiBuilder.group(
  callbackApi,
  "tool_access",
  Effect.fnUntraced(function* (group) {
    const installed = yield* service
    const authenticate = yield* makeAuthentication(yield* HttpSettings)
    /**
     * The owner who opens this address: by the session of the browser, or by the key of a page that passes the request on. Null: the owner
     * is known only from `state`.
     */
    const asking = (request: HttpServerRequest) =>
      authenticate(Redacted.make(request.headers["x-api-key"] ?? ""), readCredentials(request)).pipe(
        Effect.map(({ ownerId }) => ownerId),
        Effect.orElseSucceed(() => null)
      )

    return group.handleRaw(
      "callback",
      Effect.fnUntraced(function* ({ query, request }) {
        // A HEAD request does not use up the code.
        if (request.method === "HEAD") return HttpServerResponse.empty()
        const { finish } = yield* installed
        const { code, error, iss, state } = query
        const done = yield* Effect.result(finish({ state, code, error, iss }, yield* asking(request)))
        if (done._tag === "Success")
          return answer(request, 200, `Access to ${done.success.server} is granted.`, done.success)
        const { failure } = done
        if (failure._tag === "StoreUnavailable") return yield* toWireError(failure)
        const { status } = toWireError(failure)
        return answer(request, status, failure.message, { detail: failure.message })
      })
    )
  })
)

const escaped = (text: string): string => text.replaceAll(/[&<>"']/gu, (character) => `&#${character.charCodeAt(0)};`)

/** A page for a browser, JSON for everything else. The address has a code in it: it is kept nowhere and told to nobody. */
const answer = ({ headers }: HttpServerRequest, status: number, words: string, record: object) => {
  const hidden = { "cache-control": "no-store", "referrer-policy": "no-referrer" }
  if (headers["accept"]?.includes("text/html") !== true)
    return HttpServerResponse.jsonUnsafe(record, { status, headers: hidden })
  return HttpServerResponse.text(
    `<!doctype html><html lang="en"><meta charset="utf-8"><title>Colloquy</title><p>${escaped(words)}</p><p>You can close this page.</p></html>`,
    {
      status,
      contentType: "text/html; charset=utf-8",
      headers: { ...hidden, "content-security-policy": "default-src 'none'; frame-ancestors 'none'" }
    }
  )
}

const own = served(api, handlers)
const open = served(callbackApi, callbackHandlers)
const readKept = Schema.decodeUnknownOption(KeptAccess)

const required = (server: string) => ({
  server,
  begin: `POST /tool-servers/${encodeURIComponent(server)}/authorization`
})

const accessMissing = { server: Schema.String, begin: Schema.String }

/** The wing of servers at which owners have accounts. A reply tells in `tool_access_required` where access was missing. */
export const toolAccess: Wing = {
  part: toolAccessPartName,
  fields: ({ answer: kept }) =>
    Option.match(readKept(kept), {
      onNone: () => ({}),
      onSome: ({ required: servers }) => ({ added: { tool_access_required: servers.map(required) } })
    }),
  schemas: {
    fields: { tool_access_required: Schema.Array(Schema.Struct(accessMissing)) },
    events: { [accessRequired]: accessMissing }
  },
  event: ({ data, type }) => {
    const server = typeof data === "object" && data !== null && "server" in data ? data.server : null
    return { type, ...required(typeof server === "string" ? server : "") }
  },
  endpoints: {
    describe: (document) => open.describe?.(own.describe?.(document) ?? document) ?? document,
    reflect: (add) => {
      own.reflect?.(add)
      open.reflect?.(add)
    },
    routes: Layer.mergeAll(own.routes, open.routes)
  }
}
