/**
 * Pure: the duration of a recording, read from its bytes, for providers that do not report it. Supports the formats that browsers and
 * telephones record: WAV, MP3, AAC, FLAC, Ogg, MP4 and WebM. Null: the file does not state it, or states an impossible value.
 */
import { pcmBytesPerSecond, readWavHead } from "../primitives/Pcm.ts"
import { makeMp3Frames } from "./Mp3Frames.ts"
import { mp4Seconds } from "./Mp4Length.ts"

export const recordingSeconds = (bytes: Uint8Array, extension: string): number | null => {
  const seconds = readers.get(extension)?.(bytes) ?? null
  // No sound has less than eight bits per second, so such a value is wrong.
  return seconds !== null && seconds >= 0 && seconds <= bytes.length ? seconds : null
}

type Read = (bytes: Uint8Array) => number | null

const dataView = (bytes: Uint8Array): DataView => new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
const textAt = (bytes: Uint8Array, at: number, length = 4): string =>
  String.fromCharCode(...bytes.subarray(at, at + length))

const wav: Read = (bytes) => {
  const head = readWavHead(bytes)
  if (!head || (head.isPcm && head.bits === 0)) return null
  const length = Math.min(head.dataLength, bytes.length - head.dataAt)
  return head.isPcm ? (length / pcmBytesPerSecond(head.format)) * (16 / head.bits) : length / head.bytesPerSecond
}

const mp3: Read = (bytes) => {
  const frames = makeMp3Frames()
  return frames.feed(bytes) === null || !frames.endFile() ? null : frames.seconds()
}

const aacRates = [96_000, 88_200, 64_000, 48_000, 44_100, 32_000, 24_000, 22_050, 16_000, 12_000, 11_025, 8000, 7350]

/** Consecutive frames (ADTS) with 1,024 samples for each of their blocks. */
const aac: Read = (bytes) => {
  let seconds = 0
  for (let at = 0; at + 7 <= bytes.length;) {
    const [first = 0, second = 0, third = 0, fourth = 0, fifth = 0, sixth = 0, seventh = 0] = bytes.subarray(at, at + 7)
    const length = ((fourth & 3) << 11) | (fifth << 3) | (sixth >> 5)
    const rate = aacRates[(third >> 2) & 15]
    if (first !== 0xff || (second & 0xf6) !== 0xf0 || rate === undefined || length < 7) break
    if (at + length > bytes.length) break
    seconds += (1024 * ((seventh & 3) + 1)) / rate
    at += length
  }
  return seconds === 0 ? null : seconds
}

/** The description of the stream comes first: 20 bits of sample rate, then 36 bits of the number of samples. */
const flac: Read = (bytes) => {
  if (bytes.length < 26) return null
  const view = dataView(bytes)
  const rate = view.getUint32(18) >>> 12
  const samples = (view.getUint8(21) & 0x0f) * 2 ** 32 + view.getUint32(22)
  return rate === 0 || samples === 0 ? null : samples / rate
}

/** The last page states the number of samples up to it. Opus always counts 48,000 per second. */
const ogg: Read = (bytes) => {
  const view = dataView(bytes)
  const start = textAt(bytes, 0, 64)
  const vorbis = start.indexOf("\x01vorbis")
  const opus = start.indexOf("OpusHead")
  const isVorbis = vorbis >= 0 && vorbis + 16 <= bytes.length
  if (!isVorbis && (opus < 0 || opus + 12 > bytes.length)) return null
  const rate = isVorbis ? view.getUint32(vorbis + 12, true) : 48_000
  const skipped = isVorbis ? 0 : view.getUint16(opus + 10, true)
  for (let at = bytes.length - 14; at >= 0; at--) {
    if (bytes[at] !== 0x4f || textAt(bytes, at) !== "OggS") continue
    const samples = view.getBigInt64(at + 6, true)
    if (samples >= 0n) return rate === 0 ? null : Math.max(0, Number(samples) - skipped) / rate
  }
  return null
}

/**
 * Browsers write no duration: it is the time of the last block plus that block's own duration. Segments and clusters are entered, all other
 * elements are skipped. Times are in the segment's unit, usually milliseconds.
 */
const webm: Read = (bytes) => {
  const view = dataView(bytes)
  let nanos = 1_000_000
  let cluster = 0
  let last = 0
  let blocks = 0
  for (let at = 0; at < bytes.length;) {
    const id = elementId(bytes, at)
    const size = id && elementSize(bytes, at + id.length)
    if (!id || !size) break
    const data = at + id.length + size.length
    if (entered.has(id.value)) {
      at = data
      continue
    }
    if (size.value === null || data + size.value > bytes.length) break
    if (id.value === 0x2ad7b1) nanos = unsigned(bytes, data, size.value)
    if (id.value === 0xe7) cluster = unsigned(bytes, data, size.value)
    if ((id.value === 0xa3 || id.value === 0xa1) && size.value >= 4) {
      const track = elementSize(bytes, data)
      if (track && track.length + 2 <= size.value) {
        last = Math.max(last, cluster + view.getInt16(data + track.length))
        blocks++
      }
    }
    at = data + size.value
  }
  // The blocks of a recording have similar durations, so the last one gets the average of the others.
  const scaled = (last * nanos) / 1e9
  return blocks < 2 ? null : scaled + scaled / (blocks - 1)
}

/** Segment, information, cluster, group of blocks. */
const entered: ReadonlySet<number> = new Set([0x18538067, 0x1549a966, 0x1f43b675, 0xa0])

const vintLength = (first: number): number => Math.clz32(first) - 23

const elementId = (bytes: Uint8Array, at: number) => {
  const length = vintLength(bytes[at] ?? 0)
  return length > 4 || at + length > bytes.length ? null : { value: unsigned(bytes, at, length), length }
}

/** `value` null: not known, as browsers write it while they record. */
const elementSize = (bytes: Uint8Array, at: number) => {
  const first = bytes[at] ?? 0
  const length = vintLength(first)
  if (length > 8 || at + length > bytes.length) return null
  const value = (first & (0xff >> length)) * 2 ** (8 * (length - 1)) + unsigned(bytes, at + 1, length - 1)
  return { value: value === 2 ** (7 * length) - 1 ? null : value, length }
}

const unsigned = (bytes: Uint8Array, at: number, length: number): number => {
  let value = 0
  for (let index = at; index < at + length; index++) value = value * 256 + (bytes[index] ?? 0)
  return value
}

const readers: ReadonlyMap<string, Read> = new Map([
  ["wav", wav],
  ["mp3", mp3],
  ["aac", aac],
  ["flac", flac],
  ["ogg", ogg],
  ["m4a", mp4Seconds],
  ["mp4", mp4Seconds],
  ["webm", webm]
])
