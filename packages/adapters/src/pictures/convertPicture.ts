/** Converts one picture with `sharp`. It runs in the process of `worker.ts`, whose end also ends the native code. */
import type { Picture, PictureLimits } from "@colloquy/core/documents"
import sharp from "sharp"
import { Refused } from "../files/Refused.ts"
import { decodeBmp } from "./Bmp.ts"

/** The task that the process gets; the bytes come beside it. */
export interface ConversionTask {
  readonly mimeType: string
  readonly limits: PictureLimits
}

/** A larger picture would take hundreds of megabytes while it is decoded. */
const mostPixels = 60_000_000

/** Each attempt gives a smaller file than the previous one. The first file within the limit is used. */
const attempts = [
  { form: "png", share: 1, quality: 100 },
  { form: "jpeg", share: 1, quality: 85 },
  { form: "jpeg", share: 0.75, quality: 75 },
  { form: "jpeg", share: 0.5, quality: 60 },
  { form: "jpeg", share: 0.25, quality: 50 }
] as const

export const convertPicture = async ({ limits, mimeType }: ConversionTask, bytes: Uint8Array): Promise<Picture> => {
  const isPhotograph = mimeType === "image/jpeg" || mimeType === "image/webp"
  for (const { form, quality, share } of attempts) {
    if (isPhotograph && form === "png") continue
    const side = Math.max(1, Math.floor(limits.side * share))
    const fitted = open({ mimeType, bytes })
      .autoOrient()
      .resize({ width: side, height: side, fit: "inside", withoutEnlargement: true })
    const written = form === "png" ? fitted.png() : fitted.flatten({ background: "#ffffff" }).jpeg({ quality })
    const converted = await written.toBuffer()
    if (converted.length <= limits.bytes) return { mimeType: `image/${form}`, bytes: new Uint8Array(converted) }
  }
  throw new Refused("too_large", "The picture cannot be made small enough. Upload a smaller picture.")
}

const open = ({ bytes, mimeType }: Picture) => {
  const options = { limitInputPixels: mostPixels, failOn: "error", pages: 1 } as const
  if (mimeType !== "image/bmp") return sharp(bytes, options)
  const { height, pixels, width } = decodeBmp(bytes, mostPixels)
  return sharp(pixels, { ...options, raw: { width, height, channels: 3 } })
}

/** Whatever `sharp` throws means that the picture cannot be read. */
export const explainPicture = (error: unknown): Refused =>
  error instanceof Refused ? error : new Refused("damaged", "The picture cannot be read: it is damaged or too large.")
