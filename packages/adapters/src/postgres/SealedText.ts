/**
 * Encrypts short secrets with AES-256-GCM, under a key derived from the host's secret. The context of a secret (owner and provider) is
 * authenticated with it, so a row that is copied to another owner cannot be decrypted.
 */
import * as Effect from "effect/Effect"
import * as Redacted from "effect/Redacted"
import type { webcrypto } from "node:crypto"

const nonceLength = 12

export interface Opened {
  readonly text: Redacted.Redacted<string>
  /** Whether the text was encrypted under one of the earlier secrets. */
  readonly isEarlier: boolean
}

export interface Seal {
  readonly seal: (text: Redacted.Redacted<string>, context: string) => Effect.Effect<Uint8Array>
  /** Dies if the text was encrypted in another context, or under a secret that the host does not have. */
  readonly open: (sealed: Uint8Array, context: string) => Effect.Effect<Opened>
}

/** Encrypts under the first secret, and decrypts under any of them. */
export const makeSeal = (
  secret: Redacted.Redacted<string>,
  earlier: ReadonlyArray<Redacted.Redacted<string>>
): Effect.Effect<Seal> =>
  Effect.gen(function* () {
    const key = yield* sealingKey(secret)
    const keys = [key, ...(yield* Effect.forEach(earlier, sealingKey))]
    return {
      seal: (text, context) =>
        Effect.promise(async () => {
          const iv = globalThis.crypto.getRandomValues(new Uint8Array(nonceLength))
          const bytes = await globalThis.crypto.subtle.encrypt(
            { name: "AES-GCM", iv, additionalData: utf8(context) },
            key,
            utf8(Redacted.value(text))
          )
          return Buffer.concat([iv, new Uint8Array(bytes)])
        }),
      open: (sealed, context) =>
        Effect.firstSuccessOf(
          keys.map((each) =>
            Effect.map(openUnder(each, sealed, context), (text) => ({ text, isEarlier: each !== key }))
          )
        ).pipe(Effect.catch(() => Effect.die(new Error(unreadable))))
    }
  })

const unreadable =
  "A stored provider key cannot be decrypted. Configure the secret with which it was stored, or store the key again."

const openUnder = (key: webcrypto.CryptoKey, sealed: Uint8Array, context: string) =>
  Effect.map(
    Effect.tryPromise(() =>
      globalThis.crypto.subtle.decrypt(
        { name: "AES-GCM", iv: Uint8Array.from(sealed.subarray(0, nonceLength)), additionalData: utf8(context) },
        key,
        Uint8Array.from(sealed.subarray(nonceLength))
      )
    ),
    (bytes) => Redacted.make(new TextDecoder().decode(bytes))
  )

const sealingKey = (secret: Redacted.Redacted<string>): Effect.Effect<webcrypto.CryptoKey> =>
  Effect.promise(async () => {
    const material = await globalThis.crypto.subtle.importKey("raw", utf8(Redacted.value(secret)), "HKDF", false, [
      "deriveKey"
    ])
    const parameters = { name: "HKDF", hash: "SHA-256", salt: new Uint8Array(), info: utf8("colloquy provider keys") }
    return globalThis.crypto.subtle.deriveKey(parameters, material, { name: "AES-GCM", length: 256 }, false, [
      "encrypt",
      "decrypt"
    ])
  })

const utf8 = (text: string): Uint8Array<ArrayBuffer> => Uint8Array.from(new TextEncoder().encode(text))
