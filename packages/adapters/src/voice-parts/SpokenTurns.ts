/**
 * Cuts the sound of a client into turns: it keeps a little sound before the beginning, everything until the end, and nothing between turns. A turn
 * that does not end is ended after a minute, and the next one begins with the sound that follows.
 */
import { joinBytes, makeWholeSamples } from "@colloquy/core/adapters"
import { type DetectorSettings, pieceBytes, pieceMillis, type TurnDetector } from "./TurnDetector.ts"

const longestMillis = 60_000
/** How much sound before the detected beginning belongs to a turn: the first consonant is quiet. */
const leadMillis = 300

export interface SpokenTurnsListener {
  readonly began: () => void
  /** The pieces of the turn while it is spoken, from its beginning, each once. */
  readonly heard: (pieces: ReadonlyArray<Uint8Array>) => void
  /** `goesOn`: the turn has reached its longest time, and the user speaks on. */
  readonly ended: (sound: Uint8Array, goesOn: boolean) => void
}

export interface SpokenTurns {
  readonly hear: (audio: Uint8Array) => void
  /** Ends the turn that is being spoken. False: no turn is being spoken. */
  readonly commit: () => boolean
  readonly clear: () => void
}

/** Without a detector (null), all sound until `commit` is one turn. */
export const makeSpokenTurns = (
  detector: TurnDetector | null,
  settings: DetectorSettings,
  { began, ended, heard }: SpokenTurnsListener
): SpokenTurns => {
  const wholeSamples = makeWholeSamples()
  let isSpeaking = false
  let pieces: Array<Uint8Array> = []
  let rest: Uint8Array = new Uint8Array()
  /** How many of the pieces were passed to `heard`. */
  let told = 0

  const tell = (): void => {
    if (told < pieces.length) heard(pieces.slice(told))
    told = pieces.length
  }

  const end = (goesOn = false): void => {
    if (told > 0) tell()
    const sound = joinBytes(pieces)
    isSpeaking = goesOn
    pieces = []
    told = 0
    ended(sound, goesOn)
  }

  const detect = detector?.((signal) => {
    if (signal === "began" && !isSpeaking) {
      isSpeaking = true
      began()
      tell()
    }
    if (signal === "ended" && isSpeaking) end()
  }, settings)

  const take = (piece: Uint8Array): void => {
    pieces.push(piece)
    if (detect === undefined) isSpeaking = true
    if (isSpeaking) tell()
    else if (pieces.length * pieceMillis > leadMillis) pieces.shift()
    detect?.(piece)
    if (isSpeaking && pieces.length * pieceMillis >= longestMillis) end(true)
  }

  return {
    hear: (audio) => {
      const whole = wholeSamples(audio)
      const sound = rest.length === 0 ? whole : joinBytes([rest, whole])
      let at = 0
      for (; at + pieceBytes <= sound.length; at += pieceBytes) take(sound.slice(at, at + pieceBytes))
      rest = sound.slice(at)
    },
    commit: () => {
      if (rest.length > 0) pieces.push(rest)
      rest = new Uint8Array()
      if (pieces.length === 0) return false
      end()
      return true
    },
    clear: () => {
      isSpeaking = false
      pieces = []
      told = 0
      rest = new Uint8Array()
    }
  }
}
