/**
 * *** How an answer is spoken. *** While the answer is written, its sentences go to the provider one after the other. The sound is told
 * piece by piece to readers of the live stream, and stored as one recording.
 *
 *     words ─ sentences ─ requests (`SpokenSound`) ─ sound (`SpeechAudio`) ─┬─ live pieces (`LiveSound`)
 *                                                                           └─ recording, a document (`SpeechRecording`)
 *
 * An error of the provider, missing credit or too much sound ends the speech but never the turn; it is told after the last word. A turn
 * that is cancelled or fails ends the speech too; the sound so far is kept.
 */
import * as Cause from "effect/Cause"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import type { Principal } from "../access/Principal.ts"
import type { BlobStore } from "../documents/BlobStore.ts"
import type { DocumentStore } from "../documents/DocumentStore.ts"
import { fileTypeForExtension } from "../documents/FileType.ts"
import { ModelError } from "../models/ModelError.ts"
import type { SpeechFormat, TextToSpeech } from "../models/TextToSpeech.ts"
import { TokenCounter } from "../models/TokenCounter.ts"
import { genAi } from "../primitives/GenAi.ts"
import { traced } from "../primitives/Traced.ts"
import { noUsage } from "../primitives/Usage.ts"
import type { LiveTurn } from "../tools/LiveTurn.ts"
import type { Restore } from "../turns/Places.ts"
import { makeLiveSound } from "./LiveSound.ts"
import { makeSpeechAudio, vendorFormat } from "./SpeechAudio.ts"
import { makeSpeechRecordings, type SpeechRecording } from "./SpeechRecording.ts"
import { type Heard, speakTexts, textsToSpeak } from "./SpokenSound.ts"
import { withRetries } from "./VendorStream.ts"
import { type Chosen, readPrice, type VoiceModels } from "./VoiceModels.ts"
import { type SpokenRecord, voiceEvents } from "./VoiceRecord.ts"
import { VoiceSettings } from "./VoiceSettings.ts"

export interface SpeechWish {
  readonly voice: string | null
  readonly format: SpeechFormat
  readonly speed: number | null
}

export type Speak = (
  chosen: Chosen<TextToSpeech>,
  wish: SpeechWish,
  turn: LiveTurn,
  words: Stream.Stream<string>
) => Effect.Effect<void, never, Principal>

interface SpeechProgress {
  characters: number
  bytes: number
  /** Begun with the first sound. */
  recording: SpeechRecording | null
}

interface Speech {
  readonly audio: ReturnType<typeof makeSpeechAudio>
  readonly chosen: Chosen<TextToSpeech>
  readonly live: ReturnType<typeof makeLiveSound>
  readonly progress: SpeechProgress
  readonly turn: LiveTurn
}

/** The speech ended before the text. */
class SpeechEnded extends Schema.TaggedError<SpeechEnded>()("SpeechEnded", { message: Schema.String }) {}

export const makeSpeak = (models: VoiceModels): Effect.Effect<Speak, never, BlobStore | DocumentStore> =>
  Effect.gen(function* () {
    const beginRecording = yield* makeSpeechRecordings
    const counter = yield* TokenCounter
    const settings = yield* VoiceSettings

    /** Speaks a text: the bytes of the provider, charged with the first of them. A text that fails before costs nothing. */
    const sayBy = Effect.fnUntraced(function* (chosen: Chosen<TextToSpeech>, wish: SpeechWish, turn: LiveTurn) {
      const { driver, model, provider } = chosen
      const info = yield* models.describe(chosen, "tts")
      const apiKey = yield* models.keys.find(provider)
      const format = chosenFormat(chosen, wish)
      const { speed, voice } = wish
      const payee = { provider, model, purpose: "tts" }
      const request = { provider, model, voice, format, speed, apiKey }
      return (text: string) =>
        Stream.unwrap(
          Effect.map(turn.beginCharge(payee), (end) => {
            let isCharged = false
            const charge = Effect.suspend(() => {
              isCharged = true
              const costUsd = readPrice(info, "usd_per_million_characters", text.length)
              const usage = { ...noUsage, inputTokens: Math.ceil(counter.count(text)), costUsd, estimated: true }
              return end([{ ...payee, usage }])
            })
            return withRetries(driver.speak({ ...request, text }), chosen, settings).pipe(
              Stream.onFirst(() => charge),
              Stream.tapError(() => (isCharged ? Effect.void : end([])))
            )
          })
        )
    })

    const hear = Effect.fnUntraced(function* ({ audio, chosen, live, progress, turn }: Speech, heard: Heard) {
      if (heard._tag === "EndOfText") {
        live.flush()
        return audio.endFile() ? undefined : yield* noSound(chosen)
      }
      const sound = audio.feed(heard.bytes)
      if (sound === null) return yield* noSound(chosen)
      if (sound.stored.length === 0) return undefined
      progress.bytes += sound.stored.length
      if (progress.bytes > settings.maxSpeechBytes) return yield* new SpeechEnded({ message: tooLong })
      // A piece is recorded before it is told, so a turn that ends at this moment keeps everything that was heard.
      progress.recording ??= yield* beginRecording(turn, audio)
      yield* progress.recording.add(sound.stored)
      return live.add(sound.live, audio.contentType)
    })

    const speakWith = Effect.fnUntraced(function* (
      restore: Restore,
      ...[chosen, wish, turn, words]: Parameters<Speak>
    ) {
      const audio = makeSpeechAudio(wish.format, chosenFormat(chosen, wish), chosen.driver)
      const live = makeLiveSound(turn)
      const progress: SpeechProgress = { characters: 0, bytes: 0, recording: null }
      const speech = { audio, chosen, live, progress, turn }
      const lastWord = yield* Deferred.make<void>()
      const allWords = Stream.ensuring(words, Deferred.succeed(lastWord, undefined))
      const texts = Stream.tap(textsToSpeak(allWords, chosen.driver.maxCharacters), (text) =>
        Effect.sync(() => {
          progress.characters += text.length
        })
      )
      const talk = turn.ensureCredit({ purpose: "tts", amountUsd: null }).pipe(
        Effect.andThen(sayBy(chosen, wish, turn)),
        Effect.flatMap((say) => Stream.runForEach(speakTexts(texts, say), (heard) => hear(speech, heard)))
      )
      const late = Deferred.await(lastWord).pipe(
        Effect.andThen(Effect.sleep(settings.speechTimeout)),
        Effect.andThen(Effect.fail(new SpeechEnded({ message: tooSlow })))
      )
      const exit = yield* Effect.exit(restore(Effect.raceFirst(talk, late)))
      // An error is told after the last word, so the rest of the words is read to the end.
      if (Exit.isFailure(exit) && !Exit.hasInterrupts(exit)) yield* restore(Stream.runDrain(words)).pipe(Effect.exit)
      live.flush()
      const documentId = progress.recording === null ? null : yield* progress.recording.finish
      const isLost = progress.recording !== null && documentId === null
      const error = (yield* faultFromExit(exit)) ?? (isLost ? notStored : null)
      if (error === null && !live.hasBegun()) return
      const record: SpokenRecord = {
        documentId,
        mimeType: fileTypeForExtension(audio.extension)?.mimeType ?? "audio/mpeg",
        seconds: audio.seconds(),
        characters: progress.characters,
        provider: chosen.provider,
        model: chosen.model,
        voice: wish.voice,
        error
      }
      turn.keep({ tts: record })
      if (error === null) turn.tell({ type: voiceEvents.spoken, data: { documentId } })
      else turn.tell({ type: voiceEvents.failed, data: { error } })
    })

    return (chosen, wish, turn, words) =>
      Effect.uninterruptibleMask((restore) => speakWith(restore, chosen, wish, turn, words)).pipe(
        traced(`speak ${chosen.model}`, {
          kind: "client",
          attributes: {
            [genAi.operation]: "speak",
            [genAi.provider]: chosen.provider,
            [genAi.requestModel]: chosen.model
          }
        })
      )
  })

const chosenFormat = ({ driver }: Chosen<TextToSpeech>, { format }: SpeechWish): SpeechFormat =>
  vendorFormat(format, driver) ?? driver.formats[0]

const tooLong = "The answer is too long to be read aloud to its end."
const tooSlow = "The provider took too long to read the answer aloud."
const notStored = "The speech could not be stored."

const noSound = ({ model, provider }: Chosen<unknown>) =>
  Effect.fail(new ModelError({ reason: "malformed", code: "no_audio", provider, model }))

/** Null: it was spoken to the end, or the turn was ended. A defect is logged for the operator. */
const faultFromExit = (exit: Exit.Exit<void, { readonly message: string }>): Effect.Effect<string | null> => {
  if (Exit.isSuccess(exit) || Exit.hasInterrupts(exit)) return Effect.succeed(null)
  return Option.match(Cause.findErrorOption(exit.cause), {
    onNone: () =>
      Effect.as(Effect.logError("An answer could not be spoken", exit.cause), "The speech failed inside the server."),
    onSome: ({ message }) => Effect.succeed(message)
  })
}
