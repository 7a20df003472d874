/** Takes the key and what the host needs from a request, and lets `access` find out for whom it acts. */
import { type Keys, Principal } from "@colloquy/core"
import { type HostCredentials, makeAuthentication } from "@colloquy/core/adapters"
import * as Effect from "effect/Effect"
import { HttpServerRequest } from "effect/http/HttpServerRequest"
import * as Layer from "effect/Layer"
import { Authorization } from "../endpoints/Middleware.ts"
import { HttpSettings } from "../HttpSettings.ts"
import { sourceOf } from "../Source.ts"
import { toWireError } from "../wire/ErrorStatus.ts"
import { tooMany } from "./RateLimit.ts"

export const layer: Layer.Layer<Authorization, never, Keys> = Layer.effect(
  Authorization,
  Effect.gen(function* () {
    const principalOf = yield* makeAuthentication(yield* HttpSettings)
    return Authorization.of({
      apiKey: (app, { credential }) =>
        Effect.flatMap(HttpServerRequest, (request) =>
          Effect.matchEffect(principalOf(credential, credentialsOf(request)), {
            onSuccess: (principal) => Effect.provideService(app, Principal, principal),
            onFailure: (error) =>
              error._tag === "TooManyFailedKeys"
                ? Effect.succeed(tooMany(error.waitMillis))
                : Effect.fail(toWireError(error))
          })
        )
    })
  })
)

const credentialsOf = ({ headers, source }: HttpServerRequest): HostCredentials => ({
  authorization: headers["authorization"] ?? null,
  sessionToken: headers["x_session_token"] ?? headers["x-session-token"] ?? null,
  headers,
  source: sourceOf(source)
})
