/**
 * The settings of generated media that a host may change. A medium above the limit is refused while it arrives, and nothing of it is
 * stored.
 */
import * as Context from "effect/Context"
import type * as Duration from "effect/Duration"
import type { MediaType } from "./GeneratedMedia.ts"

export interface MediaSettings {
  /** Bytes. */
  readonly maxSize: Readonly<Record<MediaType, number>>
  /** Bytes of a picture that an image model gets as input. */
  readonly maxInputSize: number
  /** The time limit of the provider for one call of `generate_image`. */
  readonly imageTimeout: Duration.Input
}

const mebibyte = 1024 * 1024

/** The settings of a host that changes none. */
export const defaultMediaSettings: MediaSettings = {
  maxSize: { image: 30 * mebibyte, audio: 50 * mebibyte, video: 500 * mebibyte },
  maxInputSize: 20 * mebibyte,
  imageTimeout: "5 minutes"
}

export const MediaSettings = Context.Reference<MediaSettings>("@colloquy/core/media/MediaSettings", {
  defaultValue: () => defaultMediaSettings
})
