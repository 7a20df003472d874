/** Sound for live readers: pieces of a suitable size, after one event with their format. Used by `Speech`. */
import { joinBytes } from "../primitives/Pcm.ts"
import type { LiveTurn } from "../tools/LiveTurn.ts"
import { voiceEvents } from "./VoiceRecord.ts"

export interface LiveSound {
  readonly add: (bytes: Uint8Array, contentType: () => string) => void
  /** Sends the bytes that are waiting for more. */
  readonly flush: () => void
  readonly hasBegun: () => boolean
}

/** Fewer bytes wait for more: 0.13 seconds at 128 kbit/s. */
const leastBytes = 2048
const mostBytes = 32 * 1024

export const makeLiveSound = ({ tell }: Pick<LiveTurn, "tell">): LiveSound => {
  let waiting: Array<Uint8Array> = []
  let size = 0
  let hasBegun = false

  const flush = (): void => {
    if (size === 0) return
    const bytes = joinBytes(waiting)
    waiting = []
    size = 0
    for (let at = 0; at < bytes.length; at += mostBytes) {
      tell({ type: voiceEvents.chunk, data: { data: base64(bytes.subarray(at, at + mostBytes)) }, isLive: true })
    }
  }

  return {
    add: (bytes, contentType) => {
      if (bytes.length === 0) return
      if (!hasBegun) tell({ type: voiceEvents.speaking, data: { content_type: contentType() } })
      waiting.push(bytes)
      size += bytes.length
      if (!hasBegun || size >= leastBytes) flush()
      hasBegun = true
    },
    flush,
    hasBegun: () => hasBegun
  }
}

const letters = new TextEncoder().encode("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/")
const decoder = new TextDecoder()

/** Own code, because `btoa` needs a text with one character per byte, which takes ten times as long to make. */
const base64 = (bytes: Uint8Array): string => {
  const whole = bytes.length - (bytes.length % 3)
  const written = new Uint8Array((whole / 3) * 4)
  for (let from = 0, to = 0; from < whole; from += 3, to += 4) {
    const three = ((bytes[from] ?? 0) << 16) | ((bytes[from + 1] ?? 0) << 8) | (bytes[from + 2] ?? 0)
    written[to] = letters[three >> 18] ?? 0
    written[to + 1] = letters[(three >> 12) & 63] ?? 0
    written[to + 2] = letters[(three >> 6) & 63] ?? 0
    written[to + 3] = letters[three & 63] ?? 0
  }
  return decoder.decode(written) + btoa(String.fromCharCode(...bytes.subarray(whole)))
}
