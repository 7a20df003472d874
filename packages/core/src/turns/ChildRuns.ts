/**
 * Runs that a tool of a turn begins on other threads as a part of this turn: what such a run knows of the turn above it, and what that turn
 * keeps of it. Their usage is part of the turn's usage; their charges are their own. Pure, but for the count of model calls.
 */
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import { AssistantId, RunId, ThreadId } from "../primitives/Ids.ts"
import { addUsage, Usage } from "../primitives/Usage.ts"
import { RunStatus } from "../runs/Run.ts"
import type { Message, RunFault } from "../threads/Message.ts"
import { readSupplement } from "../threads/Supplement.ts"
import type { CallShare } from "../tools/LiveTurn.ts"

/** How many turns may stand above one. */
export const mostDepth = 4

/** Of a turn with all the runs that its tools begin. */
export const mostModelCalls = 64

/** The part whose tools begin runs. What a turn keeps of them stands with its answer under this name. */
export const childrenKey = "helpers"

/** The run of a helper that a call began. */
export const ChildRun = Schema.Struct({
  toolCallId: Schema.String,
  name: Schema.String,
  runId: RunId,
  threadId: ThreadId,
  assistantId: AssistantId,
  /** Null until it has ended. */
  status: Schema.NullOr(RunStatus),
  /** Includes the usage of its own children. Null until it has ended. */
  usage: Schema.NullOr(Usage),
  /** At most so many. */
  modelCalls: Schema.Int
})
export type ChildRun = typeof ChildRun.Type

/**
 * The model calls of a turn, counted with all the runs that its tools begin. Each of these runs holds one for its next call, so a run
 * that takes the last free one is asked without tools, and every run can answer, also when many ask at once.
 */
export class CallCount implements CallShare {
  holds: boolean
  taken = 0
  private readonly all: { free: number }
  private readonly above: CallCount | null

  private constructor(all: { free: number }, above: CallCount | null) {
    this.all = all
    this.above = above
    this.holds = this.hold()
  }

  /** Of the turn at the top. */
  static of(left: number): CallCount {
    return new CallCount({ free: left }, null)
  }

  take(): boolean {
    if (!this.holds && !this.hold()) return false
    this.count()
    this.holds = this.hold()
    return true
  }

  begin(): CallCount | null {
    return this.all.free > 0 ? new CallCount(this.all, this) : null
  }

  release(): void {
    if (this.holds) this.all.free++
    this.holds = false
  }

  private count(): void {
    this.taken++
    this.above?.count()
  }

  private hold(): boolean {
    if (this.all.free <= 0) return false
    this.all.free--
    return true
  }
}

interface Parent {
  readonly runId: RunId
  readonly threadId?: ThreadId
  readonly depth: number
}

/** The run above and its thread; null: none is above, or the run is older than waits of helpers. */
export const parentField = ({ parent }: { readonly parent?: Parent }) =>
  parent?.threadId === undefined ? null : { runId: parent.runId, threadId: parent.threadId, depth: parent.depth }

const decode = Schema.decodeUnknownOption(Schema.Array(ChildRun))

/** The children in what an answer keeps under `childrenKey`. */
export const childrenIn = (kept: unknown): ReadonlyArray<ChildRun> => Option.getOrElse(decode(kept), () => [])

export const childRuns = (message: Pick<Message, "supplements">): ReadonlyArray<ChildRun> =>
  childrenIn(readSupplement(message, childrenKey)?.value)

/** The text that the model of the upper turn reads when a child has ended. */
export const childAnswer = (
  name: string,
  { content, fault, status }: { readonly content: string; readonly fault: RunFault | null; readonly status: string }
): string | { readonly failure: string } => {
  if (status === "COMPLETED") return content
  const why = fault?.message ?? (status === "CANCELLED" ? "It was cancelled." : "It waits for somebody.")
  const said = content === "" ? "" : ` It had said so far: ${content}`
  return { failure: `${name} did not answer. ${why}${said}` }
}

/** The cost is known when every part of it is. */
export const withChildren = (own: Usage, children: ReadonlyArray<Pick<ChildRun, "usage">>): Usage =>
  children.reduce(
    (sum, { usage }) =>
      usage === null
        ? sum
        : {
            ...addUsage(sum, usage),
            costUsd: sum.costUsd === null || usage.costUsd === null ? null : sum.costUsd + usage.costUsd
          },
    own
  )

/** The usage of a run alone, from the sum that `withChildren` made. If the cost of the sum is unknown, so is this one. */
export const withoutChildren = (sum: Usage, children: ReadonlyArray<Pick<ChildRun, "usage">>): Usage =>
  children.reduce<Usage>(
    (own, { usage }) =>
      usage === null
        ? own
        : {
            ...own,
            inputTokens: own.inputTokens - usage.inputTokens,
            outputTokens: own.outputTokens - usage.outputTokens,
            cachedInputTokens: own.cachedInputTokens - usage.cachedInputTokens,
            cacheWriteTokens: own.cacheWriteTokens - usage.cacheWriteTokens,
            reasoningTokens: own.reasoningTokens - usage.reasoningTokens,
            costUsd: own.costUsd === null || usage.costUsd === null ? null : own.costUsd - usage.costUsd
          },
    sum
  )

/** The model calls that the messages of a run tell, its children's with them. */
export const callsIn = (messages: ReadonlyArray<Pick<Message, "role" | "steps" | "supplements">>): number =>
  messages
    .filter(({ role }) => role === "assistant")
    .reduce(
      (sum, message) =>
        childRuns(message).reduce(
          (calls, { modelCalls }) => calls + modelCalls,
          sum + Math.max(1, message.steps.length)
        ),
      0
    )

/** How often a counted run may call tools, without the calls of its earlier legs. */
export const roundsLeft = (maxSteps: number, run: RunId, messages: ReadonlyArray<Message>): number => {
  const before = messages
    .filter(({ role, runId }) => role === "assistant" && runId === run)
    .reduce((calls, { steps }) => calls + Math.max(1, steps.length), 0)
  return Math.max(0, maxSteps - 1 - before)
}
