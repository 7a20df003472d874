/**
 * Runs that a tool of a turn begins on other threads as a part of this turn: what such a run knows of the turn above it, and what that turn
 * keeps of it. Their usage is part of the turn's usage; their charges are their own. Pure, but for the count of model calls.
 */
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import { AssistantId, RunId, ThreadId } from "../primitives/Ids.ts"
import { addUsage, Usage } from "../primitives/Usage.ts"
import { RunStatus } from "../runs/Run.ts"
import type { Message } from "../threads/Message.ts"
import { readSupplement } from "../threads/Supplement.ts"
import type { CallCount } from "../tools/LiveTurn.ts"

/** How many turns may stand above one. */
export const mostDepth = 4

/** Of a turn with all the runs that its tools begin. */
export const mostModelCalls = 64

/** The part whose tools begin runs. What a turn keeps of them stands with its answer under this name. */
export const childrenKey = "helpers"

export const ChildRun = Schema.Struct({
  toolCallId: Schema.String,
  name: Schema.String,
  runId: RunId,
  threadId: ThreadId,
  assistantId: AssistantId,
  /** Null until it has ended. */
  status: Schema.NullOr(RunStatus),
  /** With that of its own children; null until it has ended. */
  usage: Schema.NullOr(Usage),
  /** At most so many. */
  modelCalls: Schema.Int
})
export type ChildRun = typeof ChildRun.Type

/** Takes a model call; one is kept for each turn above, so that it can answer. False: none is left. */
export const takeCall = (calls: CallCount, depth: number): boolean => {
  if (calls.left <= depth) return false
  calls.left--
  return true
}

const decode = Schema.decodeUnknownOption(Schema.Array(ChildRun))

/** The children in what an answer keeps under `childrenKey`. */
export const childrenIn = (kept: unknown): ReadonlyArray<ChildRun> => Option.getOrElse(decode(kept), () => [])

export const childRuns = (message: Pick<Message, "supplements">): ReadonlyArray<ChildRun> =>
  childrenIn(readSupplement(message, childrenKey)?.value)

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

/** The part of a sum that `withChildren` made. The cost is not known where that of the sum is not. */
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
