/**
 * Sound as plain samples (signed 16 bit, little endian): its length, whole samples from pieces of any length, and WAV headers. Used by
 * voice (speech is joined from many answers of a vendor) and by realtime sessions.
 */

export interface PcmFormat {
  readonly sampleRate: number
  readonly channels: number
}

const bytesPerSample = 2

/** How many bytes a second of this sound has. */
export const pcmBytesPerSecond = ({ channels, sampleRate }: PcmFormat): number => sampleRate * channels * bytesPerSample

/** Takes pieces of any length and returns pieces of whole samples; an incomplete sample is kept for the next piece. */
export const makeWholeSamples = (channels = 1): ((piece: Uint8Array) => Uint8Array) => {
  const size = bytesPerSample * channels
  let rest = new Uint8Array()
  return (piece) => {
    if (rest.length === 0 && piece.length % size === 0) return piece
    const whole = rest.length === 0 ? piece : joinBytes([rest, piece])
    const end = whole.length - (whole.length % size)
    rest = whole.slice(end)
    return whole.subarray(0, end)
  }
}

const wavHeaderLength = 44

/** `length` is the number of bytes of the samples; null if it is not known yet, as in a stream that is played while it arrives. */
export const wavHeader = (format: PcmFormat, length: number | null): Uint8Array => {
  const header = new DataView(new ArrayBuffer(wavHeaderLength))
  const write = (at: number, word: string) => {
    for (let index = 0; index < word.length; index++) header.setUint8(at + index, word.charCodeAt(index))
  }
  write(0, "RIFF")
  header.setUint32(4, length === null ? unknownLength : length + wavHeaderLength - 8, true)
  write(8, "WAVEfmt ")
  header.setUint32(16, 16, true)
  header.setUint16(20, 1, true)
  header.setUint16(22, format.channels, true)
  header.setUint32(24, format.sampleRate, true)
  header.setUint32(28, pcmBytesPerSecond(format), true)
  header.setUint16(32, format.channels * bytesPerSample, true)
  header.setUint16(34, bytesPerSample * 8, true)
  write(36, "data")
  header.setUint32(40, length ?? unknownLength, true)
  return new Uint8Array(header.buffer)
}

/** The value that programs write when they do not know the length beforehand. */
const unknownLength = 0xffffffff

/** What the head of a WAV file says. */
export interface WavHead {
  readonly format: PcmFormat
  /** 16 for the samples of this module. */
  readonly bits: number
  readonly isPcm: boolean
  /** As the file states. It gives the duration of compressed samples. */
  readonly bytesPerSecond: number
  /** The offset of the samples. */
  readonly dataAt: number
  /** Bytes of the samples; infinity when the file does not state it. */
  readonly dataLength: number
}

/** Reads the beginning of a WAV file. Null: it is not a WAV file; undefined: more bytes are needed. */
export const readWavHead = (bytes: Uint8Array): WavHead | null | undefined => {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  const word = (at: number) => String.fromCharCode(...bytes.subarray(at, at + 4))
  if (bytes.length < 12) return undefined
  if (word(0) !== "RIFF" || word(8) !== "WAVE") return null
  let kind: Pick<WavHead, "format" | "bits" | "isPcm" | "bytesPerSecond"> | null = null
  for (let at = 12; at + 8 <= bytes.length;) {
    const length = view.getUint32(at + 4, true)
    if (word(at) === "data") {
      const isOpen = length === 0 || length >= 0x7ffff000
      return kind === null ? null : { ...kind, dataAt: at + 8, dataLength: isOpen ? Infinity : length }
    }
    if (word(at) === "fmt ") {
      if (length < 16) return null
      if (at + 24 > bytes.length) return undefined
      const tag = view.getUint16(at + 8, true)
      const channels = view.getUint16(at + 10, true)
      const sampleRate = view.getUint32(at + 12, true)
      if (channels === 0 || sampleRate === 0) return null
      // The extensible form has further fields after this; with 16 bits it also contains plain samples.
      kind = {
        format: { sampleRate, channels },
        bits: view.getUint16(at + 22, true),
        isPcm: tag === 1 || tag === 0xfffe,
        bytesPerSecond: view.getUint32(at + 16, true)
      }
    }
    at += 8 + length + (length % 2)
  }
  return bytes.length > maximumHead ? null : undefined
}

/** Programs put titles and pictures before the samples. */
const maximumHead = 1024 * 1024

/** The pieces as one array. */
export const joinBytes = (pieces: ReadonlyArray<Uint8Array>): Uint8Array<ArrayBuffer> => {
  const whole = new Uint8Array(pieces.reduce((sum, piece) => sum + piece.length, 0))
  let at = 0
  for (const piece of pieces) {
    whole.set(piece, at)
    at += piece.length
  }
  return whole
}

/** Samples of one channel at another rate, by straight lines between them, in pieces of any length. */
export const makeResampler = (from: number, to: number): ((piece: Uint8Array) => Uint8Array) => {
  if (from === to) return (piece) => piece
  const wholeSamples = makeWholeSamples()
  /** Samples of the pieces before this one, and the last of them. */
  let before = 0
  let last = 0
  let made = 0
  return (piece) => {
    const whole = wholeSamples(piece)
    const source = new DataView(whole.buffer, whole.byteOffset, whole.byteLength)
    const count = whole.byteLength / 2
    const sample = (index: number): number => (index < before ? last : source.getInt16((index - before) * 2, true))
    const end = Math.max(made, Math.ceil(((before + count - 1) * to) / from))
    const target = new DataView(new ArrayBuffer((end - made) * 2))
    for (let index = made; index < end; index++) {
      const at = (index * from) / to
      const left = Math.floor(at)
      const height = sample(left)
      target.setInt16((index - made) * 2, Math.round(height + (sample(left + 1) - height) * (at - left)), true)
    }
    if (count > 0) last = sample(before + count - 1)
    made = end
    before += count
    return new Uint8Array(target.buffer)
  }
}
