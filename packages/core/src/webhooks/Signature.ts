/** Secrets and signatures by the convention of Standard Webhooks, and ids that are the same for the same event. */
import * as Effect from "effect/Effect"
import * as Redacted from "effect/Redacted"

const prefix = "whsec_"
const secretBytes = 32

const base64 = (bytes: Uint8Array): string => btoa(String.fromCharCode(...bytes))

const utf8 = (text: string) => Uint8Array.from(new TextEncoder().encode(text))

export const newSecret: Effect.Effect<Redacted.Redacted<string>> = Effect.sync(() =>
  Redacted.make(prefix + base64(globalThis.crypto.getRandomValues(new Uint8Array(secretBytes))))
)

/** One part of the header `webhook-signature`. */
const signature = (secret: Redacted.Redacted<string>, text: string): Effect.Effect<string> =>
  Effect.promise(async () => {
    const bytes = Uint8Array.from(atob(Redacted.value(secret).slice(prefix.length)), (letter) => letter.charCodeAt(0))
    const key = await globalThis.crypto.subtle.importKey("raw", bytes, { name: "HMAC", hash: "SHA-256" }, false, [
      "sign"
    ])
    const signed = await globalThis.crypto.subtle.sign("HMAC", key, utf8(text))
    return `v1,${base64(new Uint8Array(signed))}`
  })

export const signedHeaders = (
  secrets: ReadonlyArray<Redacted.Redacted<string>>,
  { at, body, id }: { readonly id: string; readonly at: Date; readonly body: string }
): Effect.Effect<Readonly<Record<string, string>>> => {
  const timestamp = String(Math.floor(at.getTime() / 1000))
  return Effect.map(
    Effect.forEach(secrets, (secret) => signature(secret, `${id}.${timestamp}.${body}`)),
    (signatures) => ({
      "content-type": "application/json",
      "webhook-id": id,
      "webhook-timestamp": timestamp,
      "webhook-signature": signatures.join(" ")
    })
  )
}

/** A UUID that is the same for the same words. */
export const idOfWords = (...words: ReadonlyArray<string>): Effect.Effect<string> =>
  Effect.map(
    Effect.promise(() => globalThis.crypto.subtle.digest("SHA-256", utf8(JSON.stringify(words)))),
    (hash) => {
      const hex = Array.from(new Uint8Array(hash).subarray(0, 16), (byte) => byte.toString(16).padStart(2, "0")).join(
        ""
      )
      return hex.replace(/^(.{8})(.{4}).(.{3}).(.{3})(.{12})$/u, "$1-$2-8$3-8$4-$5")
    }
  )
