/**
 * Port: a native audio model. `prepare` says how a vendor is set up and reached; then a link carries commands and audio to it, and events
 * and audio from it. A vendor with a socket is a pure mapping of events in both directions plus the socket's settings; the adapters'
 * `overSocket` makes a `RealtimeModel` of such a mapping. Audio uses plain calls, because an Effect for each piece costs more than the
 * relay itself.
 */
import * as Context from "effect/Context"
import type * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type * as Redacted from "effect/Redacted"
import type * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import type * as Scope from "effect/Scope"
import type { ModelInfo } from "../models/ModelInfo.ts"
import type { Usage } from "../primitives/Usage.ts"
import type { ToolCall } from "../tools/ToolCall.ts"
import type { ToolDefinition } from "../tools/ToolDefinition.ts"
import { AudioFormat } from "./Frames.ts"

/** One message of the thread, as the model gets it before the session begins. */
export interface SpokenMessage {
  readonly role: "user" | "assistant"
  readonly text: string
}

/** The settings that a session gives its model, and may change later. */
export interface ModelSetup {
  readonly instructions: string | null
  readonly tools: ReadonlyArray<ToolDefinition>
}

/** The settings with which a vendor's session begins. */
export interface SessionSetup extends ModelSetup {
  readonly model: string
  /** The client's `provider_options`. */
  readonly options: Schema.JsonObject
  readonly history: ReadonlyArray<SpokenMessage>
  /** The customer's own key for this vendor, which MUST be used if it is given; null: the host's. */
  readonly apiKey: Redacted.Redacted<string> | null
}

/** The setup is not usable; the text says what to change. */
export class SetupRefused extends Schema.TaggedError<SetupRefused>()("SetupRefused", {
  code: Schema.Literals(["invalid_first_frame", "model_mismatch"]),
  reason: Schema.String
}) {
  override get message() {
    return this.reason
  }
}

/** The vendor cannot be reached, or refused the connection or the setup. `reason` is the vendor's own text, for the client. */
export class VendorUnavailable extends Schema.TaggedError<VendorUnavailable>()("VendorUnavailable", {
  code: Schema.Literals(["provider_unavailable", "provider_error", "provider_closed"]),
  reason: Schema.String
}) {
  override get message() {
    return this.reason
  }
}

/** A command of the session for the vendor. */
export type VendorCommand =
  | { readonly _tag: "Text"; readonly text: string }
  | { readonly _tag: "Commit" }
  | { readonly _tag: "Cancel" }
  /** The client has played this much of an item. */
  | { readonly _tag: "Played"; readonly itemId: string; readonly millis: number }
  /** The client plays no more of this item, and has played this much of it: no more of it counts as heard. */
  | { readonly _tag: "Heard"; readonly itemId: string; readonly millis: number }
  /** The client is gone. What it has not heard is interrupted, as by the user's speech. */
  | { readonly _tag: "ClientGone" }
  /** All of them are open calls of this session. */
  | { readonly _tag: "ToolOutputs"; readonly outputs: ReadonlyArray<CallOutput> }
  /** Other instructions and tools, from the next answer on. A model that cannot change both refuses them. */
  | ({ readonly _tag: "Setup" } & ModelSetup)
  /** A message of the vendor's own protocol, from the client. */
  | { readonly _tag: "Native"; readonly event: Schema.JsonObject }

/** The result of a call, for the vendor. */
export interface CallOutput {
  readonly toolCallId: string
  readonly name: string
  readonly output: string
}

/** How much of an interrupted answer was heard. */
export interface Cut {
  readonly itemId: string
  readonly heardMillis: number
  readonly generatedMillis: number
}

/** From the detected end of speech to each stage of its answer, in milliseconds. */
export const VoiceTimes = Schema.Struct({
  /** The silence that ended the turn: it lies before the detected end. */
  pauseMillis: Schema.Finite,
  transcriptMillis: Schema.Finite,
  firstTokenMillis: Schema.Finite,
  firstSentenceMillis: Schema.Finite,
  firstSoundMillis: Schema.Finite,
  /** True: the turn was written down while it was spoken. False: from the whole of its sound. */
  isLive: Schema.Boolean
})
export type VoiceTimes = typeof VoiceTimes.Type

/** An event of the vendor for the session. */
export type VendorEvent =
  /** The vendor's message unchanged, one JSON text. Messages that contain only audio are left out. */
  | { readonly _tag: "Native"; readonly json: string }
  /** The vendor has acknowledged setup and history. */
  | { readonly _tag: "Ready" }
  /** An item of the user has a position: before the item `before` if it is given, otherwise after everything so far. */
  | {
      readonly _tag: "UserItem"
      readonly itemId: string
      readonly before: string | null
      readonly transcribed: boolean
      /** True: the user still speaks, and words of it follow at once. Its transcript is late only after `SpeechEnded`. */
      readonly isOpen?: true
    }
  /** The user has ended the open item. */
  | { readonly _tag: "SpeechEnded"; readonly itemId: string }
  /** A text that the user typed was given to the model. */
  | { readonly _tag: "Typed"; readonly itemId: string; readonly text: string }
  /** The deltas of an item that is not cut MUST be the text of its `TranscriptFinal`, piece by piece. */
  | {
      readonly _tag: "TranscriptDelta"
      readonly role: "user" | "assistant"
      readonly itemId: string
      readonly text: string
    }
  | {
      readonly _tag: "TranscriptFinal"
      readonly role: "user" | "assistant"
      readonly itemId: string
      readonly text: string
    }
  | { readonly _tag: "TranscriptFailed"; readonly itemId: string }
  /** The item was an audio turn without speech, so nothing of it is kept. */
  | { readonly _tag: "NothingSaid"; readonly itemId: string }
  | { readonly _tag: "ToolCalled"; readonly call: ToolCall }
  | { readonly _tag: "ToolsCancelled"; readonly toolCallIds: ReadonlyArray<string> }
  /** Its `ResponseDone` MUST have the same id, which no other answer has. */
  | { readonly _tag: "ResponseStarted"; readonly responseId: string }
  | { readonly _tag: "ResponseDone"; readonly responseId: string }
  /** The answer was interrupted; audio that was not played is to be discarded. */
  | { readonly _tag: "Interrupted"; readonly cut: Cut | null }
  /** Only this much of the item counts as heard, without a further interruption. */
  | { readonly _tag: "CutShort"; readonly cut: Cut }
  /** To be added to the usage so far, so each token MUST be told once. `isHearing`: of the transcript of a turn, not of an answer. */
  | { readonly _tag: "Used"; readonly usage: Usage; readonly isHearing?: boolean }
  /** How long an answer to speech took, told with its first sound at the earliest, before its `ResponseDone`. */
  | { readonly _tag: "Timed"; readonly responseId: string; readonly times: VoiceTimes }
  /** The vendor reports an error; the session goes on. */
  | { readonly _tag: "Failed"; readonly reason: string }
  /** The vendor has closed the link. It MUST be told once, as the last event. */
  | { readonly _tag: "Closed"; readonly reason: string }

/** Receives the events and the sound of a vendor. */
export interface VendorListener {
  /** MUST be called synchronously, in the order of the vendor's messages: an answer from its start to its end, a call once and whole. */
  readonly event: (event: VendorEvent) => void
  /**
   * MUST be called synchronously, with every byte of the answer in its order, and with the item of its words. `base64` contains the ASCII bytes
   * of the text. It may be a part of a larger buffer: use it at once or copy it.
   */
  readonly audio: (itemId: string, base64: Uint8Array) => void
}

/** Why a vendor takes no such command. */
export type Refusal = { readonly code: "unsupported_frame" | "invalid_frame"; readonly reason: string }

/** The open connection to a vendor. */
export interface VendorLink {
  /**
   * Null if the command was taken; otherwise the reason why not. Texts and outputs MUST be sent; commits, cancellations and other setups MUST
   * be sent or refused.
   */
  readonly send: (command: VendorCommand) => Refusal | null
  /** MUST send the audio in the order of the calls. `sent` MUST be called once, when the vendor's socket has taken this piece. */
  readonly sendAudio: (audio: Uint8Array, sent?: () => void) => void
  /** Bytes that wait to be sent. MUST be 0 when all was sent. */
  readonly buffered: () => number
  /** MUST stop reading from the vendor until `resume`, and lose nothing. */
  readonly pause: () => void
  readonly resume: () => void
  /** No more input comes: data that is still missing (usage, transcripts) may be requested. */
  readonly finish: () => void
}

/** A session of a vendor that can be opened. */
export interface PreparedSession {
  readonly inputFormat: AudioFormat
  readonly outputFormat: AudioFormat
  /** Whether the vendor has a command that cancels an answer. If it has none, the link MUST refuse `Cancel`. */
  readonly canCancel: boolean
  /** The instructions that count against the limits of the history: the vendor's own field overrides the assistant's instructions. */
  readonly instructions: string | null
  /**
   * Connects and sets up. The vendor MUST get instructions, tools and history before any text. It succeeds when the connection is made; `Ready`
   * comes as an event, which MUST be told once, before anything that the model says. An error of a refused connection MUST NOT contain the
   * key. The link MUST close with the scope, and tell nothing more then.
   */
  readonly connect: (listener: VendorListener) => Effect.Effect<VendorLink, VendorUnavailable, Scope.Scope>
}

export interface RealtimeModel {
  /** The `provider` of the first frame, chosen by the host. */
  readonly id: string
  /** The models that it serves, for the catalogue. A session with another model is refused. */
  readonly models: ReadonlyArray<ModelInfo>
  /** Pure: the prepared session, or why it is refused. */
  readonly prepare: (setup: SessionSetup) => Result.Result<PreparedSession, SetupRefused>
}

/** The prices of a realtime model in US dollars, as far as they are known: of a million tokens, or of a minute. */
export const VoicePrices = Schema.Struct({
  textInput: Schema.optionalKey(Schema.Finite),
  audioInput: Schema.optionalKey(Schema.Finite),
  imageInput: Schema.optionalKey(Schema.Finite),
  cachedInput: Schema.optionalKey(Schema.Finite),
  textOutput: Schema.optionalKey(Schema.Finite),
  audioOutput: Schema.optionalKey(Schema.Finite),
  transcriptionInput: Schema.optionalKey(Schema.Finite),
  transcriptionOutput: Schema.optionalKey(Schema.Finite),
  /** A minute of transcribed audio. */
  transcriptionMinute: Schema.optionalKey(Schema.Finite),
  /** A minute of the session. */
  minute: Schema.optionalKey(Schema.Finite)
})
export type VoicePrices = typeof VoicePrices.Type

/** The `details` of a realtime model in the catalogue. */
export const RealtimeCapabilities = Schema.Struct({
  inputFormats: Schema.Array(AudioFormat),
  outputFormats: Schema.Array(AudioFormat),
  /** Names of native fields that `provider_options` may contain. */
  providerSettings: Schema.Array(Schema.String),
  canCancel: Schema.Boolean,
  turnDetection: Schema.Array(Schema.String),
  prices: Schema.optionalKey(VoicePrices)
})
export type RealtimeCapabilities = typeof RealtimeCapabilities.Type

/** The voices that sessions may name. `RealtimeModels.layer([…])` registers them. */
export class RealtimeModels extends Context.Service<
  RealtimeModels,
  {
    readonly all: ReadonlyArray<RealtimeModel>
    /** Every id that a first frame may name, registered or not. */
    readonly known: ReadonlySet<string>
    readonly find: (provider: string) => RealtimeModel | undefined
  }
>()("@colloquy/core/realtime/RealtimeModels") {
  /** `known` are ids that the service supports besides the registered ones; a session with one of those gets `provider_unavailable`. */
  static readonly layer = (
    models: ReadonlyArray<RealtimeModel>,
    known: ReadonlyArray<string> = []
  ): Layer.Layer<RealtimeModels> =>
    Layer.succeed(RealtimeModels, {
      all: models,
      known: new Set([...known, ...models.map(({ id }) => id)]),
      find: (provider) => models.find(({ id }) => id === provider)
    })
}
