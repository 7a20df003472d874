/** How large a medium may be that a provider sends. What is larger is refused while it comes, and nothing of it is stored. */
import * as Context from "effect/Context"
import type { MediaType } from "./GeneratedMedia.ts"

export interface MediaSettings {
  /** Bytes. */
  readonly maxSize: Readonly<Record<MediaType, number>>
}

const mebibyte = 1024 * 1024

export const defaultMediaSettings: MediaSettings = {
  maxSize: { image: 30 * mebibyte, audio: 50 * mebibyte, video: 500 * mebibyte }
}

export const MediaSettings = Context.Reference<MediaSettings>("@colloquy/core/media/MediaSettings", {
  defaultValue: () => defaultMediaSettings
})
