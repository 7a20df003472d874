/**
 * Finds out for whom a request acts: first the host's own hook, when he has one, then the API key. A key that was found valid is not looked
 * up again for a few seconds; a revoked one works no longer than that. Specification part 5.
 */
import { Keys, OwnerId, Principal } from "@colloquy/core"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import { HttpServerRequest } from "effect/http/HttpServerRequest"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import { Authorization } from "../endpoints/Middleware.ts"
import { Unauthorized } from "../wire/Errors.ts"
import { toWireError } from "../wire/ErrorStatus.ts"
import { type Found, type Guard, type LookUp, makeFailedKeys } from "./FailedKeys.ts"
import { type Authenticate, type HostCredentials, HttpSettings } from "../HttpSettings.ts"
import { tooMany } from "./RateLimit.ts"
import { sourceOf } from "../Source.ts"

export const layer: Layer.Layer<Authorization, never, Keys> = Layer.effect(
  Authorization,
  Effect.gen(function* () {
    const { authenticate } = yield* HttpSettings
    const byKey = yield* makeKeyCheck
    const principalOf = (credential: Redacted.Redacted, credentials: HostCredentials) =>
      authenticate === null
        ? byKey(credential, credentials)
        : Effect.flatMap(askHost(authenticate, credentials), (principal) =>
            principal === null ? byKey(credential, credentials) : Effect.succeed(principal)
          )
    return Authorization.of({
      apiKey: (app, { credential }) =>
        Effect.flatMap(HttpServerRequest, (request) =>
          Effect.flatMap(principalOf(credential, credentialsOf(request)), (found) =>
            "ownerId" in found
              ? Effect.provideService(app, Principal, found)
              : Effect.succeed(tooMany(found.waitMillis))
          )
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

/**
 * The host's functions get its request under the type that the host gave it where it mounted the service. The kernel cannot check that;
 * this is the one place where the type is let go.
 */
const asHostSees = (credentials: HostCredentials): HostCredentials<never> =>
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion
  credentials as HostCredentials<never>

const askHost = (authenticate: Authenticate<never>, credentials: HostCredentials) =>
  Effect.gen(function* () {
    const answer = authenticate(asHostSees(credentials))
    const owner = Effect.isEffect(answer) ? yield* answer : yield* Effect.promise(async () => answer)
    return owner === null || owner === undefined || owner === "" ? null : { ownerId: OwnerId.make(owner) }
  })

/** Looks a key up unless it is known; around the look-up stands the count of wrong keys, where the host tells the client's address. */
const makeKeyCheck = Effect.gen(function* () {
  const byKey = yield* makeKeyCache
  const guardOf = yield* makeFailedKeys
  const { clientAddress } = yield* HttpSettings
  return (key: Redacted.Redacted, credentials: HostCredentials) => {
    const address = clientAddress?.(asHostSees(credentials)) ?? null
    return byKey(key, address === null ? unguarded : guardOf(address))
  }
})

const unguarded: Guard = (lookUp) => lookUp

/**
 * By the key itself and not by its hash: the platform computes one on another thread, which costs more than a look-up saves. A Map finds
 * its entries by a seeded hash of the whole text, so the time of a look-up tells nothing of how much of a guess is right.
 */
const makeKeyCache = Effect.gen(function* () {
  const keys = yield* Keys
  const { keyCacheSize, keyCacheTime } = yield* HttpSettings
  const time = Duration.toMillis(keyCacheTime)
  const known = new Map<string, { readonly principal: Found; readonly until: number }>()

  const remember = (key: string, principal: Found, now: number) => {
    if (time <= 0) return
    const oldest = known.size >= keyCacheSize ? known.keys().next() : undefined
    if (oldest !== undefined && !oldest.done) known.delete(oldest.value)
    known.set(key, { principal, until: now + time })
  }

  const lookUp = (key: Redacted.Redacted, now: number): LookUp =>
    keys.authenticate(key).pipe(
      Effect.mapError(toWireError),
      Effect.tap((principal) => Effect.sync(() => remember(Redacted.value(key), principal, now)))
    )

  return (key: Redacted.Redacted, guard: Guard): ReturnType<Guard> => {
    const given = Redacted.value(key)
    if (given === "") return Effect.fail(new Unauthorized({ detail: "Invalid or missing API key" }))
    return Effect.clockWith((clock) => {
      const now = clock.currentTimeMillisUnsafe()
      const found = known.get(given)
      if (found !== undefined && found.until > now) return Effect.succeed(found.principal)
      known.delete(given)
      return guard(lookUp(key, now))
    })
  }
})
