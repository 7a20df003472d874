/**
 * Pure: decides for pictures, sound and video among the files of a message what is sent to a model directly, what must be converted before,
 * and what is refused, with a text for the user. Used when a turn is decided and when its prompt is made.
 */
import type { ModelInfo } from "../models/ModelInfo.ts"
import type { Document } from "./Document.ts"
import type { PictureConverterPort } from "./PictureConverter.ts"

type MediaKind = "image" | "audio" | "video"

export interface MediaLimits {
  /** Bytes of one picture as it is sent. */
  readonly picture: number
  /** Bytes of all media of one prompt. */
  readonly prompt: number
}

/** How a file of a message gets into the prompt. */
export type MediaUse =
  /** Only by its text. */
  | { readonly _tag: "Words" }
  | { readonly _tag: "Sent"; readonly kind: MediaKind; readonly isConverted: boolean; readonly bytes: number }
  | { readonly _tag: "Refused"; readonly message: string }

/** Null: neither picture nor sound nor video. */
export const mediaKindFromType = (mimeType: string): MediaKind | null => {
  const [kind] = mimeType.split("/")
  return kind === "image" || kind === "audio" || kind === "video" ? kind : null
}

const names = { image: "pictures", audio: "sound", video: "video" }

/** Null: not known. Such a model is tried. */
const takes = (info: ModelInfo, kind: MediaKind): boolean | null =>
  kind === "image" ? info.supportsVision : kind === "audio" ? info.supportsAudioInput : info.supportsVideoInput

/** The types that every vendor reads. Most also read GIF, but only its first picture. */
const commonPictures = ["image/png", "image/jpeg", "image/webp"]

export const mediaUse = (
  { chunkCount, filename, mimeType, size }: Pick<Document, "chunkCount" | "filename" | "mimeType" | "size">,
  info: ModelInfo,
  limits: MediaLimits,
  converter: PictureConverterPort | null
): MediaUse => {
  const kind = mediaKindFromType(mimeType)
  if (kind === null) return { _tag: "Words" }
  const refused = (message: string): MediaUse => ({ _tag: "Refused", message: `"${filename}": ${message}` })
  if (kind !== "image") {
    if (takes(info, kind) === false)
      return refused(`${info.name} does not take ${names[kind]}. Choose a model that does.`)
    if (size > limits.prompt)
      return refused(`${names[kind]} of more than ${megabytes(limits.prompt)} cannot be sent to a model.`)
    return { _tag: "Sent", kind, isConverted: false, bytes: size }
  }
  const hasWords = chunkCount !== null && chunkCount > 0
  if (takes(info, kind) === false) {
    return hasWords
      ? { _tag: "Words" }
      : refused(`${info.name} does not take pictures, and no words were found in this one.`)
  }
  const asItIs: MediaUse = { _tag: "Sent", kind, isConverted: false, bytes: size }
  const fits = size <= limits.picture
  if (fits && commonPictures.includes(mimeType)) return asItIs
  if (converter?.reads(mimeType) === true) {
    return { _tag: "Sent", kind, isConverted: true, bytes: Math.min(size, limits.picture) }
  }
  if (fits && mimeType === "image/gif") return asItIs
  if (hasWords) return { _tag: "Words" }
  return refused(
    `this picture cannot be sent to a model. Send PNG, JPEG, WebP or GIF of at most ${megabytes(limits.picture)}.`
  )
}

const megabytes = (bytes: number): string => `${Math.floor(bytes / 100_000) / 10} MB`

/** An estimate on the safe side: vendors count a picture by its pixels, sound and video by their seconds. */
export const estimateTokens = ({ bytes, kind }: Extract<MediaUse, { readonly _tag: "Sent" }>): number =>
  kind === "image" ? 1600 : Math.ceil(bytes / 500)
