/**
 * *** How a recording becomes text. *** Before anything of the message is stored: its bytes are read, credit is checked, the provider
 * transcribes it, and every piece of text is told to the reader at once. An empty transcript is a refusal with its own text.
 *
 *     read ─ credit ─ ask the provider ─ tell (first piece: the stream begins) ─ charge ─ transcript
 */
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Stream from "effect/Stream"
import { genAi } from "../primitives/GenAi.ts"
import { inTime } from "../primitives/Deadlines.ts"
import type { Principal } from "../access/Principal.ts"
import { BlobStore } from "../documents/BlobStore.ts"
import type { Charge } from "../metering/Charge.ts"
import type { AssistantId } from "../primitives/Ids.ts"
import { makeDayBudget } from "../metering/DayBudget.ts"
import type { InsufficientCredit } from "../metering/Metering.ts"
import type { QuotaStore } from "../metering/QuotaStore.ts"
import { paid } from "../metering/PaidCall.ts"
import { ModelError } from "../models/ModelError.ts"
import type { SpeechToText, Transcript, TranscriptEvent, TranscriptionRequest } from "../models/SpeechToText.ts"
import { TokenCounter } from "../models/TokenCounter.ts"
import { joinBytes } from "../primitives/Pcm.ts"
import type { StoreUnavailable } from "../primitives/StoreUnavailable.ts"
import { traced } from "../primitives/Traced.ts"
import { noUsage } from "../primitives/Usage.ts"
import { TurnRefused } from "../turns/TurnErrors.ts"
import type { Rewrite } from "../turns/Rewrite.ts"
import type { Listening } from "../turns/TurnPart.ts"
import { recordingSeconds } from "./RecordingLength.ts"
import { withRetries, timedOut } from "./VendorStream.ts"
import { type Chosen, readPrice, type VoiceModels } from "./VoiceModels.ts"
import type { Recorded, VoiceOptions } from "./VoiceOptions.ts"
import { type HeardRecord, voiceEvents, voicePartName } from "./VoiceRecord.ts"
import { VoiceSettings } from "./VoiceSettings.ts"

export interface Hearing {
  readonly recorded: Recorded
  readonly options: NonNullable<VoiceOptions["stt"]>
  readonly chosen: Chosen<SpeechToText>
  /** True: the reader of a stream is told piece by piece. */
  readonly isStreamed: boolean
  /** Not null: the text passes it before anybody reads it, so it is told at once and not piece by piece. */
  readonly rewrite: Rewrite | null
  readonly assistantId: AssistantId
}

type HearError = TurnRefused | InsufficientCredit | StoreUnavailable

/** The transcription of one message. */
export type Transcribe = (hearing: Hearing, listening: Listening) => Effect.Effect<HeardRecord, HearError, Principal>

export const makeTranscribe = (models: VoiceModels): Effect.Effect<Transcribe, never, BlobStore | QuotaStore> =>
  Effect.gen(function* () {
    const blobs = yield* BlobStore
    const { credit } = yield* makeDayBudget
    const counter = yield* TokenCounter
    const settings = yield* VoiceSettings

    const read = Effect.fnUntraced(function* ({ blobId, size }: Recorded, maxBytes: number) {
      if (size > maxBytes) {
        return yield* refuse(
          "too_large",
          ["recording"],
          `The recording has ${size} bytes; this provider takes ${maxBytes}.`
        )
      }
      const pieces = yield* Effect.catchTag(Stream.runCollect(blobs.get(blobId)), "BlobNotFound", () =>
        refuse("not_found", ["recording"], "There is no such recording.")
      )
      return joinBytes(pieces)
    })

    const chargeFor = Effect.fnUntraced(function* (
      { model, provider }: Chosen<SpeechToText>,
      { text, usage }: Transcript,
      seconds: number | null
    ) {
      const info = yield* models.describe({ provider, model }, "stt")
      const counted = usage ?? { ...noUsage, outputTokens: Math.ceil(counter.count(text)), estimated: true }
      const costUsd = counted.costUsd ?? readPrice(info, "usd_per_minute", seconds)
      const charge: Charge = { provider, model, purpose: "stt", usage: { ...counted, costUsd } }
      return charge
    })

    /** All events of the provider as one stream, told as they arrive. For a provider without streaming, the text is one piece. */
    const ask = Effect.fnUntraced(function* (
      driver: SpeechToText,
      request: TranscriptionRequest,
      isStreamed: boolean,
      { tell }: Listening
    ) {
      const whole = Stream.fromEffect(
        Effect.map(driver.transcribe(request), (transcript): TranscriptEvent => ({ _tag: "Transcribed", transcript }))
      )
      const answer = isStreamed ? (driver.stream?.(request) ?? whole) : whole
      const told = { hasBegun: false, waiting: "" }
      // Blank pieces are held back: if no other piece comes, nothing was heard, and that is a refusal and not a stream.
      const tellPiece = (piece: string): void => {
        told.waiting += piece
        if (told.waiting.trim() === "") return
        if (!told.hasBegun) tell({ type: voiceEvents.hearing, data: {} })
        tell({ type: voiceEvents.heard, data: { delta: told.waiting } })
        told.hasBegun = true
        told.waiting = ""
      }
      const last = yield* Stream.runLast(
        Stream.tap(withRetries(answer, request, settings), (event) =>
          Effect.sync(() => {
            if (isStreamed && event._tag === "TranscriptDelta") tellPiece(event.text)
          })
        )
      )
      if (Option.isNone(last) || last.value._tag !== "Transcribed") {
        return yield* new ModelError({ reason: "cut_off", provider: request.provider, model: request.model })
      }
      const { transcript } = last.value
      const text = transcript.text.trim()
      if (isStreamed && text !== "") {
        if (!told.hasBegun) tellPiece(text)
        tell({ type: voiceEvents.transcript, data: { transcript: text } })
      }
      return transcript
    })

    return Effect.fnUntraced(
      function* (hearing, listening) {
        const { chosen, isStreamed, options, recorded, rewrite } = hearing
        const { driver, model, provider } = chosen
        const bytes = yield* read(recorded, driver.maxBytes)
        const ownSeconds = recordingSeconds(bytes, recorded.extension)
        const info = yield* models.describe(chosen, "stt")
        const amountUsd = readPrice(info, "usd_per_minute", ownSeconds)
        yield* credit({ purpose: "stt", amountUsd }, hearing.assistantId)
        const request: TranscriptionRequest = {
          provider,
          model,
          recording: { bytes, mimeType: recorded.mimeType, filename: `recording.${recorded.extension}` },
          language: options.language ?? null,
          prompt: options.prompt ?? null,
          apiKey: yield* models.keys.find(provider)
        }
        const payee = { provider, model, purpose: "stt" }
        const { seconds, transcript } = yield* paid(listening.beginCharge, {
          payee,
          call: ask(driver, request, isStreamed && rewrite === null, listening).pipe(
            inTime(settings.transcriptionTimeout, () => Effect.fail(timedOut(request))),
            Effect.flatMap((heard) => {
              const length = heard.seconds ?? ownSeconds
              return Effect.map(chargeFor(chosen, heard, length), (charge) => ({
                transcript: heard,
                seconds: length,
                charge
              }))
            })
          ),
          charges: (heard) => [heard.charge]
        }).pipe(Effect.catchTag("ModelError", refusalFromModel))
        const written = transcript.text.trim()
        if (written === "") return yield* refuse("invalid", ["recording"], nothingHeard)
        const text = rewrite === null ? written : yield* rewrite(written)
        if (isStreamed && rewrite !== null) tellAtOnce(text, listening)
        const { language } = transcript
        return { transcript: text, seconds, language, provider, model, documentId: recorded.documentId }
      },
      (transcribing, { chosen: { model, provider } }) =>
        traced(`transcribe ${model}`, {
          kind: "client",
          attributes: {
            [genAi.operation]: "transcribe",
            [genAi.provider]: provider,
            [genAi.requestModel]: model
          }
        })(transcribing)
    )
  })

const tellAtOnce = (text: string, { tell }: Listening): void => {
  tell({ type: voiceEvents.hearing, data: {} })
  tell({ type: voiceEvents.heard, data: { delta: text } })
  tell({ type: voiceEvents.transcript, data: { transcript: text } })
}

const nothingHeard = "Nothing was heard in the recording. Speak louder, or send text."

const refuse = (
  reason: TurnRefused["reason"],
  path: ReadonlyArray<string>,
  message: string
): Effect.Effect<never, TurnRefused> =>
  Effect.fail(
    new TurnRefused({ part: voicePartName, reason, code: "transcription_failed", problems: [{ path, message }] })
  )

const refusalFromModel = (error: ModelError): Effect.Effect<never, TurnRefused> => {
  const reason = error.reason === "timeout" ? "provider_timeout" : "provider_failed"
  return refuse(reason, ["recording"], `The recording could not be written down. ${error.message}`)
}
