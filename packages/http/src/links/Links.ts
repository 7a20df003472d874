/**
 * The addresses under which this service gives out the bytes of documents: written into answers when they are read, and checked by the
 * content endpoint. They are signed, so that a browser or a vendor needs no key.
 */
import type { DocumentId } from "@colloquy/core/adapters"
import { DocumentLinks } from "@colloquy/core/wings"
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Redacted from "effect/Redacted"
import { HttpSettings } from "../HttpSettings.ts"
import { type Expiry, expiryWithin, issuedIn, issuedWithin, isSignature, sign } from "./Signature.ts"

/** The address of a document, as a record of the wire shows it. */
export type UrlOf = (documentId: string) => string

export interface Link {
  readonly url: string
  readonly expiresAt: Date
}

export class Links extends Context.Service<
  Links,
  {
    /** An address that is valid for a whole `linkPeriod` at least. It is the same whenever it is read within one period. */
    readonly url: UrlOf
    /** Without `lifetime` the address is that of `url`. */
    readonly link: (documentId: string, lifetime?: Duration.Input) => Link
    /** Whether a signature was made here for this document, and is still valid. */
    readonly isGood: (documentId: string, expires: Expiry, signature: string) => boolean
    /** Whether a good signature was made before its document's addresses were revoked. */
    readonly isRevoked: (signature: string, revokedAt: Date | null) => boolean
    /** Notes a revocation at this time. Addresses that are written from now on count as written after it. */
    readonly revoked: (at: Date) => void
  }
>()("@colloquy/http/Links") {}

/** Reads the settings. If the kernel has documents, its `DocumentLinks` gives these addresses from now on. */
export const layer = (basePath: string): Layer.Layer<Links> =>
  Layer.effect(
    Links,
    Effect.gen(function* () {
      const { linkPeriod, publicUrl, signingKey } = yield* HttpSettings
      const clock = yield* Clock.Clock
      const [secret, ...earlier] = signingSecrets(signingKey)
      const period = Math.max(1, Math.ceil(Duration.toSeconds(linkPeriod)))
      const publicOrigin = () => (typeof publicUrl === "function" ? publicUrl() : publicUrl)

      /** The newest revocation that this process knows of, in seconds. */
      let newest = 0
      const learn = (at: Date) => {
        newest = Math.max(newest, Math.floor(at.getTime() / 1000) + 1)
      }

      const urlUntil = (documentId: string, expires: Expiry, issued: number): string => {
        const query = `expires=${expires}&signature=${sign(secret, documentId, expires, Math.max(issued, newest))}`
        const origin = publicOrigin()?.replace(/\/+$/u, "") ?? ""
        return `${origin}${basePath}/documents/${encodeURIComponent(documentId)}/content?${query}`
      }
      const now = () => clock.currentTimeMillisUnsafe()
      const expiryAfter = (lifetime: Duration.Input) => Math.ceil(now() / 1000 + Duration.toSeconds(lifetime))

      const links = Links.of({
        url: (documentId) => urlUntil(documentId, expiryWithin(now(), period), issuedWithin(now(), period)),
        link: (documentId, lifetime) => {
          const [expires, issued] =
            lifetime === undefined
              ? [expiryWithin(now(), period), issuedWithin(now(), period)]
              : [expiryAfter(lifetime), Math.floor(now() / 1000)]
          return { url: urlUntil(documentId, expires, issued), expiresAt: new Date(expires * 1000) }
        },
        revoked: learn,
        isRevoked: (signature, revokedAt) => {
          if (revokedAt === null) return false
          learn(revokedAt)
          return issuedIn(signature) * 1000 <= revokedAt.getTime()
        },
        isGood: (documentId, expires, signature) =>
          expires * 1000 > now() &&
          [secret, ...earlier].some((each) => isSignature(each, documentId, expires, signature))
      })
      const installed = yield* Effect.serviceOption(DocumentLinks)
      if (Option.isSome(installed)) {
        yield* installed.value.serve({
          url: (id: DocumentId) => links.url(id),
          signed: (id, lifetime) => (publicOrigin() === null ? null : links.link(id, lifetime).url)
        })
      }
      return links
    })
  )

const encoder = new TextEncoder()

/** Without a secret of the host, addresses are good in this process only. */
const signingSecrets = (keys: HttpSettings["signingKey"]): readonly [Uint8Array, ...Array<Uint8Array>] => {
  const [first, ...others] = [keys ?? []].flat().map((key) => encoder.encode(Redacted.value(key)))
  return [first ?? globalThis.crypto.getRandomValues(new Uint8Array(32)), ...others]
}
