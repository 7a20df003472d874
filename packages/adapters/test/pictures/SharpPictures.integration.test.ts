/** Pictures in a form that models take: types, sizes and what is made to do harm. */
import { SharpPictures } from "@colloquy/adapters/sharp"
import { pictureConverterSuite } from "@colloquy/testing/contracts"
import { type Picture, PictureConverter, type PictureLimits } from "@colloquy/core/documents"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { crc32, deflateSync } from "node:zlib"
import sharp, { type Sharp } from "sharp"

const limits: PictureLimits = { bytes: 3_700_000, side: 2048 }

const convert = (mimeType: string, bytes: Uint8Array, within = limits) =>
  Effect.gen(function* () {
    const converter = yield* PictureConverter
    if (converter === null) return yield* Effect.die("There is no converter.")
    assert.isTrue(converter.reads(mimeType))
    return yield* converter.convert({ mimeType, bytes }, within)
  }).pipe(Effect.provide(SharpPictures.layer))

const colour = { r: 200, g: 30, b: 10 }
const flat = (width: number, height: number) => sharp({ create: { width, height, channels: 3, background: colour } })
const noise = (width: number, height: number) =>
  sharp({
    create: { width, height, channels: 3, background: colour, noise: { type: "gaussian", mean: 128, sigma: 60 } }
  })

const made = (pipeline: Sharp) =>
  Effect.map(
    Effect.promise(() => pipeline.toBuffer()),
    (bytes) => new Uint8Array(bytes)
  )

const look = ({ bytes }: Picture) =>
  Effect.promise(async () => {
    const { data, info } = await sharp(bytes).removeAlpha().raw().toBuffer({ resolveWithObject: true })
    return { width: info.width, height: info.height, first: [...data.subarray(0, 3)], last: [...data.subarray(-3)] }
  })

/** 2 by 2 with four colours, rows of 24 bits padded to four bytes. */
const bmp = (bits: 8 | 24 | 32, isTopDown = false) => {
  const colours = [
    [255, 0, 0],
    [0, 255, 0],
    [0, 0, 255],
    [9, 8, 7]
  ] as const
  const rowLength = Math.ceil((2 * bits) / 32) * 4
  const palette = bits === 8 ? 1024 : 0
  const bytes = new Uint8Array(54 + palette + rowLength * 2)
  const view = new DataView(bytes.buffer)
  bytes.set([0x42, 0x4d])
  view.setUint32(10, 54 + palette, true)
  view.setUint32(14, 40, true)
  view.setInt32(18, 2, true)
  view.setInt32(22, isTopDown ? -2 : 2, true)
  view.setUint16(26, 1, true)
  view.setUint16(28, bits, true)
  colours.forEach(([red, green, blue], index) => {
    const [x, y] = [index % 2, index >> 1]
    const row = 54 + palette + (isTopDown ? y : 1 - y) * rowLength
    if (bits === 8) bytes[row + x] = index
    bytes.set([blue, green, red], bits === 8 ? 54 + index * 4 : row + (x * bits) / 8)
  })
  return bytes
}

/** A white picture with one bit for each pixel. */
const hugePng = (side: number) => {
  const chunk = (name: string, data: Uint8Array) => {
    const body = Buffer.concat([Buffer.from(name), data])
    const [length, sum] = [Buffer.alloc(4), Buffer.alloc(4)]
    length.writeUInt32BE(data.length)
    sum.writeUInt32BE(crc32(body))
    return Buffer.concat([length, body, sum])
  }
  const header = Buffer.alloc(13)
  header.writeUInt32BE(side, 0)
  header.writeUInt32BE(side, 4)
  header[8] = 1
  const rows = deflateSync(Buffer.alloc((Math.ceil(side / 8) + 1) * side))
  const mark = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a])
  return new Uint8Array(
    Buffer.concat([mark, chunk("IHDR", header), chunk("IDAT", rows), chunk("IEND", Buffer.alloc(0))])
  )
}

pictureConverterSuite(
  "SharpPictures",
  SharpPictures.layer,
  Effect.gen(function* () {
    const large = yield* made(noise(1600, 1200).jpeg({ quality: 100 }))
    return {
      convertible: [
        ["of a type that models do not read", { mimeType: "image/bmp", bytes: bmp(24) }],
        ["that is too large", { mimeType: "image/jpeg", bytes: large }]
      ],
      unreadable: [
        ["that is cut off", { mimeType: "image/jpeg", bytes: large.slice(0, 5_000) }],
        ["that is no picture", { mimeType: "image/png", bytes: new Uint8Array(100) }]
      ],
      limits: { bytes: 150_000, side: 1024 },
      measureSide: (picture) => Effect.map(look(picture), ({ height, width }) => Math.max(width, height))
    }
  })
)

describe("a picture", () => {
  it.effect("of a type that vendors do not read becomes PNG, pixel by pixel", () =>
    Effect.gen(function* () {
      for (const bytes of [bmp(24), bmp(32), bmp(8), bmp(24, true)]) {
        const picture = yield* convert("image/bmp", bytes)
        assert.strictEqual(picture.mimeType, "image/png")
        assert.deepStrictEqual(yield* look(picture), { width: 2, height: 2, first: [255, 0, 0], last: [9, 8, 7] })
      }
      const scan = yield* convert("image/tiff", yield* made(flat(30, 20).tiff({ compression: "lzw" })))
      assert.deepStrictEqual(yield* look(scan), { width: 30, height: 20, first: [200, 30, 10], last: [200, 30, 10] })
    })
  )

  it.effect("that is too large is shrunk within both limits, to equal bytes for equal input", () =>
    Effect.gen(function* () {
      const bytes = yield* made(noise(1600, 1200).jpeg({ quality: 100 }))
      const within = { bytes: 150_000, side: 1024 }
      assert.isAbove(bytes.length, within.bytes)
      const small = yield* convert("image/jpeg", bytes, within)
      assert.strictEqual(small.mimeType, "image/jpeg")
      assert.isAtMost(small.bytes.length, within.bytes)
      const { height, width } = yield* look(small)
      assert.isAtMost(width, 1024)
      assert.approximately(width / height, 4 / 3, 0.01)
      assert.deepStrictEqual((yield* convert("image/jpeg", bytes, within)).bytes, small.bytes)
    })
  )

  it.effect("stands upright when the camera was turned", () =>
    Effect.gen(function* () {
      const turned = yield* made(flat(40, 20).jpeg().withMetadata({ orientation: 6 }))
      assert.deepInclude(yield* look(yield* convert("image/jpeg", turned)), { width: 20, height: 40 })
    })
  )

  it.effect("that is broken, cut off or unpacks to too much is refused in words", () =>
    Effect.gen(function* () {
      const png = yield* made(noise(200, 200).png())
      const bomb = bmp(24)
      new DataView(bomb.buffer).setInt32(18, 100_000, true)
      new DataView(bomb.buffer).setInt32(22, 100_000, true)
      const header = png.slice()
      new DataView(header.buffer).setUint32(16, 60_000)
      new DataView(header.buffer).setUint32(20, 60_000)
      const broken = [
        ["image/png", new Uint8Array(100)],
        ["image/png", png.slice(0, 5_000)],
        ["image/png", header],
        ["image/bmp", bmp(24).slice(0, 60)],
        ["image/bmp", bomb],
        ["image/bmp", new Uint8Array(3)]
      ] as const
      for (const [mimeType, bytes] of broken) {
        const { message } = yield* Effect.flip(convert(mimeType, bytes))
        assert.strictEqual(message, "The picture cannot be read: it is damaged or too large.")
      }
      const impossible = yield* Effect.flip(convert("image/png", png, { bytes: 50, side: 200 }))
      assert.strictEqual(impossible.message, "The picture cannot be made small enough. Upload a smaller picture.")
    })
  )

  it.live("of 30,000 by 30,000 pixels in a hundred kilobytes is refused, and the next one is converted", () =>
    Effect.gen(function* () {
      const error = yield* Effect.flip(convert("image/png", hugePng(30_000)))
      assert.strictEqual(error.sentence, "The picture cannot be read: it is damaged or too large.")
      assert.strictEqual((yield* convert("image/bmp", bmp(24))).mimeType, "image/png")
    })
  )
})
