/**
 * How voice joins a turn: speech input before it (`Transcription`), speech output while it is answered (`Speech`). A message requests it
 * with `TurnRequest.options.voice`: `stt` with a recording that `Recordings` has stored, `tts`, or both. Problems are refused before
 * anything is heard or stored. Recordings and speech are documents of the messages, and are never indexed.
 */
import * as Clock from "effect/Clock"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import type { Catalog } from "../catalog/Catalog.ts"
import { BlobStore } from "../documents/BlobStore.ts"
import { type DocumentScope, unindexedDocument } from "../documents/Document.ts"
import { DocumentStore } from "../documents/DocumentStore.ts"
import type { QuotaStore } from "../metering/QuotaStore.ts"
import type { Providers } from "../models/Provider.ts"
import { MessageId, ThreadId } from "../primitives/Ids.ts"
import { FollowUps } from "../runs/FollowUps.ts"
import { typedWorker } from "../runs/FollowUpWorker.ts"
import { TurnRefused } from "../turns/TurnErrors.ts"
import type { TurnCase, TurnPart } from "../turns/TurnPart.ts"
import { TurnParts } from "../turns/TurnParts.ts"
import { Recordings } from "./Recordings.ts"
import { makeSpeak } from "./Speech.ts"
import { makeTranscribe } from "./Transcription.ts"
import { isChosen, makeVoiceModels, type VoiceModels } from "./VoiceModels.ts"
import { Recorded } from "./VoiceOptions.ts"
import { voicePartName } from "./VoiceRecord.ts"
import { VoiceSettings } from "./VoiceSettings.ts"
import { nothingWished, type Wishes, readWishes } from "./VoiceWishes.ts"

const VoicePlan = Schema.Struct({
  /** The provider and model that speak; null: the answer is not spoken. */
  speech: Schema.NullOr(
    Schema.Struct({
      provider: Schema.String,
      model: Schema.String,
      voice: Schema.NullOr(Schema.String),
      format: Schema.Literals(["mp3", "wav", "pcm"]),
      speed: Schema.NullOr(Schema.Finite)
    })
  ),
  /** Kept as a document of the user's message; null: there is none, or it is not kept. */
  recording: Schema.NullOr(Recorded)
})
type VoicePlan = typeof VoicePlan.Type

/** The recording of a message that is only saved. Such a message has no leg in which the recording could be kept. */
const keepKind = "voice.keep"
const KeptRecording = Schema.Struct({ recording: Recorded, threadId: ThreadId, messageId: MessageId })

const makePart = Effect.gen(function* () {
  const blobs = yield* BlobStore
  const documents = yield* DocumentStore
  const recordings = yield* Recordings
  const settings = yield* VoiceSettings
  const models = yield* makeVoiceModels
  const transcribe = yield* makeTranscribe(models)
  const speak = yield* makeSpeak(models)

  const keep = Effect.fnUntraced(function* ({ size: _, ...recording }: Recorded, scope: DocumentScope) {
    const stored = yield* blobs.head(recording.blobId)
    if (Option.isNone(stored)) return
    const { documentId: id, ...file } = recording
    // A repeat, after a write whose answer was lost.
    if (Option.isSome(yield* documents.get(id))) return
    const at = new Date(yield* Clock.currentTimeMillis)
    const { size } = stored.value
    yield* documents.insert(unindexedDocument({ ...file, size, id, scope, metadata: { recorded: true } }, at), [])
  })

  /** Deletes the recording of a refused message, unless the host keeps every recording. */
  const discardRecording = ({ isNewThread, thread }: TurnCase, recorded: Recorded) =>
    (settings.recordings === "always" && !isNewThread
      ? keep(recorded, { _tag: "Thread", threadId: thread.id })
      : recordings.discard(recorded)
    ).pipe(Effect.catchCause((cause) => Effect.logWarning("A recording could not be put away", cause)))

  /** The extra minute is for reading the recording before the transcription, and for keeping or deleting it afterwards. */
  const timeToListen = Duration.sum(Duration.fromInputUnsafe(settings.transcriptionTimeout), Duration.minutes(1))

  const part: TurnPart<VoicePlan> = {
    name: voicePartName,
    plan: VoicePlan,
    concerns: ({ options }) => options !== undefined,
    limits: { listen: timeToListen },
    again: speechOptions,
    rewriteOptions,
    refuse: (turn) => Effect.asVoid(wishesIn(turn, models)),

    listen: Effect.fnUntraced(function* (turn, listening) {
      const { hearing } = yield* wishesIn(turn, models)
      if (hearing === null) return null
      const isStreamed = turn.request.stream === true
      const heard = yield* transcribe(
        { ...hearing, isStreamed, rewrite: turn.rewrite, assistantId: turn.assistant.id },
        listening
      ).pipe(Effect.onError(() => discardRecording(turn, hearing.recorded)))
      const documentId = settings.recordings === "never" ? null : heard.documentId
      return { content: heard.transcript, supplement: { stt: { ...heard, documentId } } }
    }),

    decide: Effect.fnUntraced(function* (turn) {
      const { hearing, speech } = yield* wishesIn(turn, models)
      const recording = hearing === null ? null : hearing.recorded
      if (recording !== null && settings.recordings === "never") yield* recordings.discard(recording)
      const kept = settings.recordings === "never" ? null : recording
      return speech === null && kept === null ? null : { plan: { speech, recording: kept } }
    }),

    /** The user's message is stored now, so its recording can become a document of it. */
    recall: Effect.fnUntraced(function* ({ recording }, turn, history) {
      const message = history.messages.find(({ role, runId }) => runId === turn.runId && role === "user")
      if (recording !== null && message !== undefined) {
        yield* keep(recording, { _tag: "Message", threadId: turn.threadId, messageId: message.id })
      }
      return []
    }),

    speak: ({ speech }, turn, words) => {
      const chosen = speech && models.speaking(speech)
      return chosen && isChosen(chosen) ? speak(chosen, speech, turn, words) : Effect.void
    },

    followUps: ({ recording }, ended) => {
      if (recording === null || ended.status !== "SAVED") return []
      const { message, threadId } = ended
      return [{ kind: keepKind, key: message.id, payload: { recording, threadId, messageId: message.id } }]
    }
  }

  const worker = typedWorker({
    // No record waits: the follow-up is stored in one transaction with the message.
    kind: keepKind,
    payload: KeptRecording,
    run: ({ messageId, recording, threadId }) => keep(recording, { _tag: "Message", threadId, messageId })
  })

  return { part, worker }
})

/** Joins the turns of a kernel, and provides `Recordings`: a layer over `Kernel.layer` and the stores of documents. */
export const voicePart: Layer.Layer<
  Recordings,
  never,
  BlobStore | Catalog | DocumentStore | FollowUps | Providers | QuotaStore | TurnParts
> = Layer.effectDiscard(
  Effect.gen(function* () {
    const { part, worker } = yield* makePart
    yield* (yield* FollowUps).register(worker)
    yield* (yield* TurnParts).register(part)
  })
).pipe(Layer.provideMerge(Recordings.layer))

/** The words of a recording are in the message already. */
const speechOptions = (options: Schema.Json): Schema.Json | undefined =>
  isObject(options) && options["tts"] !== undefined ? { tts: options["tts"] } : undefined

/** What a user tells the provider about a recording is the only text among the options. Malformed options are left to `refuse`. */
const rewriteOptions: NonNullable<TurnPart<VoicePlan>["rewriteOptions"]> = (options, rewrite) => {
  const stt = isObject(options) ? options["stt"] : null
  if (!isObject(options) || !isObject(stt) || typeof stt["prompt"] !== "string") return Effect.succeed(options)
  return Effect.map(rewrite(stt["prompt"]), (prompt) =>
    Object.assign({}, options, { stt: Object.assign({}, stt, { prompt }) })
  )
}

const isObject = Schema.is(Schema.JsonObject)

/** The voice options of the message; a refusal if they cannot be met. */
const wishesIn = ({ options }: TurnCase, models: VoiceModels): Effect.Effect<Wishes, TurnRefused> => {
  if (options === undefined) return Effect.succeed(nothingWished)
  return Effect.mapError(
    Effect.fromResult(readWishes(options, models)),
    (problems) => new TurnRefused({ part: voicePartName, reason: "invalid", problems })
  )
}
