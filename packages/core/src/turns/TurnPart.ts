/**
 * How a room joins a turn without being imported by the turn's code. A part is a name, a schema for its plan, and the steps that it needs.
 * `Turns` and `RunLeg` call the steps in the order in which they are declared here. Documents, memory, answers, media and voice are parts,
 * and a host writes its own: a guardrail, a search, an audit.
 *
 * The plan of a part is stored with the run, so that the next leg can use it in any process and version. If a version cannot read the plan,
 * the part is left out of that run, and the run goes on. A part that rewrites or reviews is never left out: the run ends as a failure.
 */
import type * as Duration from "effect/Duration"
import type * as Effect from "effect/Effect"
import type * as Schema from "effect/Schema"
import type * as Stream from "effect/Stream"
import type { Principal } from "../access/Principal.ts"
import type { Assistant } from "../assistants/Assistant.ts"
import type { InsufficientCredit } from "../metering/Metering.ts"
import type { Charge } from "../metering/Charge.ts"
import type { BeginCharge } from "../metering/PaidCall.ts"
import type { OwnTool } from "../models/ChatRequest.ts"
import type { ModelError } from "../models/ModelError.ts"
import type { ModelInfo } from "../models/ModelInfo.ts"
import type { StoreUnavailable } from "../primitives/StoreUnavailable.ts"
import type { Usage } from "../primitives/Usage.ts"
import type { RenderedMessage } from "../prompts/PromptMessages.ts"
import type { PromptPart } from "../prompts/PromptPart.ts"
import type { FollowUpOrder } from "../runs/FollowUp.ts"
import type { Thread } from "../threads/Thread.ts"
import type { ThreadSummary } from "../threads/ThreadSummary.ts"
import type { History, Message } from "../threads/Message.ts"
import type { HostedTool } from "../tools/HostedTool.ts"
import type { LiveTurn, PartEvent } from "../tools/LiveTurn.ts"
import type { Review } from "./Review.ts"
import type { Rewrite, TextSource } from "./Rewrite.ts"
import type { TurnRefused } from "./TurnErrors.ts"
import type { IgnoredOption } from "./IgnoredOption.ts"
import type { TurnRequest } from "./TurnRequest.ts"
import type { RecordedLeg } from "./TurnRecorder.ts"
import type { WantedOutput } from "./WantedOutput.ts"

/** A turn before any of it is stored. */
export interface TurnCase {
  readonly request: TurnRequest
  /** The request's options for this part (`TurnRequest.options`); undefined if there are none. */
  readonly options: Schema.Json | undefined
  readonly assistant: Assistant
  readonly thread: Thread
  /** The summary of the thread's oldest messages; null if there is none. */
  readonly summary: ThreadSummary | null
  readonly isNewThread: boolean
  /** False if neither the thread nor its assistant has a document. */
  readonly hasDocuments: boolean
  /** The user's text, including the words that parts heard. */
  readonly content: string
  /** The system prompt of this turn. */
  readonly system: string | null
  /**
   * The provider and model of this turn. `model` is null if the request names a provider without a model and that provider has no default.
   */
  readonly provider: string
  readonly model: string | null
  /** Null if no provider has a conversation model of that name. The turn is then refused, unless a part answers it. */
  readonly info: ModelInfo | null
  /**
   * Applies the `rewrite` steps of all parts to a text of the user. A part that keeps or tells such a text (what it heard) must give the text
   * to this function before; for texts of options there is `rewriteOptions`. Null: none of the parts rewrites.
   */
  readonly rewrite: Rewrite | null
}

/** What a part may do while it listens. Nothing is stored yet. */
export interface Listening {
  /** The first event begins the stream. A refusal after that ends the stream as a failed run. */
  readonly tell: (event: PartEvent) => void
  readonly spend: (charge: Charge) => void
  /** Notes a call that costs money before it is made. Its charges go to the turn, or to the ledger if the turn is refused. */
  readonly beginCharge: BeginCharge<StoreUnavailable>
}

/** The text that a part made from audio or another input that is not text. */
export interface Heard {
  /** Appended to the text that the user wrote. */
  readonly content: string
  /** Stored with the user's message. */
  readonly supplement?: Schema.Json
}

/** What a part will do in a turn, and what it keeps with the message. */
export interface PartDecision<Plan> {
  readonly plan: Plan
  /** Stored with the user's message. */
  readonly supplement?: Schema.Json
  /** Tokens that the supplement (pictures, audio) adds to the prompt. */
  readonly tokens?: number
  /** Options of the request that have no effect because of this part; for example `json_output`, when the part recalls excerpts. */
  readonly ignored?: ReadonlyArray<IgnoredOption>
  /** Set if this part answers (`answer`), with the model that it names. At most one part of a turn may answer. */
  readonly answers?: PartAnswerer
  /** True if the message may be without text, because the part has other input: a picture, a state. */
  readonly allowsEmptyContent?: boolean
  /**
   * Stored as the content of a user's message that has no text of its own: for example a state in words. It is rewritten, unless its part
   * has the step `rewriteOptions`. Refused beside a text, which only `rewrite` may change.
   */
  readonly content?: string
}

/** The provider and model under which a part's answer is recorded. */
export interface PartAnswerer {
  readonly provider: string
  readonly model: string
  /** Information on the model. It determines how much history is read. */
  readonly info?: ModelInfo
}

/** A text that a part gives in place of the model, with what it cost. */
export interface PartAnswer {
  readonly content: string
  /** Absent: the answer cost nothing. */
  readonly usage?: Usage
  /** The model that answered. Absent: the model of the decision. */
  readonly model?: string
  /**
   * Kept with the answer (`LiveTurn.keep`), but only if no review has changed or withheld any of `content`. What the step itself keeps and
   * tells is not reviewed.
   */
  readonly supplement?: Schema.Json
}

/** A picture, sound or clip in the answer of the conversation's model. */
export interface ModelMedia {
  /** As the provider states it. It is not verified. */
  readonly mediaType: string
  readonly bytes: Uint8Array
}

/** A page that the conversation's model cites, found by its vendor's own search. */
export interface ModelSource {
  readonly url: string
  readonly title: string | null
}

/** What one answer of the conversation's model contains besides words. */
export interface ModelOutput {
  /** Empty once a part before this one has kept any of them. */
  readonly media: ReadonlyArray<ModelMedia>
  readonly sources: ReadonlyArray<ModelSource>
}

/** What a part is told before an answer is stored: its log, its status, and what the part kept with it. Here it may order follow-ups. */
export interface SettledLeg {
  readonly leg: RecordedLeg
  readonly status: "COMPLETED" | "REQUIRES_ACTION" | "FAILED" | "CANCELLED"
  readonly threadId: LiveTurn["threadId"]
  readonly assistantId: LiveTurn["assistantId"]
  readonly runId: LiveTurn["runId"]
  /** How many of the thread's oldest messages the last prompt left out, or the next one is likely to leave out. */
  readonly historyLeavingSoon: number
  /** The value that this part kept with the answer. */
  readonly kept: Schema.Json | null
}

/** A message that is only saved. No model is called, and the run is settled when the message is stored. */
export interface SavedMessage {
  readonly status: "SAVED"
  readonly message: Pick<Message, "id" | "content">
  readonly threadId: LiveTurn["threadId"]
  readonly assistantId: LiveTurn["assistantId"]
  readonly runId: LiveTurn["runId"]
}

/** The model for which a message is rendered. */
export interface Reading {
  readonly info: ModelInfo
  /** Bytes of media that the prompt can still hold. The newest messages are rendered first. */
  readonly room: number
}

/**
 * What a model reads of a message besides its text: `content` follows the text, `before` and `after` are messages of their own. Every tool
 * call in a list has its output later in the same list.
 */
export type Rendering = Partial<RenderedMessage>

/** How a part joins a voice session. Nobody has spoken yet: it gives the model instructions beforehand, or a tool that is called later. */
export interface SessionShare {
  readonly tools: ReadonlyArray<HostedTool>
  /** Appended to the assistant's instructions. */
  readonly instructions: string | null
  /** Pure. The follow-ups are stored with the messages of the exchange. */
  readonly followUps?: (exchange: SessionExchange) => ReadonlyArray<FollowUpOrder>
}

/** What was said in a voice session up to the end of an answer. */
export interface SessionExchange {
  readonly threadId: LiveTurn["threadId"]
  readonly assistantId: LiveTurn["assistantId"]
  /** Identifies this exchange. No run has this id. */
  readonly id: LiveTurn["runId"]
  readonly messageIds: ReadonlyArray<Message["id"]>
}

/**
 * A part of a turn. A step of `rewrite`, `rewriteOptions`, `refuse`, `listen` or `decide` that has a defect or takes too long stops the turn
 * before anything is stored. A later step with a defect or a timeout is left out of the turn, with an error in the server's log. Four steps are
 * never left out: what `rewrite` and `review` could not check is withheld, and where `answer` or `output` fails, the run fails.
 */
export interface TurnPart<Plan> {
  /** The key of the part's slice of the plan, of the explanation and of a message's supplements. */
  readonly name: string
  /** A plan MUST be read again as it was stored, and so MUST supplements. */
  readonly plan: Schema.Codec<Plan, Schema.Json>
  /**
   * Time limits of steps that wait by design; a part that lets its host set such a time states it here. Absent: `listenTimeout` and
   * `decideTimeout` of `TurnSettings`.
   */
  readonly limits?: { readonly listen?: Duration.Input; readonly decide?: Duration.Input }
  /**
   * Called first, without effects, with the message as written, the assistant and the thread. False if the part has nothing to do: `decide`
   * MUST then be null. `rewrite`, `rewriteOptions`, `refuse`, `listen` and `decide` are not called in such a turn, so a part that is installed but
   * not used costs only this call. Absent: these are called in every turn.
   */
  readonly concerns?: (turn: TurnCase) => boolean
  /**
   * Pure: the options of this part when the message is sent again, with the text that it got the first time; undefined: none. Absent: the
   * same options. A part that listens leaves out what it has heard.
   */
  readonly again?: (options: Schema.Json) => Schema.Json | undefined
  /**
   * 2 listen: changes a text before it is stored, before any other step of any part reads it, and before the model does. Called for the
   * text of a message, for each text that a part heard, and, when the part takes part in the run, for outputs of tools and recalled
   * excerpts. Several parts rewrite in the order of their names, each what the one before it returned. Stored text is never rewritten again.
   */
  readonly rewrite?: (
    text: string,
    source: TextSource
  ) => Effect.Effect<string, TurnRefused | InsufficientCredit | StoreUnavailable, Principal>
  /**
   * 2 listen: the options of this part, any JSON, with their texts rewritten. Called before any other step gets them, if a part of the turn
   * rewrites. Only these are stored, to ask for the same again. Absent: the options have no text of a user.
   */
  readonly rewriteOptions?: (
    options: Schema.Json,
    rewrite: Rewrite
  ) => Effect.Effect<Schema.Json, TurnRefused | InsufficientCredit | StoreUnavailable, Principal>
  /** Called before any part listens, for refusals that need no listening: listening costs money and begins the stream. */
  readonly refuse?: (
    turn: TurnCase
  ) => Effect.Effect<void, TurnRefused | InsufficientCredit | StoreUnavailable, Principal>
  /** 2 listen: called if the request has options for this part, before anything is stored. */
  readonly listen?: (
    turn: TurnCase,
    listening: Listening
  ) => Effect.Effect<Heard | null, TurnRefused | InsufficientCredit | StoreUnavailable, Principal>
  /**
   * 3 decide. Null if the part has nothing to do in this turn; then the later steps that get a plan are not called. `decide` is called again
   * for the same message when the assistant or the thread has changed since they were read, so it MUST NOT have effects. Options that the
   * part cannot read MUST be refused or left, here or in `refuse`; no options and no text are a reason for a defect.
   */
  readonly decide: (
    turn: TurnCase
  ) => Effect.Effect<PartDecision<Plan> | null, TurnRefused | InsufficientCredit | StoreUnavailable, Principal>
  /**
   * 5 recall: called in the first leg, in parallel with the other parts. A recall that fails or is late is left out, with a note. What it
   * returns MUST have a weight above 0 and each name once.
   */
  readonly recall?: (
    plan: Plan,
    turn: LiveTurn,
    history: History
  ) => Effect.Effect<ReadonlyArray<PromptPart>, unknown, Principal>
  /**
   * 5 recall: what the model reads of this part's supplement of a user's message, also in later turns: pictures, or a conversation that the
   * client sent with its message. `tokens` of the decision must include its size. The same input MUST give the same output.
   */
  readonly render?: (
    supplement: Schema.Json,
    message: Message,
    reading: Reading
  ) => Effect.Effect<Rendering, never, Principal>
  /**
   * 7 converse: tools for the model. A name is a tool that the model's vendor runs itself. Also called in step 3, for the names. It MUST NOT
   * have effects.
   */
  readonly tools?: (plan: Plan) => ReadonlyArray<HostedTool | OwnTool>
  /**
   * 7 converse: what runs in this turn in the place of a tool that the kernel runs, of the host or of another part; it has the same definition.
   * The tool itself: nothing changes. Absent: no tool is replaced.
   */
  readonly replaceTool?: (plan: Plan, tool: HostedTool) => HostedTool
  /**
   * 7 converse: gets the media and sources of one answer of the conversation's model, in every turn, planned or not. `true`: some of the
   * media were kept. `false`: media came, and none of them could be kept. Undefined: this part keeps no media.
   */
  readonly receive?: (output: ModelOutput, turn: LiveTurn) => Effect.Effect<boolean | undefined, never, Principal>
  /**
   * 7 converse: the plan of this part when another assistant goes on with the turn; `isOwn`, when it is the thread's own. Absent: the plan
   * stays as it was. It must not have effects.
   */
  readonly handOver?: (assistant: Assistant, isOwn: boolean) => Plan
  /**
   * 7 converse: the answer has to be one JSON value. Of the parts of a turn, the first one by name with this step decides. It must not have
   * effects.
   */
  readonly output?: (plan: Plan) => WantedOutput
  /**
   * 5 to 7: answers instead of the model, if `decide` said so: a part that says so MUST have this step, and answer with words or fail. The
   * `usage` of an error is charged. A part that recalls texts here gives each to `LiveTurn.rewriting` before a model reads it.
   */
  readonly answer?: (plan: Plan, turn: LiveTurn, history: History) => Effect.Effect<PartAnswer, ModelError, Principal>
  /**
   * 7 converse: reviews the answer, a model's or a part's, before anybody reads it: the stream, the log, parts that speak, the client's
   * tools, the stored message. Called once for a leg, and again when another assistant goes on with it. Several parts review in the order of their names, each what the one before it let
   * pass. A call is told when its arguments have passed; calls that were told before the review ended the answer get the result that they were
   * not run. A review that fails or exceeds `TurnSettings.reviewTimeout` ends the run as `review_failed`, so it MUST judge any text without a
   * defect. A model's reasoning is not shown.
   */
  readonly review?: (plan: Plan, turn: LiveTurn) => Review
  /**
   * Hears the text of the answer while it is written. It MUST end when the words end, also where there are none: the leg waits for it between
   * the last word and the terminal event, for as long as `TurnSettings.speakTimeout` allows.
   */
  readonly speak?: (plan: Plan, turn: LiveTurn, words: Stream.Stream<string>) => Effect.Effect<void, never, Principal>
  /**
   * 8 settle: it MUST be pure, and its payloads JSON. The follow-ups are stored in the settlement's transaction. Also called for a message that is only saved (status `SAVED`);
   * its follow-ups are stored with the message.
   */
  readonly followUps?: (plan: Plan, ended: SettledLeg | SavedMessage) => ReadonlyArray<FollowUpOrder>
  /**
   * Called in a voice session, instead of all other steps but `decide`. A part with this step is asked to decide in every session. A part
   * without it is asked only when the client selects it, and then joins only with its tools. Voice sessions are refused while a part that
   * rewrites or reviews has no such step: nothing can be held back there.
   */
  readonly session?: (
    plan: Plan,
    assistantId: LiveTurn["assistantId"]
  ) => Effect.Effect<SessionShare, StoreUnavailable, Principal>
}
