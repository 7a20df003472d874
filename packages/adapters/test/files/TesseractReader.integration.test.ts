/** Words in pictures, without a network; pictures that are broken or too large end with a sentence. */
import { fileTypeForExtension, TextExtractor } from "@colloquy/core/documents"
import { assert, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Stream from "effect/Stream"
import { deflateSync } from "node:zlib"
import { FileExtractor } from "../../src/files/index.ts"
import { pictureSize } from "../../src/files/PictureSize.ts"
import { TesseractReader } from "../../src/files/tesseract.ts"

/** Seven rows of five points a letter. */
const letters: Readonly<Record<string, string>> = {
  T: "##### ..#.. ..#.. ..#.. ..#.. ..#.. ..#..",
  E: "##### #.... #.... ####. #.... #.... #####",
  H: "#...# #...# #...# ##### #...# #...# #...#",
  O: ".###. #...# #...# #...# #...# #...# .###.",
  U: "#...# #...# #...# #...# #...# #...# .###.",
  S: ".#### #.... #.... .###. ....# ....# ####.",
  " ": "..... ..... ..... ..... ..... ..... ....."
}

const scale = 6

/** A gray PNG with a word in black on white. */
const picture = (text: string): Uint8Array => {
  const margin = 6
  const columns = text.length * 6 + 2 * margin
  const isInk = (column: number, row: number): boolean => {
    const [letter = " ", at] = [text[Math.floor((column - margin) / 6)], (column - margin) % 6]
    return column >= margin && at < 5 && letters[letter]?.split(" ")[row - margin]?.[at] === "#"
  }
  const [width, height] = [columns * scale, (7 + 2 * margin) * scale]
  const rows = Array.from({ length: height }, (_, y) => [
    0,
    ...Array.from({ length: width }, (__, x) => (isInk(Math.floor(x / scale), Math.floor(y / scale)) ? 0 : 255))
  ])
  return png(width, height, deflateSync(Uint8Array.from(rows.flat())))
}

const crc = (bytes: Buffer): number => {
  let value = 0xffffffff
  for (const byte of bytes) {
    value ^= byte
    for (let bit = 0; bit < 8; bit++) value = value & 1 ? (value >>> 1) ^ 0xedb88320 : value >>> 1
  }
  return (value ^ 0xffffffff) >>> 0
}

const png = (width: number, height: number, data: Uint8Array): Uint8Array => {
  const chunk = (type: string, content: Uint8Array) => {
    const body = Buffer.concat([Buffer.from(type), content])
    const [length, check] = [Buffer.alloc(4), Buffer.alloc(4)]
    length.writeUInt32BE(content.length)
    check.writeUInt32BE(crc(body))
    return Buffer.concat([length, body, check])
  }
  const header = Buffer.alloc(13)
  header.writeUInt32BE(width, 0)
  header.writeUInt32BE(height, 4)
  header.set([8, 0, 0, 0, 0], 8)
  const mark = Buffer.from("\x89PNG\r\n\x1a\n", "latin1")
  return Uint8Array.from(
    Buffer.concat([mark, chunk("IHDR", header), chunk("IDAT", data), chunk("IEND", Buffer.alloc(0))])
  )
}

const read = (extension: string, bytes: Uint8Array) =>
  Effect.flatMap(TextExtractor, (extractor) => {
    const type = fileTypeForExtension(extension)
    assert.isDefined(type)
    return extractor.extract({ type, size: bytes.length, bytes: Stream.make(bytes) })
  })

const layer = FileExtractor.layer().pipe(Layer.provide(TesseractReader.layer()))

it.live("words in a picture", () =>
  Effect.gen(function* () {
    assert.includeMembers([...(yield* TextExtractor).readable], ["png", "jpg", "tif", "pdf"])
    const [section] = yield* read("png", picture("HOT SHOE HOUSE"))
    assert.strictEqual(section?.text, "HOT SHOE HOUSE")
    assert.strictEqual(section?.form, "prose")
  }).pipe(Effect.provide(layer))
)

it.live("a picture without words gives nothing", () =>
  Effect.gen(function* () {
    assert.deepStrictEqual(yield* read("png", picture("   ")), [])
  }).pipe(Effect.provide(layer))
)

it.live("a broken or too large picture ends with a sentence, and the next one is read", () =>
  Effect.gen(function* () {
    const broken = yield* Effect.flip(read("png", picture("HOT").subarray(0, 60)))
    assert.strictEqual(broken.message, "The picture cannot be read: it is damaged or of an unsupported type.")
    const none = yield* Effect.flip(read("jpg", new TextEncoder().encode("no picture at all, only words in a file")))
    assert.strictEqual(none.reason, "damaged")
    const large = yield* Effect.flip(read("png", png(20_000, 20_000, new Uint8Array())))
    assert.strictEqual(large.message, "The picture is too large to be read: it has more than 40 million pixels.")
    assert.strictEqual((yield* read("png", picture("THE HOUSE")))[0]?.text, "THE HOUSE")
  }).pipe(Effect.provide(layer))
)

it.live(
  "a picture that ends its process, or takes too much time or memory, ends with a sentence, and the host lives",
  () =>
    Effect.gen(function* () {
      const refusal = (options: TesseractReader.TesseractOptions) =>
        Effect.flip(read("png", picture("HOT SHOE HOUSE"))).pipe(
          Effect.map(({ message }) => message),
          Effect.provide(FileExtractor.layer().pipe(Layer.provide(TesseractReader.layer(options))))
        )
      assert.strictEqual(
        yield* refusal({ worker: new URL("CrashingProcess.ts", import.meta.url) }),
        "The picture cannot be read: it is damaged or of an unsupported type."
      )
      assert.strictEqual(
        yield* refusal({ growth: 1 }),
        "The picture is too large to be read: it needs more memory than one picture may take."
      )
      assert.strictEqual(
        yield* refusal({ deadline: "1 millis" }),
        "The picture could not be read within 0.001 seconds."
      )
    })
)

it("the size of a picture is read from its header", () => {
  const bytes = (text: string) => Uint8Array.from(text.padEnd(40, "\0"), (character) => character.charCodeAt(0))
  const sizes = [
    bytes("\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\x01\0\0\0\0\x02"),
    bytes("GIF89a\0\x01\x02\0"),
    bytes(`BM${"\0".repeat(16)}\0\x01\0\0\xfe\xff\xff\xff`),
    bytes("\xff\xd8\xff\xe0\0\x04ab\xff\xc2\0\x11\x08\0\x02\x01\0"),
    bytes("RIFF\0\0\0\0WEBPVP8 \0\0\0\0\0\0\0\x9d\x01\x2a\0\x01\x02\0"),
    bytes("RIFF\0\0\0\0WEBPVP8L\0\0\0\0\x2f\xff\x40\0\0"),
    bytes("RIFF\0\0\0\0WEBPVP8X\0\0\0\0\0\0\0\0\xff\0\0\x01\0\0")
  ].map(pictureSize)
  for (const size of sizes) assert.deepStrictEqual(size, { width: 256, height: 2 })
  assert.isUndefined(pictureSize(bytes("II*\0")))
  assert.isUndefined(pictureSize(new Uint8Array(3)))
})
