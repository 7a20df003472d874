/**
 * Reads the key from a request, or the fields that the host's own function needs, and asks `access` for the owner. Some endpoints also take
 * a signed address in place of a key: such a request acts for the owner of the one document that the address names.
 */
import { type Keys, Principal } from "@colloquy/core"
import { allows, DocumentId, type HostCredentials, isFromOtherSite, makeAuthentication } from "@colloquy/core/adapters"
import { Documents } from "@colloquy/core/wings"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as HttpRouter from "effect/http/HttpRouter"
import { HttpServerRequest } from "effect/http/HttpServerRequest"
import * as HttpServerResponse from "effect/http/HttpServerResponse"
import type * as HttpApiEndpoint from "effect/http-api/HttpApiEndpoint"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Redacted from "effect/Redacted"
import { TakesSignature } from "../endpoints/DocumentsApi.ts"
import { Authorization, NeedsScope } from "../wire/Middleware.ts"
import { HttpSettings } from "../HttpSettings.ts"
import { Links } from "../links/Links.ts"
import { namedSource } from "../Source.ts"
import { Forbidden, Unauthorized } from "../wire/Errors.ts"
import { toWireError } from "../wire/ErrorStatus.ts"
import { errorResponse } from "./Envelope.ts"
import { tooMany } from "./RateLimit.ts"

export const layer: Layer.Layer<Authorization, never, Keys | Links> = Layer.effect(
  Authorization,
  Effect.gen(function* () {
    const settings = yield* HttpSettings
    const authenticate = yield* makeAuthentication(settings)
    const documents = Option.getOrNull(yield* Effect.serviceOption(Documents))
    const { isGood, isRevoked } = yield* Links

    const bySignature = Effect.fnUntraced(function* (use: typeof Documents.Service, { expires, signature }: Signed) {
      const { params } = yield* HttpRouter.RouteContext
      const documentId = params["document_id"] ?? ""
      if (!isGood(documentId, expires, signature)) return yield* new Unauthorized({ detail: outdated })
      const { ownerId, revokedAt } = yield* use.findAddressed(DocumentId.make(documentId))
      return isRevoked(signature, revokedAt) ? yield* new Unauthorized({ detail: outdated }) : { ownerId }
    })

    return Authorization.of({
      apiKey: (app, { credential, endpoint }) =>
        HttpServerRequest.use((request) => {
          const signed =
            documents !== null && Context.get(endpoint.annotations, TakesSignature) && Redacted.value(credential) === ""
              ? signedIn(request.url)
              : null
          if (documents !== null && signed !== null) {
            return Effect.matchEffect(bySignature(documents, signed), {
              onSuccess: (principal) => Effect.map(Effect.provideService(app, Principal, principal), keepable),
              onFailure: (error) =>
                error._tag === "DocumentNotFound"
                  ? Effect.succeed(errorResponse(404, error.message))
                  : Effect.fail(error._tag === "Unauthorized" ? error : toWireError(error))
            })
          }
          const isForged =
            Redacted.value(credential) === "" && mayChange(request) && isSentByOtherSite(request, settings)
          return Effect.matchEffect(authenticate(credential, readCredentials(request)), {
            onSuccess: (principal) =>
              Effect.flatMapEager(
                isForged ? Effect.fail(new Forbidden({ detail: forged })) : ensureScope(principal, endpoint),
                () => Effect.provideService(app, Principal, principal)
              ),
            onFailure: (error) =>
              error._tag === "TooManyFailedKeys"
                ? Effect.succeed(tooMany(error.waitMillis))
                : Effect.fail(toWireError(error))
          })
        })
    })
  })
)

const mayChange = ({ method }: HttpServerRequest): boolean => !readingMethods.has(method)

const readingMethods: ReadonlySet<string> = new Set(["GET", "HEAD", "OPTIONS"])

const forged =
  "A page of another site sent this request with the session of its user. Add its origin to `cors` if it may do that."

/** A web request of a test or a worker has no `Host`: then its own address names the server. */
const isSentByOtherSite = ({ headers, originalUrl }: HttpServerRequest, { cors, publicUrl }: HttpSettings): boolean =>
  isFromOtherSite(headers, {
    addresses: [
      typeof publicUrl === "function" ? publicUrl() : publicUrl,
      headers["host"] === undefined ? originalUrl : null
    ],
    trusted: cors?.allowedOrigins ?? []
  })

const ensureScope = (principal: typeof Principal.Service, { annotations }: HttpApiEndpoint.Top) => {
  const needed = Context.get(annotations, NeedsScope) ?? "admin"
  if (allows(principal, needed)) return Effect.void
  return Effect.fail(
    new Forbidden({ detail: `This needs the scope ${needed}, and the key has the scope ${principal.scope}.` })
  )
}

/** For a signed address, which is valid for some time: the browser may keep the bytes, and asks whether they are still valid. */
const keepable = HttpServerResponse.setHeader("cache-control", "private, no-cache")

interface Signed {
  readonly expires: number
  readonly signature: string
}

const outdated = "The address has ended, or its signature is wrong. Ask for a new one."

/** Null: the address has no signature, so the request needs a key. */
const signedIn = (url: string): Signed | null => {
  const query = new URLSearchParams(url.split("?", 2)[1] ?? "")
  const [expires, signature] = [query.get("expires"), query.get("signature")]
  return signature === null ? null : { expires: /^\d{1,12}$/u.test(expires ?? "") ? Number(expires) : 0, signature }
}

export const readCredentials = ({ headers, source }: HttpServerRequest): HostCredentials => ({
  authorization: headers["authorization"] ?? null,
  sessionToken: headers["x_session_token"] ?? headers["x-session-token"] ?? null,
  headers,
  source: namedSource(source)
})
