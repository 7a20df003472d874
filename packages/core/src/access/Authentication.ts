/**
 * Finds the principal for whom a request acts: first with the host's own function, if there is one, then with the API key. A valid key is
 * not looked up again for a few seconds, so a key that is revoked or expires works at most that long. If the host reports client addresses,
 * wrong keys are counted by address: an address above the rate is refused without a look-up, which makes guessing slow and costs the store
 * nothing. `http` and `ws` call this for each request.
 */
import * as Context from "effect/Context"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Redacted from "effect/Redacted"
import * as Schema from "effect/Schema"
import type * as Scope from "effect/Scope"
import { RecentlyUsed } from "../primitives/RecentlyUsed.ts"
import type { StoreUnavailable } from "../primitives/StoreUnavailable.ts"
import {
  clientAddressFrom,
  askHost,
  type Authenticate,
  type ClientAddress,
  type HostCredentials
} from "./HostCredentials.ts"
import { InvalidKey, Keys } from "./Keys.ts"
import type { Principal } from "./Principal.ts"
import { type Rate, RateLimiter } from "./RateLimiter.ts"

/** The host's function, and how keys are cached and wrong ones counted. */
export interface AuthenticationSettings {
  readonly authenticate: Authenticate<never> | null
  /** Null: wrong keys are not counted, because behind a proxy all clients may seem to have one address. */
  readonly clientAddress: ClientAddress<never> | null
  /** How many keys of one address may be wrong. After that its requests are refused for a while, without a look-up of their keys. */
  readonly failedKeys: Rate
  /** How long a valid key is not looked up again. One that is revoked or expires still works for this time. Zero: each request looks it up. */
  readonly keyCacheTime: Duration.Input
  readonly keyCacheSize: number
}

/** The settings of a host that changes none. */
export const defaultAuthentication: AuthenticationSettings = {
  authenticate: null,
  clientAddress: null,
  failedKeys: { limit: 20, window: "1 minute" },
  keyCacheTime: "5 seconds",
  keyCacheSize: 10_000
}

/** This address sent too many wrong keys. `waitMillis` says when the next one is looked at. */
export class TooManyFailedKeys extends Schema.TaggedError<TooManyFailedKeys>()("TooManyFailedKeys", {
  waitMillis: Schema.Finite
}) {
  override get message() {
    return "Too many wrong keys came from this address. Wait before you send another key."
  }
}

type Found = typeof Principal.Service
type LookUp = Effect.Effect<Found, InvalidKey | StoreUnavailable>
type Checked = Effect.Effect<Found, InvalidKey | TooManyFailedKeys | StoreUnavailable>

/** An empty key counts as no key. */
export type Authentication = (key: Redacted.Redacted, credentials: HostCredentials) => Checked

/** Makes the check of requests from the settings. */
export const makeAuthentication = Effect.fnUntraced(function* (
  settings: AuthenticationSettings
): Effect.fn.Return<Authentication, never, Keys | Scope.Scope> {
  const { authenticate } = settings
  const keys = yield* Keys
  const limiter = yield* rateLimiter
  const known = new KnownKeys(settings)
  const failed = new FailedKeys(limiter, settings.failedKeys)

  const byKey: Authentication = (key, credentials) => {
    const given = Redacted.value(key)
    if (given === "") return Effect.fail(new InvalidKey())
    return Effect.clockWith((clock): Checked => {
      const now = clock.currentTimeMillisUnsafe()
      const principal = known.find(given, now)
      if (principal !== null) return Effect.succeed(principal)
      const lookUp = Effect.tap(keys.authenticate(key), (found) => Effect.sync(() => known.keep(given, found, now)))
      const address = clientAddressFrom(settings.clientAddress, credentials)
      return address === null ? lookUp : failed.guard(address, lookUp, now)
    })
  }

  if (authenticate === null) return byKey
  return (key, credentials) =>
    Effect.flatMap(askHost(authenticate, credentials), (principal) =>
      principal === null ? byKey(key, credentials) : Effect.succeed(principal)
    )
})

/** The host's limiter if the kernel's layer contains one; otherwise a limiter that counts in this process. */
export const rateLimiter: Effect.Effect<typeof RateLimiter.Service, never, Scope.Scope> = Effect.gen(function* () {
  const hosts = yield* Effect.serviceOption(RateLimiter)
  return Option.isSome(hosts) ? hosts.value : Context.get(yield* Layer.build(RateLimiter.layerInProcess), RateLimiter)
})

/**
 * Finds entries by the key itself and not by its hash, because the platform computes hashes on another thread, which costs more than the
 * look-up saves. A `Map` compares a seeded hash of the whole text, so the time of a look-up does not reveal how much of a guessed key is
 * right.
 */
class KnownKeys {
  private readonly known: RecentlyUsed<{ readonly principal: Found; readonly until: number }>
  private readonly millis: number

  constructor({ keyCacheSize, keyCacheTime }: AuthenticationSettings) {
    this.millis = Duration.toMillis(keyCacheTime)
    this.known = new RecentlyUsed(keyCacheSize)
  }

  find(key: string, now: number): Found | null {
    const found = this.known.get(key)
    if (found === undefined) return null
    if (found.until > now) return found.principal
    this.known.delete(key)
    return null
  }

  keep(key: string, principal: Found, now: number): void {
    if (this.millis > 0) this.known.set(key, { principal, until: now + this.millis }, 1)
  }
}

/** Beyond this number, an address that was refused long ago may send one more key, which the limiter counts again. */
const keptAddresses = 10_000

class FailedKeys {
  private readonly refusedUntil = new RecentlyUsed<number>(keptAddresses)
  private readonly limiter: typeof RateLimiter.Service
  private readonly rate: Rate

  constructor(limiter: typeof RateLimiter.Service, rate: Rate) {
    this.limiter = limiter
    this.rate = rate
  }

  guard(address: string, lookUp: LookUp, now: number): Checked {
    const until = this.refusedUntil.get(address)
    if (until !== undefined && until > now) return Effect.fail(new TooManyFailedKeys({ waitMillis: until - now }))
    this.refusedUntil.delete(address)
    return Effect.catchTag(lookUp, "InvalidKey", (error) => this.count(address, error, now))
  }

  private count(address: string, error: InvalidKey, now: number): Checked {
    return Effect.flatMap(this.limiter.take(`failed key from ${address}`, this.rate), (waitMillis): Checked => {
      if (waitMillis === null) return Effect.fail(error)
      this.refusedUntil.set(address, now + waitMillis, 1)
      return Effect.fail(new TooManyFailedKeys({ waitMillis }))
    })
  }
}
