/** Sound for the demo voice, PCM16 at 24 kHz: melodies that represent words, and the detection of the beginning and end of speech. */

export const sampleRate = 24_000
const bytesPerMilli = (sampleRate * 2) / 1000

export const soundMillis = (audio: Uint8Array): number => audio.byteLength / bytesPerMilli

/** A sine with soft edges, so that it does not click. */
export const tone = (hertz: number, millis: number, volume = 0.3): Uint8Array => {
  const samples = Math.round((sampleRate * millis) / 1000)
  const audio = new Uint8Array(samples * 2)
  const view = new DataView(audio.buffer)
  const edge = Math.min(samples / 2, sampleRate * 0.01)
  for (let index = 0; index < samples; index++) {
    const softness = Math.min(1, index / edge, (samples - index) / edge)
    const value = Math.sin((2 * Math.PI * hertz * index) / sampleRate) * volume * softness
    view.setInt16(index * 2, Math.round(value * 32_767), true)
  }
  return audio
}

export const silence = (millis: number): Uint8Array => new Uint8Array(Math.round((sampleRate * millis) / 1000) * 2)

/** Notes of a pentatonic scale, which sound well in any combination. */
const scale = [262, 294, 330, 392, 440, 523]

/** A word as a note: the same word has the same note. */
export const wordNote = (word: string): Uint8Array => {
  const sum = Array.from(word).reduce((total, letter) => total + (letter.codePointAt(0) ?? 0), 0)
  return join([tone(scale[sum % scale.length] ?? 262, 160), silence(60)])
}

export const join = (pieces: ReadonlyArray<Uint8Array>): Uint8Array => {
  const whole = new Uint8Array(pieces.reduce((sum, { byteLength }) => sum + byteLength, 0))
  let end = 0
  for (const piece of pieces) {
    whole.set(piece, end)
    end += piece.byteLength
  }
  return whole
}

/** From 0 to 1: the root mean square. */
const measureLoudness = (audio: Uint8Array): number => {
  const view = new DataView(audio.buffer, audio.byteOffset, audio.byteLength)
  const samples = Math.floor(audio.byteLength / 2)
  if (samples === 0) return 0
  let sum = 0
  for (let index = 0; index < samples; index++) sum += view.getInt16(index * 2, true) ** 2
  return Math.sqrt(sum / samples) / 32_768
}

const loud = 0.02
/** The silence that ends a turn, in milliseconds. */
const pause = 500
/** The longest turn, in milliseconds. */
const longest = 10_000

export type Heard =
  | { readonly _tag: "Began" }
  /** The whole speech, from its first loud piece to its last. */
  | { readonly _tag: "Ended"; readonly audio: Uint8Array }

/** The length of a judged piece: 20 milliseconds. */
const frameBytes = 20 * bytesPerMilli

/** Detects speech of a microphone. With `isManual`, a turn ends only when `commit` is called. */
export class SpeechDetector {
  private readonly isManual: boolean
  private frames: Array<Uint8Array> = []
  private rest: Uint8Array = new Uint8Array()
  private loudFrames = 0

  constructor(isManual: boolean) {
    this.isManual = isManual
  }

  hear(given: Uint8Array): ReadonlyArray<Heard> {
    const heard: Array<Heard> = []
    let audio = join([this.rest, given])
    while (audio.byteLength >= frameBytes) {
      heard.push(...this.listen(audio.slice(0, frameBytes)))
      audio = audio.slice(frameBytes)
    }
    this.rest = audio
    return heard
  }

  private listen(frame: Uint8Array): ReadonlyArray<Heard> {
    const isLoud = this.isManual || measureLoudness(frame) >= loud
    if (this.frames.length === 0 && !isLoud) return []
    this.frames.push(frame)
    if (isLoud) this.loudFrames = this.frames.length
    if (this.isManual) return []
    if (this.frames.length === 1) return [{ _tag: "Began" }]
    const quiet = (this.frames.length - this.loudFrames) * 20
    return quiet >= pause || this.frames.length * 20 >= longest ? this.end() : []
  }

  /** Ends the turn with the speech so far. */
  end(): ReadonlyArray<Heard> {
    const audio = join(this.frames.slice(0, this.loudFrames))
    this.frames = []
    this.loudFrames = 0
    return audio.byteLength === 0 ? [] : [{ _tag: "Ended", audio }]
  }
}
