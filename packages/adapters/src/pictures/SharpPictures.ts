/**
 * `PictureConverter` for a host that adds the package `sharp`: photographs are shrunk to what vendors take, TIFF, BMP and GIF become PNG or
 * JPEG. One picture at a time, with limits of pixels and time, because pictures come from outside.
 */
import { type Picture, PictureConverter, type PictureLimits, PictureUnreadable } from "@colloquy/core/documents"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Semaphore from "effect/Semaphore"
import sharp from "sharp"
import { decodeBmp } from "./Bmp.ts"

const readable = ["image/png", "image/jpeg", "image/webp", "image/gif", "image/tiff", "image/bmp"]

/** Beyond it a picture takes hundreds of megabytes while it is read. */
const mostPixels = 60_000_000

export const layer: Layer.Layer<never> = Layer.effect(
  PictureConverter,
  Effect.gen(function* () {
    const turn = yield* Semaphore.make(1)
    return {
      reads: (mimeType) => readable.includes(mimeType),
      convert: (picture, limits) => turn.withPermits(1)(convert(picture, limits))
    }
  })
)

/** Each smaller than the one before; the first that fits is taken. */
const attempts = [
  { form: "png", share: 1, quality: 100 },
  { form: "jpeg", share: 1, quality: 85 },
  { form: "jpeg", share: 0.75, quality: 75 },
  { form: "jpeg", share: 0.5, quality: 60 },
  { form: "jpeg", share: 0.25, quality: 50 }
] as const

const convert = Effect.fnUntraced(function* (picture: Picture, limits: PictureLimits) {
  const isPhotograph = picture.mimeType === "image/jpeg" || picture.mimeType === "image/webp"
  for (const { form, quality, share } of attempts) {
    if (isPhotograph && form === "png") continue
    const side = Math.max(1, Math.floor(limits.side * share))
    const bytes = yield* Effect.tryPromise({
      try: () => {
        const fitted = open(picture)
          .autoOrient()
          .resize({ width: side, height: side, fit: "inside", withoutEnlargement: true })
          .timeout({ seconds: 30 })
        const written = form === "png" ? fitted.png() : fitted.flatten({ background: "#ffffff" }).jpeg({ quality })
        return written.toBuffer()
      },
      catch: () => unreadable
    })
    if (bytes.length <= limits.bytes) return { mimeType: `image/${form}`, bytes: new Uint8Array(bytes) }
  }
  return yield* new PictureUnreadable({ sentence: "The picture cannot be made small enough." })
})

const unreadable = new PictureUnreadable({ sentence: "The picture is broken, or too large to be read." })

const open = ({ bytes, mimeType }: Picture) => {
  const options = { limitInputPixels: mostPixels, failOn: "error", pages: 1 } as const
  if (mimeType !== "image/bmp") return sharp(bytes, options)
  const { height, pixels, width } = decodeBmp(bytes, mostPixels)
  return sharp(pixels, { ...options, raw: { width, height, channels: 3 } })
}
