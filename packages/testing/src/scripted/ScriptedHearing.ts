/**
 * A speech to text that follows a script, for voices from parts: `hears("How far ", "is it?")` is one turn. While it is spoken, a piece of its text
 * comes for each `every` of sound; the whole of it comes at the end. It needs no network and tells what it was given.
 */
import { ModelError, type SpeechToText, type TranscriptEvent, wavHeader } from "@colloquy/core/adapters"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"

/** The texts that come one by one while a user speaks. Made by `hears` and `breaksOff`. */
export interface HeardTurn {
  readonly pieces: ReadonlyArray<string>
  /** While it is spoken, after the first piece, the connection breaks. The whole recording is understood. */
  readonly breaks: boolean
}

/** A turn that is understood in these pieces. */
export const hears = (...pieces: ReadonlyArray<string>): HeardTurn => ({ pieces, breaks: false })

/** A turn during which the connection breaks, so that only the whole recording gives these words. */
export const breaksOff = (...pieces: ReadonlyArray<string>): HeardTurn => ({ pieces, breaks: true })

/** How fast the scripted transcription is, in virtual time, and whether it listens at all. */
export interface ScriptedHearingOptions {
  /** False: it does not listen while the user speaks. Default: true. */
  readonly listens?: boolean
  /** The milliseconds of sound for each piece of text. Default: 300. */
  readonly every?: number
  /** From the end of a turn to its whole text, if it was listened to. Default: at once. */
  readonly settles?: Duration.Input
  /** How long a whole recording takes, as a share of its length. Default: 0. */
  readonly slowness?: number
}

/** A driver that follows a script, and what it was given. */
export interface ScriptedHearing {
  readonly driver: SpeechToText
  /** The sound of each turn that was listened to, as far as it came. */
  readonly listened: ReadonlyArray<Uint8Array>
  /** The whole recordings. */
  readonly recordings: ReadonlyArray<Uint8Array>
}

const failure = (provider: string, model: string) => new ModelError({ reason: "cut_off", provider, model })

/** Makes a speech to text of a script. A turn of the script is used up by its whole text. */
export const make = (
  script: ReadonlyArray<HeardTurn>,
  { every = 300, listens = true, settles = 0, slowness = 0 }: ScriptedHearingOptions = {}
): ScriptedHearing => {
  const turns = [...script]
  const listened: Array<Uint8Array> = []
  const recordings: Array<Uint8Array> = []

  const whole = (text: string, bytes: number, sampleRate: number) => ({
    text,
    seconds: bytes / 2 / sampleRate,
    language: null,
    usage: null
  })

  const listen: NonNullable<SpeechToText["listen"]> = ({ model, provider, sampleRate }, sound) =>
    Stream.suspend(() => {
      const at = listened.push(new Uint8Array()) - 1
      const turn = turns[0] ?? hears()
      let told = 0
      const pieces = Stream.mapEffect(sound, (piece): Effect.Effect<ReadonlyArray<TranscriptEvent>, ModelError> => {
        const heard = Buffer.concat([listened[at] ?? new Uint8Array(), piece])
        listened[at] = new Uint8Array(heard)
        const due = Math.floor(heard.length / 2 / (sampleRate / 1000) / every)
        const fresh = turn.pieces.slice(told, due)
        told = Math.max(told, Math.min(due, turn.pieces.length))
        if (turn.breaks && told > 1) return Effect.fail(failure(provider, model))
        return Effect.succeed(fresh.map((text) => ({ _tag: "TranscriptDelta", text })))
      })
      const last = Effect.suspend(() => {
        if (turn.breaks) return Effect.fail(failure(provider, model))
        const transcript = whole(turn.pieces.join(""), listened[at]?.length ?? 0, sampleRate)
        const written = Effect.sync((): TranscriptEvent => {
          turns.shift()
          return { _tag: "Transcribed", transcript }
        })
        return Effect.delay(written, settles)
      })
      return Stream.concat(Stream.flattenIterable(pieces), Stream.fromEffect(last))
    })

  const driver: SpeechToText = {
    defaultModel: "scripted-ears",
    maxBytes: 25 * 1024 * 1024,
    transcribe: ({ recording }) =>
      Effect.suspend(() => {
        recordings.push(recording.bytes)
        const turn = turns.shift() ?? hears()
        const samples = recording.bytes.length - headerBytes
        const transcript = whole(turn.pieces.join(""), samples, 24_000)
        return Effect.delay(Effect.succeed(transcript), transcript.seconds * 1000 * slowness)
      }),
    ...(listens ? { listen } : {})
  }
  return { driver, listened, recordings }
}

const headerBytes = wavHeader({ sampleRate: 24_000, channels: 1 }, 0).length
