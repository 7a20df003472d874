/**
 * Pure: splits MPEG audio into frames. Speech arrives in many answers, each a small file with tags and a note of its own length. Only the
 * frames are taken, so that joined they are one file with the right length. Also computes the duration.
 */
import { joinBytes } from "../primitives/Pcm.ts"

export interface Mp3Frames {
  /** The whole frames that a piece completes. Null: this is not MPEG audio. */
  readonly feed: (piece: Uint8Array) => Uint8Array | null
  /** Ends the file; the next piece begins another one. False: the file had no frame. */
  readonly endFile: () => boolean
  readonly seconds: () => number
}

/** After this number of bytes without a frame the data is not MPEG audio. */
const maximumUnknownBytes = 64 * 1024

export const makeMp3Frames = (): Mp3Frames => {
  let waiting = new Uint8Array()
  /** Remaining bytes of a tag. */
  let skip = 0
  let unknownBytes = 0
  let frames = 0
  let isBegun = false
  let seconds = 0

  const take = (bytes: Uint8Array): Uint8Array | null => {
    const taken: Array<Uint8Array> = []
    let at = 0
    while (at < bytes.length) {
      if (skip > 0) {
        const gone = Math.min(skip, bytes.length - at)
        skip -= gone
        at += gone
        continue
      }
      if (!isBegun) {
        if (bytes.length - at < 10) break
        isBegun = true
        skip = tagLength(bytes, at)
        if (skip > 0) continue
      }
      if (bytes.length - at < 4) break
      const frame = frameAt(bytes, at)
      if (frame === null) {
        at++
        if (++unknownBytes > maximumUnknownBytes) return null
        continue
      }
      if (bytes.length - at < frame.length) break
      const whole = bytes.subarray(at, at + frame.length)
      at += frame.length
      unknownBytes = 0
      if (frames++ === 0 && tellsLength(whole)) continue
      seconds += frame.seconds
      taken.push(whole)
    }
    waiting = bytes.slice(at)
    return joinBytes(taken)
  }

  return {
    feed: (piece) => take(waiting.length === 0 ? piece : joinBytes([waiting, piece])),
    endFile: () => {
      const had = frames > 0
      waiting = new Uint8Array()
      frames = 0
      unknownBytes = 0
      skip = 0
      isBegun = false
      return had
    },
    seconds: () => seconds
  }
}

/** An ID3 tag at the beginning of a file: ten bytes, plus the length that they state. */
const tagLength = (bytes: Uint8Array, at: number): number => {
  if (bytes[at] !== 0x49 || bytes[at + 1] !== 0x44 || bytes[at + 2] !== 0x33) return 0
  const digits = [6, 7, 8, 9].map((offset) => (bytes[at + offset] ?? 0) & 0x7f)
  return 10 + digits.reduce((sum, digit) => sum * 128 + digit, 0)
}

/** Kilobits per second by the index of the header: version 1 and the others, layer III. Speech providers do not use layers I and II. */
const rates1 = [0, 32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320]
const rates2 = [0, 8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 144, 160]
const samplings = [44_100, 48_000, 32_000]

interface Mp3Frame {
  readonly length: number
  readonly seconds: number
}

/** Null: no frame of layer III begins here. */
const frameAt = (bytes: Uint8Array, at: number): Mp3Frame | null => {
  const [first = 0, second = 0, third = 0] = bytes.subarray(at, at + 3)
  if (first !== 0xff || (second & 0xe0) !== 0xe0 || (second & 0x06) !== 0x02) return null
  const version = (second >> 3) & 3
  const rate = (version === 3 ? rates1 : rates2)[third >> 4]
  const sampling = samplings[(third >> 2) & 3]
  if (version === 1 || !rate || sampling === undefined) return null
  const sampleRate = sampling / (version === 3 ? 1 : version === 2 ? 2 : 4)
  const samples = version === 3 ? 1152 : 576
  const length = Math.floor(((samples / 8) * rate * 1000) / sampleRate) + ((third >> 1) & 1)
  return { length, seconds: samples / sampleRate }
}

/** The first frame may contain the length of the file instead of sound. That length is wrong when other files follow. */
const tellsLength = (frame: Uint8Array): boolean => {
  const head = String.fromCharCode(...frame.subarray(0, 64))
  return head.includes("Xing") || head.includes("Info") || head.includes("VBRI")
}
