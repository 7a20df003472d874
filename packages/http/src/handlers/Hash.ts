/** SHA-256 as hex, by the platform's own crypto. */
import * as Effect from "effect/Effect"

const encoder = new TextEncoder()

export const sha256 = (text: string): Effect.Effect<string> =>
  Effect.map(
    Effect.promise(() => globalThis.crypto.subtle.digest("SHA-256", encoder.encode(text))),
    (digest) => Array.from(new Uint8Array(digest), (byte) => byte.toString(16).padStart(2, "0")).join("")
  )
