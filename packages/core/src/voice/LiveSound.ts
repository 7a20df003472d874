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

/** By the platform's own function, which wants one character a byte; a call has room for so many arguments. */
const base64 = (bytes: Uint8Array): string => {
  let text = ""
  for (let at = 0; at < bytes.length; at += 8192) text += String.fromCharCode(...bytes.subarray(at, at + 8192))
  return btoa(text)
}
