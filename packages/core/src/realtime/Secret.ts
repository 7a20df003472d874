/** Random texts, and their stored hashes. Used by tickets. */
import * as Effect from "effect/Effect"

const hex = (bytes: Uint8Array): string => Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("")

export const randomText: Effect.Effect<string> = Effect.sync(() =>
  hex(globalThis.crypto.getRandomValues(new Uint8Array(32)))
)

export const sha256 = (text: string): Effect.Effect<string> =>
  Effect.map(
    Effect.promise(() => globalThis.crypto.subtle.digest("SHA-256", new TextEncoder().encode(text))),
    (digest) => hex(new Uint8Array(digest))
  )
