/** Sound for the demo voice, PCM16 at 24 kHz: melodies that represent words, and the turns of a microphone. */
import { joinBytes } from "@colloquy/core/adapters"

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
  return joinBytes([tone(scale[sum % scale.length] ?? 262, 160), silence(60)])
}

/** From 0 to 1: the root mean square. */
const loudness = (audio: Uint8Array): number => {
  const view = new DataView(audio.buffer, audio.byteOffset, audio.byteLength)
  let sum = 0
  for (let at = 0; at < audio.byteLength; at += 2) sum += view.getInt16(at, true) ** 2
  return Math.sqrt(sum / (audio.byteLength / 2)) / 32_768
}

/** Speech is at least as loud as this. */
const quietest = 0.02
/** Sound is judged in pieces of 20 milliseconds. */
const pieceMillis = 20
const pieceBytes = pieceMillis * bytesPerMilli
/** The silence that ends a turn, and the longest turn. */
const [silentPieces, mostPieces] = [500 / pieceMillis, 10_000 / pieceMillis]

/** Cuts the sound of a microphone into turns, each from its first loud piece to its last. With `isManual`, only `commit` ends a turn. */
export const makeTurns = (isManual: boolean, began: () => void, ended: (audio: Uint8Array) => void) => {
  let rest: Uint8Array = new Uint8Array()
  let pieces: Array<Uint8Array> = []
  /** The number of pieces up to the last loud one. */
  let spoken = 0

  /** False: there is nothing to end. */
  const commit = (): boolean => {
    const audio = joinBytes(pieces.slice(0, spoken))
    pieces = []
    spoken = 0
    if (audio.length > 0) ended(audio)
    return audio.length > 0
  }

  const take = (piece: Uint8Array): void => {
    const isLoud = isManual || loudness(piece) >= quietest
    if (pieces.length === 0 && !isLoud) return
    pieces.push(piece)
    if (isLoud) spoken = pieces.length
    if (isManual) return
    if (pieces.length === 1) began()
    if (pieces.length - spoken >= silentPieces || pieces.length >= mostPieces) commit()
  }

  const hear = (audio: Uint8Array): void => {
    const all = joinBytes([rest, audio])
    let at = 0
    for (; at + pieceBytes <= all.length; at += pieceBytes) take(all.slice(at, at + pieceBytes))
    rest = all.slice(at)
  }

  return { hear, commit }
}
