/** Port: secrets of owners by name, encrypted before they are stored: a store never sees what is inside. */
import * as Context from "effect/Context"
import type * as Effect from "effect/Effect"
import type { StoreUnavailable } from "../primitives/StoreUnavailable.ts"
import type { Principal } from "./Principal.ts"

export class SealedSecretStore extends Context.Service<
  SealedSecretStore,
  {
    /** The principal's secret of this name, or null; it MUST NOT be that of another owner. */
    readonly find: (name: string) => Effect.Effect<Uint8Array | null, StoreUnavailable, Principal>
    /** MUST replace an earlier secret of this name. */
    readonly put: (name: string, sealed: Uint8Array) => Effect.Effect<void, StoreUnavailable, Principal>
    /** False: there was none. MUST return true once at most for each secret, also under concurrent calls from several processes. */
    readonly remove: (name: string) => Effect.Effect<boolean, StoreUnavailable, Principal>
  }
>()("@colloquy/core/access/SealedSecretStore") {}
