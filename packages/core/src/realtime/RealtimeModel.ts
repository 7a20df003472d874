/**
 * Port: a native audio model. A vendor says how it is set up and reached (`prepare`), then speaks through a link: commands and audio go
 * up, events and audio come down. Vendors over a socket are a pure two-way mapping of events plus the socket's settings; the adapters'
 * `overSocket` makes a `RealtimeModel` of such a mapping. Audio goes by plain calls, because an Effect for each piece costs more than the
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

/** One message of the thread, as the model is told of it before the session begins. */
export interface SpokenMessage {
  readonly role: "user" | "assistant"
  readonly text: string
}

export interface SessionSetup {
  readonly model: string
  readonly instructions: string | null
  readonly tools: ReadonlyArray<ToolDefinition>
  /** The client's `provider_options`. */
  readonly options: Schema.JsonObject
  readonly history: ReadonlyArray<SpokenMessage>
  /** The customer's own key for this vendor; null: the host's. */
  readonly apiKey: Redacted.Redacted<string> | null
}

/** The setup cannot be used: the text says what to change. */
export class SetupRefused extends Schema.TaggedError<SetupRefused>()("SetupRefused", {
  code: Schema.Literals(["invalid_first_frame", "model_mismatch"]),
  reason: Schema.String
}) {
  override get message() {
    return this.reason
  }
}

/** The vendor cannot be reached, or refused the connection or the setup. `reason` is the vendor's own word for the client to read. */
export class VendorUnavailable extends Schema.TaggedError<VendorUnavailable>()("VendorUnavailable", {
  code: Schema.Literals(["provider_unavailable", "provider_error", "provider_closed"]),
  reason: Schema.String
}) {
  override get message() {
    return this.reason
  }
}

export type VendorCommand =
  | { readonly _tag: "Text"; readonly text: string }
  | { readonly _tag: "Commit" }
  | { readonly _tag: "Cancel" }
  /** All of them are open calls of this session. */
  | { readonly _tag: "ToolOutputs"; readonly outputs: ReadonlyArray<CallOutput> }
  /** A message of the vendor's own protocol, from the client. */
  | { readonly _tag: "Native"; readonly event: Schema.JsonObject }

export interface CallOutput {
  readonly toolCallId: string
  readonly name: string
  readonly output: string
}

/** What was heard of an answer that was interrupted. */
export interface Cut {
  readonly itemId: string
  readonly heardMillis: number
  readonly generatedMillis: number
}

export type VendorEvent =
  /** The vendor's message as it came, one JSON text. Messages that are nothing but audio are left out. */
  | { readonly _tag: "Native"; readonly json: string }
  /** Setup and history are acknowledged. */
  | { readonly _tag: "Ready" }
  /** Something that the user said has its place: before the item `before` where that is given, else after everything so far. */
  | {
      readonly _tag: "UserItem"
      readonly itemId: string
      readonly before: string | null
      readonly transcribed: boolean
    }
  /** A text that the user typed was given to the model. */
  | { readonly _tag: "Typed"; readonly itemId: string; readonly text: string }
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
  /** The item was an audio turn in which nothing was said: nothing is kept of it. */
  | { readonly _tag: "NothingSaid"; readonly itemId: string }
  | { readonly _tag: "ToolCalled"; readonly call: ToolCall }
  | { readonly _tag: "ToolsCancelled"; readonly toolCallIds: ReadonlyArray<string> }
  | { readonly _tag: "ResponseStarted"; readonly responseId: string }
  | { readonly _tag: "ResponseDone"; readonly responseId: string }
  /** The answer was broken off; audio that was not played is to be thrown away. */
  | { readonly _tag: "Interrupted"; readonly cut: Cut | null }
  /** To be added to what was used before. */
  | { readonly _tag: "Used"; readonly usage: Usage }
  /** The vendor reports an error; the session goes on. */
  | { readonly _tag: "Failed"; readonly reason: string }
  /** The link is gone. The last event. */
  | { readonly _tag: "Closed"; readonly reason: string }

/** Called synchronously, in the order in which the vendor spoke. */
export interface VendorListener {
  readonly event: (event: VendorEvent) => void
  /** `base64` holds the ASCII bytes of the text. It may be a part of a larger buffer: use it at once or copy it. */
  readonly audio: (itemId: string, base64: Uint8Array) => void
}

export type Refusal = { readonly code: "unsupported_frame" | "invalid_frame"; readonly reason: string }

export interface VendorLink {
  /** Null when the command was taken; otherwise why not, and nothing was sent. */
  readonly send: (command: VendorCommand) => Refusal | null
  /** `sent` is called when the vendor has taken this very piece. */
  readonly sendAudio: (audio: Uint8Array, sent?: () => void) => void
  /** Bytes that wait to be sent. */
  readonly buffered: () => number
  /** Stops and resumes the reading of what the vendor says. */
  readonly pause: () => void
  readonly resume: () => void
  /** No more input comes: what is still unknown (usage, transcripts) may be asked for. */
  readonly finish: () => void
}

export interface PreparedSession {
  readonly inputFormat: AudioFormat
  readonly outputFormat: AudioFormat
  /** Whether an answer can be cancelled by a command of its own. */
  readonly canCancel: boolean
  /** What of the instructions counts against the limits of the history: the vendor's own field beats the assistant's. */
  readonly instructions: string | null
  /** Dials, sets up and seeds. It succeeds when the connection is made; `Ready` comes as an event. The link closes with the scope. */
  readonly connect: (listener: VendorListener) => Effect.Effect<VendorLink, VendorUnavailable, Scope.Scope>
}

export interface RealtimeModel {
  /** The `provider` of the first frame: the host chooses it. */
  readonly id: string
  /** The models that it serves, for the catalogue. A session with another model is refused. */
  readonly models: ReadonlyArray<ModelInfo>
  /** Pure: what the session would be, or why it cannot be. */
  readonly prepare: (setup: SessionSetup) => Result.Result<PreparedSession, SetupRefused>
}

/** The `details` of a realtime model in the catalogue. */
export const RealtimeCapabilities = Schema.Struct({
  inputFormats: Schema.Array(AudioFormat),
  outputFormats: Schema.Array(AudioFormat),
  /** Names of native fields that `provider_options` may hold. */
  providerSettings: Schema.Array(Schema.String),
  canCancel: Schema.Boolean,
  turnDetection: Schema.Array(Schema.String)
})
export type RealtimeCapabilities = typeof RealtimeCapabilities.Type

export class RealtimeModels extends Context.Service<
  RealtimeModels,
  {
    readonly all: ReadonlyArray<RealtimeModel>
    /** Every id that a first frame may name, registered or not. */
    readonly known: ReadonlySet<string>
    readonly find: (provider: string) => RealtimeModel | undefined
  }
>()("@colloquy/core/realtime/RealtimeModels") {
  /** `known`: ids that the service has beside the registered ones; a session with one of those is `provider_unavailable`. */
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
