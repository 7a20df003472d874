/**
 * Port: a customer's own key for a provider. It takes precedence over the host's key for that provider. The default has no keys.
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import type * as Redacted from "effect/Redacted"
import type { StoreUnavailable } from "../primitives/StoreUnavailable.ts"
import type { Principal } from "./Principal.ts"

/** Finds the key that an owner brought for a provider. */
export interface ProviderKeysPort {
  /** The principal's own key for the provider, or null. MUST NOT return another owner's key. */
  readonly find: (provider: string) => Effect.Effect<Redacted.Redacted<string> | null, StoreUnavailable, Principal>
}

export const ProviderKeys = Context.Reference<ProviderKeysPort>("@colloquy/core/access/ProviderKeys", {
  defaultValue: () => ({ find: () => Effect.succeed(null) })
})
