/**
 * A leg of a run: its plan, decided once, and its state so far. A leg contains everything that its steps need except the history, which
 * they get when the thread is free.
 */
import type * as Redacted from "effect/Redacted"
import type { ChatDriver } from "../models/ChatDriver.ts"
import type { ModelInfo } from "../models/ModelInfo.ts"
import type { Provider } from "../models/Provider.ts"
import type { TokenCounterPort } from "../models/TokenCounter.ts"
import type { AssistantId, MessageId } from "../primitives/Ids.ts"
import type { Explanation } from "../prompts/Explanation.ts"
import { type Preamble, makePreamble, type Room, roomFor } from "../prompts/PromptAssembly.ts"
import { LogTail } from "../runs/LogTail.ts"
import type { RunLog } from "../runs/RunLog.ts"
import type { Lease } from "../runs/LogRecords.ts"
import { fixedTools, type HostedTool, hostToolsName, withoutTaken } from "../tools/HostedTool.ts"
import type { CallShare, ChildOf } from "../tools/LiveTurn.ts"
import type { OpenCall, ToolResult } from "../tools/ToolCall.ts"
import { LiveWindow } from "./LiveWindow.ts"
import type { TurnBudget } from "./TurnBudget.ts"
import type { PlannedPart } from "./RegisteredPart.ts"
import { isKept, type TurnEvent } from "./TurnEvent.ts"
import type { TurnPlan } from "./TurnPlan.ts"
import type { TurnSettings } from "./TurnSettings.ts"

/** Answers the turn: a conversation model or, when `chat` is null, a part of the turn. */
export interface Answerer {
  readonly provider: string
  readonly model: string
  readonly info: ModelInfo
  readonly chat: ChatDriver | null
  readonly wire: Provider["wire"]
}

/** A tool that the kernel runs, with the part that offers it. */
export interface OfferedTool {
  readonly tool: HostedTool
  readonly part: string
}

/** What follows from the plan of a leg. It is computed when the turn is decided or resumed, and then passed on. */
export interface PlannedLeg {
  readonly plan: TurnPlan
  readonly model: Answerer
  /** The parts that take part in this run. */
  readonly parts: ReadonlyArray<PlannedPart>
  readonly hosted: ReadonlyMap<string, OfferedTool>
  readonly preamble: Preamble
  readonly room: Room
}

/** The tools of a plan that the kernel runs, by name: first those of its parts, then the host's own. */
export const offeredTools = (
  plan: TurnPlan,
  parts: ReadonlyArray<PlannedPart>,
  toolsOfHost: ReadonlyArray<HostedTool>
): ReadonlyMap<string, OfferedTool> => {
  if (plan.hosted.length === 0) return noTools
  const fixed = fixedTools(parts.flatMap(({ tools }) => tools))
  const partTools = parts.flatMap(({ name, tools }) => withoutTaken(tools, fixed).map((tool) => ({ tool, part: name })))
  const names = partTools.map(({ tool }) => tool.definition)
  const all = [...partTools, ...withoutTaken(toolsOfHost, names).map((tool) => ({ tool, part: hostToolsName }))]
  return new Map(
    all
      .filter(({ tool }) => plan.hosted.includes(tool.definition.name))
      .map(({ part, tool }) => [
        tool.definition.name,
        { part, tool: parts.reduce((each, { replaceTool }) => replaceTool(each), tool) }
      ])
  )
}

const noTools: ReadonlyMap<string, OfferedTool> = new Map()

/** All tools that the model is offered: first those that the kernel runs, then the client's. */
export const toolsForModel = (plan: TurnPlan, hosted: ReadonlyMap<string, OfferedTool>) => [
  ...[...hosted.values()].map(({ tool }) => tool.definition),
  ...plan.tools
]

export const planLeg = (
  { model, parts, plan }: Pick<PlannedLeg, "plan" | "model" | "parts">,
  toolsOfHost: ReadonlyArray<HostedTool>,
  { assumedContextLimit, counter }: { readonly counter: TokenCounterPort; readonly assumedContextLimit: number }
): PlannedLeg => {
  const hosted = offeredTools(plan, parts, toolsOfHost)
  const preamble = makePreamble(plan.system, toolsForModel(plan, hosted), counter)
  return { plan, model, parts, hosted, preamble, room: roomFor(model.info, assumedContextLimit) }
}

export interface NewLeg extends PlannedLeg {
  readonly lease: Lease
  readonly assistantId: AssistantId
  readonly answerId: MessageId
  /** 0 for the first leg of the run. */
  readonly number: number
  readonly stream: boolean
  readonly apiKey: Redacted.Redacted<string> | null
  readonly log: RunLog<TurnEvent>
  /**
   * The event with which the leg begins. It enters the log when the run's turn has come, so that followers see a waiting message, and no
   * beginning before there is one.
   */
  readonly first: TurnEvent
  /** The calls that were answered before this leg; absent in the first one. Results that are pending are of calls to run first. */
  readonly answered?: { readonly calls: ReadonlyArray<OpenCall>; readonly results: ReadonlyArray<ToolResult> }
  /** Null: nothing limits what the leg uses. */
  readonly budget: TurnBudget | null
  /** Absent: no tool of another turn began this run. */
  readonly child?: ChildOf | undefined
}

/** The fields of a leg that change when another assistant goes on with it. */
export type HandedTo = PlannedLeg & Pick<NewLeg, "assistantId" | "apiKey">

type Changing<Fields> = { -readonly [Name in keyof Fields]: Fields[Name] }

export interface Leg extends Omit<NewLeg, keyof HandedTo>, Changing<HandedTo> {
  /** Set when a tool has handed the conversation over. The leg goes on with it after the tools of this step. */
  next: HandedTo | null
  readonly tail: LogTail<TurnEvent>
  readonly liveEvents: LiveWindow
  /** The explanation of the last prompt. It is stored with the settlement. */
  explanation: Explanation | null
  /** How many of the oldest messages the next prompt leaves out, as the last one knew. */
  leavingSoon: number
  /** How many turns stand above this one. */
  readonly depth: number
  /** The model calls that are left. Null: none of its tools has begun a run, and none began this run. */
  calls: CallShare | null
  /** True once the terminal event is the only event that may still be added to the log. */
  hasEnded: boolean
}

type Beginning = Pick<NewLeg, "first" | "log">

/** Whether the leg had its turn. A run that is cancelled while it waits ends without a beginning. */
export const hasBegun = ({ first, log }: Beginning): boolean => log.nextSequence > first.sequence

/** Pushes the first event of a leg, once. */
export const pushFirst = (leg: Beginning): void => {
  if (!hasBegun(leg)) leg.log.push(() => leg.first)
}

/** The number of the last event. That of the beginning stays free: the store may have begun the run, and its answer was lost. */
export const lastSequence = ({ first, log }: Beginning): number => Math.max(log.nextSequence, first.sequence + 1)

/** `stored` is the number of events of the log that the store already has. */
export const beginLeg = (leg: NewLeg, stored: number, settings: TurnSettings): Leg => ({
  ...leg,
  tail: new LogTail(leg.log, stored, leg.stream ? settings.streamedLog : settings.unwatchedLog, isKept),
  liveEvents: new LiveWindow(leg.log),
  explanation: null,
  leavingSoon: 0,
  next: null,
  depth: leg.plan.parent?.depth ?? 0,
  calls: leg.child?.calls ?? null,
  hasEnded: false
})
