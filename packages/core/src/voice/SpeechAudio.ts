/**
 * Pure: joins the audio of many answers of a vendor to one recording, live and stored. MPEG audio is joined frame by frame, samples one
 * after the other; the headers of WAV files are removed for that. `Speech` feeds it, one file after the other.
 *
 * | requested | live | stored |
 * |---|---|---|
 * | mp3 | frames | the same |
 * | wav | a header without a length, then samples | a header with the length, then the samples |
 * | pcm | samples | as `wav`, so that it can be played |
 */
import {
  makeWholeSamples,
  type PcmFormat,
  pcmBytesPerSecond,
  readWavHead,
  joinBytes,
  wavHeader
} from "../primitives/Pcm.ts"
import type { SpeechFormat, TextToSpeech } from "../models/TextToSpeech.ts"
import { makeMp3Frames } from "./Mp3Frames.ts"

export interface Sound {
  readonly live: Uint8Array
  /** The bytes for the recording, without a header. */
  readonly stored: Uint8Array
}

export interface SpeechAudio {
  /** Null: the vendor sent another format than the requested one. */
  readonly feed: (piece: Uint8Array) => Sound | null
  /** Ends one answer of the vendor. False: there was no sound in it. */
  readonly endFile: () => boolean
  /** The type of the live audio, known with the first sound. */
  readonly contentType: () => string
  /** The type of the stored file. */
  readonly extension: "mp3" | "wav"
  /** The header before the stored bytes; null: none. */
  readonly header: (storedBytes: number) => Uint8Array | null
  readonly seconds: () => number
}

/** The format to request from a vendor for the wanted format; null: the vendor cannot provide it. */
export const vendorFormat = (wish: SpeechFormat, { formats }: Pick<TextToSpeech, "formats">): SpeechFormat | null => {
  const fitting: ReadonlyArray<SpeechFormat> = wish === "mp3" ? ["mp3"] : ["pcm", "wav"]
  return fitting.find((format) => formats.includes(format)) ?? null
}

export const makeSpeechAudio = (
  wish: SpeechFormat,
  asked: SpeechFormat,
  { sampleRate }: Pick<TextToSpeech, "sampleRate">
): SpeechAudio => (wish === "mp3" ? mp3Audio() : sampledAudio(wish, asked, sampleRate))

const mp3Audio = (): SpeechAudio => {
  const frames = makeMp3Frames()
  return {
    feed: (piece) => {
      const whole = frames.feed(piece)
      return whole === null ? null : { live: whole, stored: whole }
    },
    endFile: frames.endFile,
    contentType: () => "audio/mpeg",
    extension: "mp3",
    header: () => null,
    seconds: frames.seconds
  }
}

const sampledAudio = (wish: SpeechFormat, asked: SpeechFormat, sampleRate: number): SpeechAudio => {
  let format: PcmFormat = { sampleRate, channels: 1 }
  let total = 0
  let fileBytes = 0
  let isHeaderSent = wish !== "wav"
  /** The beginning of a WAV file until its samples begin; null afterwards. */
  let head: Uint8Array | null = asked === "wav" ? new Uint8Array() : null
  /** The number of bytes of samples that the file still has, by its header. */
  let left = Infinity
  let whole = makeWholeSamples()

  /** Undefined: not complete yet. */
  const withoutHead = (piece: Uint8Array): Uint8Array | null | undefined => {
    if (head === null) return piece
    head = joinBytes([head, piece])
    const found = readWavHead(head)
    if (found === undefined) return undefined
    if (found === null || !found.isPcm || found.bits !== 16) return null
    // All files of one recording have the same rate.
    if (total > 0 && (found.format.sampleRate !== format.sampleRate || found.format.channels !== format.channels))
      return null
    format = found.format
    left = found.dataLength
    const samples = head.subarray(found.dataAt)
    head = null
    return samples
  }

  return {
    feed: (piece) => {
      const bytes = withoutHead(piece)
      if (bytes === null) return null
      const own = bytes?.subarray(0, left) ?? new Uint8Array()
      left -= own.length
      const samples = whole(own)
      if (samples.length === 0) return { live: samples, stored: samples }
      total += samples.length
      fileBytes += samples.length
      if (isHeaderSent) return { live: samples, stored: samples }
      isHeaderSent = true
      return { live: joinBytes([wavHeader(format, null), samples]), stored: samples }
    },
    endFile: () => {
      const had = fileBytes > 0
      fileBytes = 0
      left = Infinity
      head = asked === "wav" ? new Uint8Array() : null
      whole = makeWholeSamples()
      return had
    },
    contentType: () =>
      wish === "wav" ? "audio/wav" : `audio/pcm;rate=${format.sampleRate};channels=${format.channels}`,
    extension: "wav",
    header: (storedBytes) => wavHeader(format, storedBytes),
    seconds: () => total / pcmBytesPerSecond(format)
  }
}
