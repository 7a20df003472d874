/**
 * `PictureConverter` for a host that installs the package `sharp`. Large pictures are scaled down to the limits of a vendor; TIFF, BMP and GIF are
 * converted to PNG or JPEG. Pictures are converted one at a time, with limits of pixels and time, because users upload them.
 */
import { type Picture, PictureConverter, type PictureLimits, PictureUnreadable } from "@colloquy/core/documents"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Semaphore from "effect/Semaphore"
import sharp from "sharp"
import { decodeBmp } from "./Bmp.ts"

const readable = ["image/png", "image/jpeg", "image/webp", "image/gif", "image/tiff", "image/bmp"]

/** A larger picture would take hundreds of megabytes while it is decoded. */
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

/** Each attempt gives a smaller file than the previous one. The first file within the limit is used. */
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
  return yield* new PictureUnreadable({
    sentence: "The picture cannot be made small enough. Upload a smaller picture."
  })
})

const unreadable = new PictureUnreadable({ sentence: "The picture cannot be read: it is damaged or too large." })

const open = ({ bytes, mimeType }: Picture) => {
  const options = { limitInputPixels: mostPixels, failOn: "error", pages: 1 } as const
  if (mimeType !== "image/bmp") return sharp(bytes, options)
  const { height, pixels, width } = decodeBmp(bytes, mostPixels)
  return sharp(pixels, { ...options, raw: { width, height, channels: 3 } })
}
