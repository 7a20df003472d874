/** Media are taken out of a JSON body in whatever pieces it comes; everything else stays as it was. */
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { decodeInPieces, type LiftedBody, MediaLifter } from "../src/bodies/LiftedMedia.ts"

const limits = { text: 1_000_000, media: 1_000_000 }

const lifted = (text: string, size = Infinity, within = limits) => {
  const lifter = new MediaLifter(within)
  const bytes = Buffer.from(text)
  for (let at = 0; at < bytes.length; at += size) lifter.write(bytes.subarray(at, at + size))
  return { isTooLarge: lifter.isTooLarge, ...lifter.end() }
}

const parsed = ({ text }: LiftedBody) => JSON.parse(Buffer.from(text).toString())
const bytesOf = (body: LiftedBody, mark: string) => {
  const pieces = body.media.get(mark)?.pieces
  return pieces === null || pieces === undefined ? null : Buffer.concat(pieces)
}

const bytes = Buffer.from(Array.from({ length: 30_001 }, (_, at) => (at * 7919) % 256))
const base64 = bytes.toString("base64")
const url = (data: string) => `data:image/png;base64,${data}`
const body = (data: string) => `{"a":"\\\\\\"","image_url":{"url":"${data}"},"b":["url","data",{"url":"short"}]}`

describe("a medium in a body", () => {
  it.each([1, 2, 3, 7, 4096, 16_384, 16_385, Infinity])("is lifted from pieces of %s bytes", (size) => {
    const found = lifted(body(url(base64)), size)
    const { a, b, image_url } = parsed(found)
    assert.deepStrictEqual({ a, b }, { a: '\\"', b: ["url", "data", { url: "short" }] })
    assert.deepStrictEqual(bytesOf(found, image_url.url), bytes)
    assert.strictEqual(found.media.get(image_url.url)?.mediaType, "image/png")
    assert.isBelow(found.text.byteLength, 300)
  })

  it.each([1, 5, 4096, Infinity])("may be written with escapes and line breaks (pieces of %s bytes)", (size) => {
    const escaped = base64.replaceAll("/", String.raw`\/`).replaceAll("+", String.raw`\u002B`)
    for (const data of [escaped, base64.replaceAll(/(.{76})/gu, String.raw`$1\r\n`)]) {
      const found = lifted(body(String.raw`data:image\/png;base64,${data}`), size)
      assert.deepStrictEqual(bytesOf(found, parsed(found).image_url.url), bytes)
    }
  })

  it("need not have padding, and is none with a wrong character anywhere", () => {
    const bare = base64.replace(/=+$/u, "")
    const found = lifted(body(url(bare)))
    assert.deepStrictEqual(bytesOf(found, parsed(found).image_url.url), bytes)
    for (const wrong of [`${base64}!`, `${bare}AA`, `${base64.slice(0, 20_000)}é${base64}`, `${base64}${base64}`]) {
      const one = lifted(body(url(wrong)))
      const mark = parsed(one).image_url.url
      assert.isTrue(one.media.has(mark), wrong.slice(-10))
      if (wrong !== `${bare}AA`) assert.isNull(bytesOf(one, mark), wrong.slice(-10))
    }
  })

  it("is sound without a data URL under `data` alone", () => {
    const found = lifted(`{"input_audio":{"data":"${base64}"},"url":"${base64}"}`)
    const { input_audio, url: kept } = parsed(found)
    assert.deepStrictEqual(bytesOf(found, input_audio.data), bytes)
    assert.strictEqual(kept, base64)
  })

  it("stays where it is in other fields, and when it is short", () => {
    for (const text of [
      `{"text":"${url(base64)}"}`,
      `{"url":"${url("AAAA")}"}`,
      `["url","${url(base64)}"]`,
      `{"url":["${url(base64)}"]}`,
      `{"urls":"${url(base64)}"}`,
      `{"url":"https://example.org/${"a".repeat(20_000)}"}`
    ]) {
      for (const size of [5, Infinity]) {
        const found = lifted(text, size)
        assert.strictEqual(Buffer.from(found.text).toString(), text)
        assert.strictEqual(found.media.size, 0)
      }
    }
  })

  it("has its own limit, and the text another", () => {
    assert.isTrue(lifted(body(url(base64)), 4096, { text: 300, media: bytes.length - 1 }).isTooLarge)
    assert.isFalse(lifted(body(url(base64)), 4096, { text: 300, media: bytes.length }).isTooLarge)
    assert.isTrue(lifted(body(url(base64)), 4096, { text: 100, media: bytes.length }).isTooLarge)
  })

  it("that is cut off leaves a text that is not valid", () => {
    for (const end of [50, 20_000]) assert.throws(() => parsed(lifted(body(url(base64)).slice(0, end), 1000)))
  })
})

describe("base64 in a body that was read", () => {
  it("is decoded in pieces, and refused where it is none", async () => {
    const all = Buffer.alloc(3_000_001, "tea and its making ")
    const pieces = await Effect.runPromise(decodeInPieces(all.toString("base64")))
    assert.isTrue(Buffer.concat(pieces ?? []).equals(all))
    assert.isAtMost(Math.max(...(pieces ?? []).map(({ length }) => length)), 100_000)
    for (const none of ["%%%%", "A", "AAA\u00e9"]) assert.isNull(await Effect.runPromise(decodeInPieces(none)), none)
  })
})
