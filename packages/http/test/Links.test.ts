/** Addresses of documents: who made a signature, for what, until when. */
import { DocumentId } from "@colloquy/core/adapters"
import { DocumentLinks } from "@colloquy/core/documents"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import * as Schema from "effect/Schema"
import { TestClock } from "effect/testing"
import { createHmac } from "node:crypto"
import { defaultHttpSettings, HttpSettings } from "../src/HttpSettings.ts"
import * as Links from "../src/links/Links.ts"
import { expiryWithin, isSignature, sign } from "../src/links/Signature.ts"

const id = "0197c7b2-0000-7000-8000-000000000001"
const secret = new TextEncoder().encode("a secret of the host")

describe("a signature", () => {
  it("is an HMAC over document, end and the moment of writing, and good for nothing else", () => {
    const text = `colloquy document content\n${id}\n1000\n900`
    const signature = sign(secret, id, 1000, 900)
    assert.strictEqual(signature, `900.${createHmac("sha256", secret).update(text).digest("base64url")}`)
    assert.isTrue(isSignature(secret, id, 1000, signature))
    assert.isFalse(isSignature(secret, id, 1001, signature))
    assert.isFalse(isSignature(secret, id.replace("1", "2"), 1000, signature))
    assert.isFalse(isSignature(new Uint8Array(32), id, 1000, signature))
    for (const wrong of [
      "",
      `901${signature.slice(3)}`,
      `x${signature}`,
      signature.slice(1),
      `${signature}A`,
      signature.toLowerCase()
    ]) {
      assert.isFalse(isSignature(secret, id, 1000, wrong), wrong)
    }
  })

  it.effect.prop(
    "ends after one period at least and two at most, with a period",
    [
      Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 4e12 })),
      Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 1e6 }))
    ],
    ([now, period]) =>
      Effect.sync(() => {
        const left = expiryWithin(now, period) - now / 1000
        assert.isAtLeast(left, period)
        assert.isBelow(left, 2 * period)
        assert.strictEqual(expiryWithin(now, period) % period, 0)
      })
  )
})

const linksWith = (settings: Partial<HttpSettings>) =>
  Links.layer("/ai").pipe(
    Layer.provideMerge(DocumentLinks.layer),
    Layer.provide(Layer.succeed(HttpSettings, Object.assign({}, defaultHttpSettings, settings)))
  )

const urlParts = (url: string) => {
  const { origin, pathname, searchParams } = new URL(url, "http://here")
  return {
    origin,
    pathname,
    expires: Number(searchParams.get("expires")),
    signature: searchParams.get("signature") ?? ""
  }
}

describe("addresses", () => {
  it.effect("agree within a period and are good to its end", () =>
    Effect.gen(function* () {
      const links = yield* Links.Links
      yield* TestClock.setTime(1_000_001)
      const url = links.url(id)
      const { expires, pathname, signature } = urlParts(url)
      assert.deepStrictEqual([pathname, expires], [`/ai/documents/${id}/content`, 1200])
      yield* TestClock.setTime(1_099_000)
      assert.strictEqual(links.url(id), url)
      yield* TestClock.setTime(1_101_000)
      assert.notStrictEqual(links.url(id), url)
      yield* TestClock.setTime(1_199_999)
      assert.isTrue(links.isGood(id, expires, signature))
      yield* TestClock.setTime(1_200_000)
      assert.isFalse(links.isGood(id, expires, signature))
    }).pipe(Effect.provide(linksWith({ linkPeriod: "100 seconds" })))
  )

  it.effect("reach other rooms with the public address, to the second that they ask for", () =>
    Effect.gen(function* () {
      const links = yield* Links.Links
      yield* TestClock.setTime(5000)
      const room = yield* DocumentLinks
      const document = DocumentId.make(id)
      const { expires, origin, pathname, signature } = urlParts(
        yield* room.signed(document, { expiresIn: "10 seconds" })
      )
      assert.deepStrictEqual([origin, pathname, expires], ["https://ai.example", `/ai/documents/${id}/content`, 15])
      assert.isTrue(links.isGood(id, expires, signature))
      assert.strictEqual(room.url(document), links.url(id))
    }).pipe(Effect.provide(linksWith({ publicUrl: "https://ai.example/" })))
  )

  it.effect("are signed with the first key, and are good as long as the key that signed them is there", () =>
    Effect.gen(function* () {
      const made = (...keys: ReadonlyArray<string>) =>
        Effect.provide(Links.Links, linksWith({ signingKey: keys.map((key) => Redacted.make(key)) }))
      const [before, both, after] = [yield* made("old"), yield* made("new", "old"), yield* made("new")]
      const isGoodAt = (links: typeof before, { expires, signature }: ReturnType<typeof urlParts>) =>
        links.isGood(id, expires, signature)
      const [old, young] = [urlParts(before.url(id)), urlParts(both.url(id))]
      assert.deepStrictEqual([isGoodAt(before, old), isGoodAt(both, old), isGoodAt(after, old)], [true, true, false])
      assert.deepStrictEqual(
        [isGoodAt(before, young), isGoodAt(both, young), isGoodAt(after, young)],
        [false, true, true]
      )
    })
  )

  it.effect("are good in other processes with the same key, and only there", () =>
    Effect.gen(function* () {
      const made = (key: string | null) =>
        Effect.provide(Links.Links, linksWith({ signingKey: key === null ? null : Redacted.make(key) }))
      const [one, same, other, none] = [yield* made("k"), yield* made("k"), yield* made("l"), yield* made(null)]
      const { expires, signature } = urlParts(one.url(id))
      assert.isTrue(same.isGood(id, expires, signature))
      assert.isFalse(other.isGood(id, expires, signature))
      assert.isFalse(none.isGood(id, expires, signature))
      assert.notStrictEqual(none.url(id), (yield* made(null)).url(id))
    })
  )
})
