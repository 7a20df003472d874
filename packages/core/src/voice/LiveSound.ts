/** Sound for those who listen at the moment: pieces of a good size, behind one event that says what they are. Used by `Speech`. */
import { joinBytes } from "../primitives/Pcm.ts"
import type { LiveTurn } from "../tools/LiveTurn.ts"
import { voiceEvents } from "./VoiceRecord.ts"

export interface LiveSound {
  readonly add: (bytes: Uint8Array, contentType: () => string) => void
  /** What waits for company goes out. */
  readonly flush: () => void
  readonly hasBegun: () => boolean
}

/** Less than this waits for more: 0.13 seconds at 128 kbit/s. */
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

/** By hand: `btoa` wants a text of one character a byte, which costs ten times as much to make. */
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
