/** The types of the state machine of a voice session (`SessionState`): its state, its inputs, its actions. */
import type * as Result from "effect/Result"
import type * as Schema from "effect/Schema"
import { noUsage, type Usage } from "../primitives/Usage.ts"
import type { ToolCall } from "../tools/ToolCall.ts"
import { type Conversation, emptyConversation } from "./Conversation.ts"
import type { AudioFormat, ClientFrame, CloseReason, ErrorCode, ServiceEvent, SessionSettings } from "./Frames.ts"
import type { ModelSetup, VendorCommand, VendorEvent } from "./RealtimeModel.ts"
import type { SessionLimits } from "./SessionLimits.ts"
import { emptyLedger, type ToolCallLedger } from "./ToolCallLedger.ts"

/** How a session ends: the error for the client, and the close of its connection. */
export interface Ending {
  readonly error: { readonly code: ErrorCode; readonly message: string } | null
  readonly close: CloseReason
}

export interface SessionState {
  readonly phase: "opening" | "live" | "stopping" | "ended"
  /** The terms do not change after the beginning. */
  readonly terms: SessionTerms
  readonly startedAt: number
  readonly lastInputAt: number
  readonly inputBytes: number
  readonly ledger: ToolCallLedger
  /** The open calls that wait for an approval. */
  readonly undecided: ReadonlySet<string>
  readonly conversation: Conversation
  /** The settings that the client has set itself. */
  readonly settings: SessionSettings
  readonly usage: Usage
  /** The usage of the current answer. Null: the vendor has not reported any. */
  readonly answerUsage: Usage | null
  readonly responding: boolean
  readonly stopDue: number
  readonly ending: Ending | null
}

export interface SessionTerms {
  readonly limits: SessionLimits
  readonly hosted: ReadonlySet<string>
  readonly canCancel: boolean
  readonly settings: SessionSettings
  /** Pure: what the model gets under other settings of the client, or why they are refused. */
  readonly setupWith: (settings: SessionSettings) => Result.Result<ModelSetup, string>
  readonly begin: {
    readonly sessionId: string
    readonly threadId: string
    readonly assistantId: string
    readonly inputFormat: AudioFormat
    readonly outputFormat: AudioFormat
    readonly provider: string
    readonly model: string
    readonly settings?: SessionSettings
  }
}

export type Input =
  | { readonly _tag: "Frame"; readonly frame: ClientFrame; readonly bytes: number }
  | { readonly _tag: "Audio"; readonly bytes: number }
  /** The client's message could not be read. */
  | { readonly _tag: "Malformed"; readonly code: ErrorCode; readonly message: string; readonly bytes: number }
  | { readonly _tag: "ClientGone" }
  | { readonly _tag: "Vendor"; readonly event: VendorEvent }
  /** The vendor did not accept a command of the client. */
  | { readonly _tag: "Refused"; readonly code: ErrorCode; readonly message: string }
  /** The vendor has taken these settings. */
  | { readonly _tag: "Changed"; readonly settings: SessionSettings }
  /** Settings that were changed are stored. */
  | { readonly _tag: "ChangeKept" }
  /** A hosted call made a picture, a video or a sound. */
  | { readonly _tag: "MediaMade"; readonly toolCallId: string; readonly media: ReadonlyArray<Schema.JsonObject> }
  /** A part keeps a value with the answer that made the call. */
  | { readonly _tag: "Kept"; readonly toolCallId: string; readonly part: string; readonly value: Schema.Json }
  /** A hosted call waits for the decision of a person. */
  | { readonly _tag: "ApprovalNeeded"; readonly toolCallId: string }
  | { readonly _tag: "HostedDone"; readonly toolCallId: string; readonly output: string }
  | { readonly _tag: "Tick" }
  /** The service ends the session: a drain, a lost lease, or a peer that does not read. */
  | { readonly _tag: "Ended"; readonly ending: Ending; readonly atOnce: boolean }

/** The decision of a person about a call. */
export interface CallDecision {
  readonly toolCallId: string
  readonly isApproved: boolean
  readonly reason: string | null
}

export type Action =
  | { readonly _tag: "Tell"; readonly event: ServiceEvent }
  | { readonly _tag: "Send"; readonly command: VendorCommand }
  /** Other instructions and tools go to the vendor; if it takes them, these settings of the client hold. */
  | { readonly _tag: "Change"; readonly setup: ModelSetup; readonly settings: SessionSettings }
  | { readonly _tag: "KeepSettings"; readonly settings: SessionSettings }
  /** This piece of audio goes to the vendor. */
  | { readonly _tag: "PassAudio" }
  | { readonly _tag: "DropAudio" }
  | { readonly _tag: "RunHosted"; readonly call: ToolCall }
  | ({ readonly _tag: "DecideHosted" } & CallDecision)
  | { readonly _tag: "StopHosted"; readonly toolCallIds: ReadonlyArray<string> }
  | { readonly _tag: "FinishVendor" }
  | { readonly _tag: "Charge"; readonly usage: Usage }
  /** Save everything, inform the client and close. Once. */
  | { readonly _tag: "End"; readonly ending: Ending }

export interface Decided {
  readonly state: SessionState
  readonly actions: ReadonlyArray<Action>
}

export const openingState = (terms: SessionTerms, now: number): SessionState => ({
  phase: "opening",
  terms,
  startedAt: now,
  lastInputAt: now,
  inputBytes: 0,
  ledger: emptyLedger,
  undecided: new Set(),
  conversation: emptyConversation,
  settings: terms.settings,
  usage: noUsage,
  answerUsage: null,
  responding: false,
  stopDue: Number.POSITIVE_INFINITY,
  ending: null
})

export const nothing: ReadonlyArray<Action> = []
export const passAudio: ReadonlyArray<Action> = [{ _tag: "PassAudio" }]

export const stay = (state: SessionState): Decided => ({ state, actions: nothing })

export const tell = (event: ServiceEvent): Action => ({ _tag: "Tell", event })

export const complain = (code: ErrorCode, message: string): Action => tell({ _tag: "Error", code, message })
