/**
 * How a room joins a turn without the turn knowing it. A part is a name, a schema for what it plans, and the steps that it needs; `Turns`
 * and `RunLeg` call those steps in the order in which they stand here. Documents, memory, answers, media and voice are parts, and so is
 * whatever a host writes: a guardrail, a search of its own, an audit.
 *
 * The plan of a part is stored with the run, so that the next leg, in whatever process and version, goes on with it. A plan that this
 * version cannot read switches the part off for that run; it never breaks the run.
 */
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import type * as Stream from "effect/Stream"
import type { Principal } from "../access/Principal.ts"
import type { Assistant } from "../assistants/Assistant.ts"
import type { InsufficientCredit } from "../metering/Metering.ts"
import type { Charge } from "../metering/Charge.ts"
import type { ChatMessage, ContentPart, OwnTool } from "../models/ChatRequest.ts"
import type { ModelError } from "../models/ModelError.ts"
import type { ModelInfo } from "../models/ModelInfo.ts"
import type { StoreUnavailable } from "../primitives/StoreUnavailable.ts"
import type { Usage } from "../primitives/Usage.ts"
import type { PromptPart } from "../prompts/PromptPart.ts"
import type { Thread } from "../threads/Thread.ts"
import type { ThreadSummary } from "../threads/ThreadSummary.ts"
import type { History, Message } from "../threads/Message.ts"
import type { HostedTool } from "../tools/HostedTool.ts"
import type { LiveTurn, PartEvent } from "../tools/LiveTurn.ts"
import type { TurnRefused } from "./TurnErrors.ts"
import type { IgnoredOption } from "./TurnPlan.ts"
import type { TurnRequest } from "./TurnRequest.ts"
import type { RecordedLeg } from "./TurnRecorder.ts"

/** A turn before anything of it is stored. */
export interface TurnCase {
  readonly request: TurnRequest
  /** What the request says to this part (`TurnRequest.options`); undefined when it says nothing. */
  readonly options: Schema.Json | undefined
  readonly assistant: Assistant
  readonly thread: Thread
  /** Of the thread's oldest messages; null: there is none. */
  readonly summary: ThreadSummary | null
  readonly isNewThread: boolean
  /** False: neither the thread nor its assistant has a document. */
  readonly hasDocuments: boolean
  /** What the user says, heard words included. */
  readonly content: string
  /** The system prompt of this turn. */
  readonly system: string | null
  /** Which model is asked for; null: the provider was named without one, and has none of its own. */
  readonly provider: string
  readonly model: string | null
  /** Null: no provider has a conversation model for that name. The turn is then refused, unless a part answers it. */
  readonly info: ModelInfo | null
}

/** What may be done while a part listens: nothing is stored yet. */
export interface Listening {
  /** The stream begins with the first event that is told. A refusal after it ends the stream as a failed run. */
  readonly tell: (event: PartEvent) => void
  readonly spend: (charge: Charge) => void
}

/** What a part made of something that is not text. */
export interface Heard {
  /** Joined to what the user wrote, behind it. */
  readonly content: string
  /** Kept with the user's message. */
  readonly supplement?: Schema.Json
}

export interface PartDecision<Plan> {
  readonly plan: Plan
  /** Kept with the user's message. */
  readonly supplement?: Schema.Json
  /** What the supplement adds to the prompt (pictures, audio), in tokens. */
  readonly tokens?: number
  /** Options of the request that have no effect because of this part: `json_output` where it brings material. */
  readonly ignored?: ReadonlyArray<IgnoredOption>
  /** This part answers (`answer`), by this model. At most one part of a turn may. */
  readonly answers?: PartAnswerer
  /** The message has no text, and that is right: a picture, a state. */
  readonly allowsEmptyContent?: boolean
  /** Stored as the user's message when that has no text of its own: a state, written out. */
  readonly content?: string
}

/** As which model a part answers. */
export interface PartAnswerer {
  readonly provider: string
  readonly model: string
  /** What is known of the model: how much history is read for it depends on that. */
  readonly info?: ModelInfo
}

/** What a part that answers gives. */
export interface PartAnswer {
  readonly content: string
  /** Absent: the answer cost nothing. */
  readonly usage?: Usage
  /** The model that answered. Absent: the one that was decided. */
  readonly model?: string
}

/** A picture, sound or clip that the conversation's model made by itself. */
export interface ModelMedia {
  /** As the provider names it: a word, and no proof. */
  readonly mediaType: string
  readonly bytes: Uint8Array
}

/** A page that the conversation's model cites, found by its vendor's own search. */
export interface ModelSource {
  readonly url: string
  readonly title: string | null
}

/** A leg that is about to be settled. */
export interface SettledLeg {
  readonly leg: RecordedLeg
  readonly status: "COMPLETED" | "REQUIRES_ACTION" | "FAILED" | "CANCELLED"
  readonly threadId: LiveTurn["threadId"]
  readonly assistantId: LiveTurn["assistantId"]
  readonly runId: LiveTurn["runId"]
  /** How many of the thread's oldest messages the last prompt did not hold. */
  readonly historyLeftOut: number
  /** What this part kept with the answer. */
  readonly kept: Schema.Json | null
}

/** A message that is only saved: no model is asked, and it is settled when it is stored. */
export interface SavedMessage {
  readonly message: Pick<Message, "id" | "content" | "threadId">
  readonly assistantId: LiveTurn["assistantId"]
  readonly runId: LiveTurn["runId"]
}

/** For which model a message is rendered. */
export interface Reading {
  readonly info: ModelInfo
  /** Bytes of media that the prompt may still take. The newest messages are rendered first. */
  readonly room: number
}

/** Messages that a model reads around a user's message. Every call in them has its output in the same list, behind it. */
export interface Surroundings {
  readonly before: ReadonlyArray<ChatMessage>
  readonly after: ReadonlyArray<ChatMessage>
}

/** The kernel gives it an id and a time, and stores it with the settlement. */
export interface FollowUpOrder {
  readonly kind: string
  readonly key: string
  readonly payload: Schema.Json
  readonly sequence?: string
  readonly delayMillis?: number
}

/** How a part joins a voice session: nobody has said anything yet, so the model reads what it should know beforehand, or asks by a tool. */
export interface SessionShare {
  readonly tools: ReadonlyArray<HostedTool>
  /** Stands behind the assistant's instructions. */
  readonly instructions: string | null
  /** Pure; stored with the messages of the exchange. */
  readonly followUps?: (exchange: SessionExchange) => ReadonlyArray<FollowUpOrder>
}

/** What was said in a voice session up to the end of an answer. */
export interface SessionExchange {
  readonly threadId: LiveTurn["threadId"]
  readonly assistantId: LiveTurn["assistantId"]
  /** Names this exchange; there is no run of that name. */
  readonly id: LiveTurn["runId"]
  readonly messageIds: ReadonlyArray<Message["id"]>
}

/** A fault in a step, or one that takes too long, stops the turn before anything is stored (`refuse`, `listen`, `decide`); after that the part is left out, with an error in the log. */
export interface TurnPart<Plan> {
  /** Names its slice of the plan, of the explanation and of a message's supplements. */
  readonly name: string
  readonly plan: Schema.Codec<Plan, Schema.Json>
  /** How long a step may take that waits by design, as long as the part's own settings say. Absent: `listenTimeout` and `decideTimeout` of `TurnSettings`. */
  readonly limits?: { readonly listen?: Duration.Input; readonly decide?: Duration.Input }
  /**
   * First of all, without effects: false where the message as it was written, the assistant and the thread leave this part nothing to do.
   * None of its next three steps is asked then, so a part that is installed and not used costs a turn this look. Absent: it is asked in every turn.
   */
  readonly concerns?: (turn: TurnCase) => boolean
  /** Before any part listens: what can be refused at a look. Hearing costs money and begins the stream. */
  readonly refuse?: (
    turn: TurnCase
  ) => Effect.Effect<void, TurnRefused | InsufficientCredit | StoreUnavailable, Principal>
  /** 2 listen, where the request says something to this part (`options`). Before anything is stored. */
  readonly listen?: (
    turn: TurnCase,
    listening: Listening
  ) => Effect.Effect<Heard | null, TurnRefused | InsufficientCredit | StoreUnavailable, Principal>
  /**
   * 3 decide. Null: nothing to do in this turn; the part then costs nothing more. Asked once more for the same message when the assistant or the
   * thread has changed since they were read, so that it must do nothing but decide.
   */
  readonly decide: (
    turn: TurnCase
  ) => Effect.Effect<PartDecision<Plan> | null, TurnRefused | InsufficientCredit | StoreUnavailable, Principal>
  /** 5 recall, in the first leg, side by side with the other parts. What fails or is late is left out, with a note. */
  readonly recall?: (
    plan: Plan,
    turn: LiveTurn,
    history: History
  ) => Effect.Effect<ReadonlyArray<PromptPart>, unknown, Principal>
  /** 5 recall: what a model reads of this part's supplement of a user's message besides its text, also in later turns. Equal for equal input. */
  readonly render?: (
    supplement: Schema.Json,
    message: Message,
    reading: Reading
  ) => Effect.Effect<ReadonlyArray<ContentPart>, never, Principal>
  /**
   * 5 recall: a conversation that the client brought with its message, as messages of their own around it, also in later turns. Its size
   * is told with the decision (`tokens`). Equal for equal input.
   */
  readonly surround?: (
    supplement: Schema.Json,
    message: Message,
    reading: Reading
  ) => Effect.Effect<Surroundings, never, Principal>
  /** 7 converse. Also asked in step 3, for the names. Without effects. */
  readonly tools?: (plan: Plan) => ReadonlyArray<HostedTool>
  /** 7 converse: what the conversation's model shall do by itself, on its vendor's side. */
  readonly ownTools?: (plan: Plan) => ReadonlyArray<OwnTool>
  /**
   * 7 converse: what the conversation's model made by itself in one step, in every turn, planned or not. Answers whether any of it was
   * kept. At most one part of a kernel takes media.
   */
  readonly receiveMedia?: (media: ReadonlyArray<ModelMedia>, turn: LiveTurn) => Effect.Effect<boolean, never, Principal>
  /** 7 converse: what it cited, in the same way. */
  readonly receiveSources?: (sources: ReadonlyArray<ModelSource>, turn: LiveTurn) => void
  /** 5 to 7 instead of the model, when `decide` said so. An error's `usage` is charged. */
  readonly answer?: (plan: Plan, turn: LiveTurn, history: History) => Effect.Effect<PartAnswer, ModelError, Principal>
  /**
   * Hears the text of the answer while it is written; the leg waits for it between the last word and the terminal event, for as long as
   * `TurnSettings.speakTimeout` allows.
   */
  readonly speak?: (plan: Plan, turn: LiveTurn, words: Stream.Stream<string>) => Effect.Effect<void, never, Principal>
  /** 8 settle. Pure; stored in the settlement's transaction. */
  readonly followUps?: (plan: Plan, settled: SettledLeg) => ReadonlyArray<FollowUpOrder>
  /** The same for a message that is only saved. */
  readonly followUpsOfSaved?: (plan: Plan, saved: SavedMessage) => ReadonlyArray<FollowUpOrder>
  /**
   * In the place of all steps but `decide`, in a voice session. A part with this step is asked in every session, one without it only where
   * the client selects it; then it joins with its tools.
   */
  readonly session?: (
    plan: Plan,
    assistantId: LiveTurn["assistantId"]
  ) => Effect.Effect<SessionShare, StoreUnavailable, Principal>
}

/** The steps of a part, with its plan of one run. */
export interface PlannedPart {
  readonly name: string
  readonly recall?: (turn: LiveTurn, history: History) => Effect.Effect<ReadonlyArray<PromptPart>, unknown, Principal>
  readonly tools: ReadonlyArray<HostedTool>
  readonly ownTools: ReadonlyArray<OwnTool>
  readonly answer?: (turn: LiveTurn, history: History) => Effect.Effect<PartAnswer, ModelError, Principal>
  readonly speak?: (turn: LiveTurn, words: Stream.Stream<string>) => Effect.Effect<void, never, Principal>
  readonly followUps: (settled: SettledLeg) => ReadonlyArray<FollowUpOrder>
  readonly followUpsOfSaved: (saved: SavedMessage) => ReadonlyArray<FollowUpOrder>
  readonly session?: (assistantId: LiveTurn["assistantId"]) => Effect.Effect<SessionShare, StoreUnavailable, Principal>
}

/** A part as turns see it: what it plans is JSON for everybody else. */
export interface RegisteredPart {
  readonly name: string
  readonly concerns?: TurnPart<never>["concerns"]
  readonly refuse?: TurnPart<never>["refuse"]
  readonly listen?: TurnPart<never>["listen"]
  readonly decide: (
    turn: TurnCase
  ) => Effect.Effect<PartDecision<Schema.Json> | null, TurnRefused | InsufficientCredit | StoreUnavailable, Principal>
  readonly render?: TurnPart<never>["render"]
  readonly surround?: TurnPart<never>["surround"]
  readonly receiveMedia?: TurnPart<never>["receiveMedia"]
  readonly receiveSources?: TurnPart<never>["receiveSources"]
  readonly joinsSessions: boolean
  /** Null when this version cannot read the plan. */
  readonly planned: (plan: Schema.Json) => PlannedPart | null
}

/** Binds a part's steps to its plan, and hides the plan's type behind its schema. */
export const registeredPart = <Plan>(part: TurnPart<Plan>): RegisteredPart => {
  const decode = Schema.decodeUnknownOption(part.plan)
  const encode = Schema.encodeEffect(part.plan)
  const {
    answer,
    concerns,
    decide,
    listen,
    name,
    recall,
    refuse,
    receiveMedia,
    receiveSources,
    render,
    session,
    speak,
    surround
  } = part
  return {
    name,
    joinsSessions: session !== undefined,
    ...(concerns === undefined ? {} : { concerns }),
    ...(refuse === undefined ? {} : { refuse }),
    ...(listen === undefined ? {} : { listen }),
    ...(render === undefined ? {} : { render }),
    ...(surround === undefined ? {} : { surround }),
    ...(receiveMedia === undefined ? {} : { receiveMedia }),
    ...(receiveSources === undefined ? {} : { receiveSources }),
    decide: Effect.fnUntraced(function* (turn) {
      const decision = yield* decide(turn)
      if (decision === null) return null
      return { ...decision, plan: yield* Effect.orDie(encode(decision.plan)) }
    }),
    planned: (stored) => {
      const decoded = decode(stored)
      if (Option.isNone(decoded)) return null
      const plan = decoded.value
      return {
        name,
        tools: part.tools?.(plan) ?? [],
        ownTools: part.ownTools?.(plan) ?? [],
        followUps: (settled) => part.followUps?.(plan, settled) ?? [],
        followUpsOfSaved: (saved) => part.followUpsOfSaved?.(plan, saved) ?? [],
        ...(recall === undefined ? {} : { recall: (turn, history) => recall(plan, turn, history) }),
        ...(answer === undefined ? {} : { answer: (turn, history) => answer(plan, turn, history) }),
        ...(speak === undefined ? {} : { speak: (turn, words) => speak(plan, turn, words) }),
        ...(session === undefined ? {} : { session: (assistantId) => session(plan, assistantId) })
      }
    }
  }
}
