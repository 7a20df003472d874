/** An id that is computed from a key, so that every process computes the same one. It is a UUID of version 8, which leaves its bits to its maker. */
import * as Effect from "effect/Effect"
import type * as Schema from "effect/Schema"

export const keyedId = <Id>(brand: { readonly make: (text: string) => Id }, key: Schema.Json): Effect.Effect<Id> =>
  Effect.map(
    Effect.promise(() => globalThis.crypto.subtle.digest("SHA-256", new TextEncoder().encode(JSON.stringify(key)))),
    (digest) => {
      const bytes = new Uint8Array(digest).subarray(0, 16)
      const hex = Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("")
      const parts = [hex.slice(0, 8), hex.slice(8, 12), `8${hex.slice(13, 16)}`, `8${hex.slice(17, 20)}`, hex.slice(20)]
      return brand.make(parts.join("-"))
    }
  )
