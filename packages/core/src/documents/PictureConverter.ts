/**
 * Port: converts pictures to a form that models accept. Vendors read PNG, JPEG, WebP and GIF up to some megabytes; a host that wants more
 * (BMP, TIFF, large photographs) adds a converter. Pictures come from outside and may be malicious.
 */
import * as Context from "effect/Context"
import type * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"

/** The bytes of a picture, with their type. */
export interface Picture {
  readonly mimeType: string
  readonly bytes: Uint8Array
}

/** The most bytes and the longest side of a picture. */
export interface PictureLimits {
  readonly bytes: number
  /** Pixels of the longer side. */
  readonly side: number
}

/** The picture is damaged, or too large for the converter. `sentence` is a text for people and for the model. */
export class PictureUnreadable extends Schema.TaggedError<PictureUnreadable>()("PictureUnreadable", {
  sentence: Schema.String
}) {
  override get message() {
    return this.sentence
  }
}

/** Makes pictures small enough for a model. */
export interface PictureConverterPort {
  /** Whether it reads pictures of this type. */
  readonly reads: (mimeType: string) => boolean
  /**
   * MUST return the same picture as PNG, JPEG, WebP or GIF within the limits, with equal bytes for equal input, and in bounded time and
   * memory for any input.
   */
  readonly convert: (picture: Picture, limits: PictureLimits) => Effect.Effect<Picture, PictureUnreadable>
}

/** The host's converter. Null, the default: no picture is converted. */
export const PictureConverter = Context.Reference<PictureConverterPort | null>(
  "@colloquy/core/documents/PictureConverter",
  { defaultValue: () => null }
)
