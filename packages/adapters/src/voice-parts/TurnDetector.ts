/** Port: says when a user begins and stops speaking. `byEnergy` judges by loudness and pauses; a host may give another one, for example a model. */

/** The length of the pieces of sound that a detector gets, in milliseconds. */
export const pieceMillis = 20
export const pieceBytes = pieceMillis * 48

/** The result of a detector for a piece of sound. */
export type TurnSignal = "began" | "ended"

/** The loudness of speech, and the silence that ends it. */
export interface DetectorSettings {
  /** The least loudness of speech, from 0 to 1. Null: three times the noise of the room. */
  readonly threshold: number | null
  /** The pause that ends a turn. */
  readonly silenceMillis: number
}

/**
 * Makes the detector of one session. It gets the sound of the client in pieces of 20 milliseconds (PCM16, one channel, 24 kHz), and tells `began` and
 * `ended` in turn. A detector that computes elsewhere may tell them later; the sound in between is part of the turn.
 */
export type TurnDetector = (
  tell: (signal: TurnSignal) => void,
  settings: DetectorSettings
) => (piece: Uint8Array) => void

/** The number of pieces of speech in a row that begin a turn. A click is shorter. */
const beginsAfter = 4
/** Sound below this is no speech, from 0 to 1. */
export const quietest = 0.01

/** Whether a piece of sound has speech in it. */
export type SpeechJudge = (piece: Uint8Array, isSpeaking: boolean) => boolean

/** Makes a detector from a judge of single pieces: some pieces of speech in a row begin a turn, and a pause ends it. */
export const makeDetector =
  (makeJudge: (settings: DetectorSettings) => SpeechJudge): TurnDetector =>
  (tell, settings) => {
    const isSpeech = makeJudge(settings)
    const endsAfter = Math.max(1, Math.round(settings.silenceMillis / pieceMillis))
    let isSpeaking = false
    let loud = 0
    let quiet = 0
    return (piece) => {
      const isLoud = isSpeech(piece, isSpeaking)
      if (isSpeaking) {
        quiet = isLoud ? 0 : quiet + 1
        if (quiet < endsAfter) return
        isSpeaking = false
        loud = 0
        return tell("ended")
      }
      loud = isLoud ? loud + 1 : Math.max(0, loud - 1)
      if (loud < beginsAfter) return
      isSpeaking = true
      quiet = 0
      tell("began")
    }
  }

/** Finds where a turn of speech begins and ends by the loudness of the sound. */
export const byEnergy: TurnDetector = makeDetector(({ threshold }) => {
  let noise = quietest / 3
  return (piece, isSpeaking) => {
    const level = loudness(piece)
    const isLoud = level >= (threshold ?? Math.max(quietest, noise * 3))
    if (!isSpeaking && !isLoud) noise += (level - noise) / 20
    return isLoud
  }
})

/** The root mean square, from 0 to 1. */
export const loudness = (piece: Uint8Array): number => {
  const view = new DataView(piece.buffer, piece.byteOffset, piece.byteLength)
  const count = Math.floor(piece.byteLength / 2)
  let sum = 0
  for (let index = 0; index < count; index++) sum += view.getInt16(index * 2, true) ** 2
  return count === 0 ? 0 : Math.sqrt(sum / count) / 32_768
}
