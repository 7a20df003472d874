/** Media are taken out of a JSON body in whatever pieces it comes; everything else stays as it was. */
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { decodeInPieces, type LiftedBody, MediaLifter } from "../src/bodies/LiftedMedia.ts"
import { joined } from "../src/bodies/Text.ts"

const limits = { text: 1_000_000, media: 1_000_000 }

const lifted = (text: string, size = Infinity, within = limits) => {
  const lifter = new MediaLifter(within)
  const bytes = Buffer.from(text)
  for (let at = 0; at < bytes.length; at += size) lifter.write(bytes.subarray(at, at + size))
  return { isTooLarge: lifter.isTooLarge, ...lifter.end() }
}

const parsed = ({ text }: LiftedBody) => JSON.parse(Buffer.from(text).toString())
const mediumBytes = (body: LiftedBody, mark: string) => {
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
    assert.deepStrictEqual(mediumBytes(found, image_url.url), bytes)
    assert.strictEqual(found.media.get(image_url.url)?.mediaType, "image/png")
    assert.isBelow(found.text.byteLength, 300)
  })

  it.each([1, 5, 4096, Infinity])("may be written with escapes and line breaks (pieces of %s bytes)", (size) => {
    const escaped = base64.replaceAll("/", String.raw`\/`).replaceAll("+", String.raw`\u002B`)
    const lines = base64.replaceAll(/(.{76})/gu, String.raw`$1\r\n`)
    // Programs escape the padding too, or end the last line.
    for (const data of [escaped, escaped.replaceAll("=", String.raw`\u003D`), lines, String.raw`${lines}\n`]) {
      const found = lifted(body(String.raw`data:image\/png;base64,${data}`), size)
      assert.deepStrictEqual(mediumBytes(found, parsed(found).image_url.url), bytes)
    }
  })

  it("need not have padding, and is none with a wrong character anywhere", () => {
    const bare = base64.replace(/=+$/u, "")
    const found = lifted(body(url(bare)))
    assert.deepStrictEqual(mediumBytes(found, parsed(found).image_url.url), bytes)
    for (const wrong of [`${base64}!`, `${bare}AA`, `${base64.slice(0, 20_000)}é${base64}`, `${base64}${base64}`]) {
      const one = lifted(body(url(wrong)))
      const mark = parsed(one).image_url.url
      assert.isTrue(one.media.has(mark), wrong.slice(-10))
      if (wrong !== `${bare}AA`) assert.isNull(mediumBytes(one, mark), wrong.slice(-10))
    }
  })

  it.each([1, 4096, Infinity])(
    "is sound or a file without a data URL under `data` and `file_data` alone (pieces of %s bytes)",
    (size) => {
      const text = `{"input_audio":{"data":"${base64}"},"file":{"file_data":"${base64}"},"url":"${base64}"}`
      const found = lifted(text, size)
      const { file, input_audio, url: kept } = parsed(found)
      assert.deepStrictEqual(mediumBytes(found, input_audio.data), bytes)
      assert.deepStrictEqual(mediumBytes(found, file.file_data), bytes)
      assert.strictEqual(kept, base64)
    }
  )

  it("may stand behind another one or a short text in the same object, and behind an empty name", () => {
    const found = lifted(`{"":"","url":"short","data":"${base64}","image_url":"${url(base64)}"}`)
    const { data, image_url, ...others } = parsed(found)
    assert.deepStrictEqual(others, { "": "", url: "short" })
    assert.deepStrictEqual([mediumBytes(found, data), mediumBytes(found, image_url)], [bytes, bytes])
  })

  it("stays where it is in other fields, and when it is short", () => {
    for (const text of [
      `{"text":"${url(base64)}"}`,
      `{"url":"${url("AAAA")}"}`,
      `["url","${url(base64)}"]`,
      `{"url":["${url(base64)}"]}`,
      `{"urls":"${url(base64)}"}`,
      `{"image_url":"${base64}"}`,
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
    const { byteLength } = lifted(body(url(base64))).text
    assert.isFalse(lifted(body(url(base64)), 4096, { text: byteLength, media: bytes.length }).isTooLarge)
    assert.isTrue(lifted(body(url(base64)), 4096, { text: byteLength - 1, media: bytes.length }).isTooLarge)
  })

  it("is too large before it ends, and with those before it", () => {
    const two = `{"data":"${base64}","file_data":"${base64}`
    const isTooLarge = (media: number) => lifted(two, 4096, { text: 300, media }).isTooLarge
    assert.isTrue(isTooLarge(bytes.length + 10_000))
    assert.isFalse(isTooLarge(2 * bytes.length))
  })

  it("that is cut off leaves a text that is not valid", () => {
    for (const end of [50, 20_000]) assert.throws(() => parsed(lifted(body(url(base64)).slice(0, end), 1000)))
  })
})

describe("pieces of a medium", () => {
  it("are joined to its bytes", () => {
    assert.deepStrictEqual(
      joined([bytes.subarray(0, 3), bytes.subarray(3, 3), bytes.subarray(3)]),
      Uint8Array.from(bytes)
    )
    assert.deepStrictEqual(joined([]), new Uint8Array())
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
