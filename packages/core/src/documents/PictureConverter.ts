/**
 * Port: pictures in a form that models take. Vendors read PNG, JPEG, WebP and GIF up to some megabytes; a host that wants more (BMP, TIFF,
 * photographs as a camera makes them) adds a converter. Pictures come from outside and may be made to do harm.
 */
import * as Context from "effect/Context"
import type * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"

export interface Picture {
  readonly mimeType: string
  readonly bytes: Uint8Array
}

export interface PictureLimits {
  readonly bytes: number
  /** Pixels of the longer side. */
  readonly side: number
}

/** The picture is broken, or too large for the converter. `sentence` is for people, and for the model. */
export class PictureUnreadable extends Schema.TaggedError<PictureUnreadable>()("PictureUnreadable", {
  sentence: Schema.String
}) {
  override get message() {
    return this.sentence
  }
}

export interface PictureConverterPort {
  /** Whether it reads pictures of this type. */
  readonly reads: (mimeType: string) => boolean
  /**
   * MUST give the same picture as PNG, JPEG, WebP or GIF within the limits, equal bytes for equal input; in bounded time and memory, whatever
   * the bytes are.
   */
  readonly convert: (picture: Picture, limits: PictureLimits) => Effect.Effect<Picture, PictureUnreadable>
}

/** Who converts pictures. The default converts none. */
export const PictureConverter = Context.Reference<PictureConverterPort | null>(
  "@colloquy/core/documents/PictureConverter",
  { defaultValue: () => null }
)
