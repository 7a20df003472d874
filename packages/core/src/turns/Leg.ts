/** Everything that a leg works with, but for the history, which it gets when its turn has come. */
import type * as Redacted from "effect/Redacted"
import type { MeteringPort } from "../metering/Metering.ts"
import type { ChatDriver } from "../models/ChatDriver.ts"
import type { ModelInfo } from "../models/ModelInfo.ts"
import type { Provider } from "../models/Provider.ts"
import type { TokenCounterPort } from "../models/TokenCounter.ts"
import type { Deadlines } from "../primitives/Deadlines.ts"
import type { AssistantId, MessageId } from "../primitives/Ids.ts"
import type { Explanation } from "../prompts/Explanation.ts"
import { LogTail } from "../runs/LogTail.ts"
import type { RunLog } from "../runs/RunLog.ts"
import type { Lease } from "../runs/RunStore.ts"
import type { ThreadStore } from "../threads/ThreadStore.ts"
import type { HostedTool } from "../tools/HostedTool.ts"
import { LiveWindow } from "./LiveWindow.ts"
import { plannedParts } from "./PartDecisions.ts"
import type { PlannedPart, RegisteredPart } from "./TurnPart.ts"
import { isKept, type TurnEvent } from "./TurnEvent.ts"
import type { TurnPlan } from "./TurnPlan.ts"
import type { TurnSettings } from "./TurnSettings.ts"

/** Who answers: a conversation model, or (`chat` is null) a part of the turn. */
export interface Answerer {
  readonly provider: string
  readonly model: string
  readonly info: ModelInfo
  readonly chat: ChatDriver | null
  readonly wire: Provider["wire"]
}

/** A tool that the kernel runs, and the part whose tool it is. */
export interface OfferedTool {
  readonly tool: HostedTool
  readonly part: string
}

/** What all legs of a kernel share. */
export interface LegKernel {
  readonly counter: TokenCounterPort
  readonly settings: TurnSettings
  readonly deadlines: Deadlines
  readonly metering: MeteringPort
  readonly threads: typeof ThreadStore.Service
  /** The host's own tools. */
  readonly hosted: () => ReadonlyArray<HostedTool>
  readonly parts: () => ReadonlyArray<RegisteredPart>
}

export interface NewLeg {
  readonly lease: Lease
  readonly assistantId: AssistantId
  readonly answerId: MessageId
  /** 0 for the first leg of the run. */
  readonly number: number
  readonly stream: boolean
  readonly plan: TurnPlan
  readonly model: Answerer
  readonly apiKey: Redacted.Redacted<string> | null
  readonly log: RunLog<TurnEvent>
}

export interface Leg extends NewLeg, Omit<LegKernel, "hosted" | "parts"> {
  /** The parts that have something to do in this run. */
  readonly parts: ReadonlyArray<PlannedPart>
  /** All parts of the kernel, for what they kept with earlier messages. */
  readonly registered: ReadonlyArray<RegisteredPart>
  readonly hosted: ReadonlyMap<string, OfferedTool>
  readonly tail: LogTail<TurnEvent>
  readonly liveNews: LiveWindow
  /** The last prompt's explanation, for the settlement. */
  explanation: Explanation | null
  /** Nothing more comes into the log but the terminal event. */
  hasEnded: boolean
}

/** Tools of the host say what they say under this name. */
const hostPart = "tools"

/** `stored`: so many events of its log are in the store already. */
export const makeLeg = (kernel: LegKernel, leg: NewLeg, stored: number): Leg => {
  const { counter, deadlines, metering, settings, threads } = kernel
  const registered = kernel.parts()
  const parts = plannedParts(registered, leg.plan.parts ?? {})
  const tools = [
    ...parts.flatMap(({ name, tools: ofPart }) => ofPart.map((tool) => ({ tool, part: name }))),
    ...kernel.hosted().map((tool) => ({ tool, part: hostPart }))
  ]
  return {
    ...leg,
    counter,
    deadlines,
    metering,
    settings,
    threads,
    parts,
    registered,
    hosted: new Map(
      tools
        .filter(({ tool }) => leg.plan.hosted.includes(tool.definition.name))
        .map((offered) => [offered.tool.definition.name, offered])
    ),
    tail: new LogTail(leg.log, stored, leg.stream ? settings.streamedLog : settings.unwatchedLog, isKept),
    liveNews: new LiveWindow(leg.log),
    explanation: null,
    hasEnded: false
  }
}
