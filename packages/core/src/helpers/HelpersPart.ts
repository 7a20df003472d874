/**
 * How helpers join a turn, as the part "helpers": each helper of the assistant is a hosted tool `name {message}`, whose call is a turn on the
 * helper's own thread. What the helper says is the result of the call. A call that is cancelled, or that takes too long, cancels its turn.
 */
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import { Colleague, handoffPrefix } from "../assistants/Colleague.ts"
import type { ThreadId } from "../primitives/Ids.ts"
import { FollowUpFailed, typedWorker } from "../runs/FollowUpWorker.ts"
import { FollowUps } from "../runs/FollowUps.ts"
import { isEnded } from "../runs/Run.ts"
import { RunStore } from "../runs/RunStore.ts"
import { type HostedCall, type HostedTool, HostedToolFailed } from "../tools/HostedTool.ts"
import type { BegunRun, ChildEnd } from "../tools/LiveTurn.ts"
import { type OpenCall, RunIds } from "../tools/ToolCall.ts"
import { noUsage } from "../primitives/Usage.ts"
import { childAnswer, childrenIn, childrenKey, mostDepth } from "../turns/ChildRuns.ts"
import type { TurnCase, TurnPart } from "../turns/TurnPart.ts"
import { TurnParts } from "../turns/TurnParts.ts"
import type { TurnReply } from "../turns/TurnReply.ts"
import { Turns } from "../turns/TurnUseCases.ts"
import { HelperSettings } from "./HelperSettings.ts"
import { helperThreads, isHelpers } from "./HelperThreads.ts"

const leftKind = "helper-left"

/** The name under which the runs of helpers are kept with an answer. */
export const helpersPartName = childrenKey

const HelpersPlan = Schema.Struct({
  helpers: Schema.Array(Colleague),
  handoffs: Schema.Array(Colleague),
  /** The conversation was handed over to this assistant. */
  isActing: Schema.Boolean
})
type HelpersPlan = typeof HelpersPlan.Type

/**
 * A helper may ask its own helpers, but a conversation does not go down without end. It hands nothing over: the turn above waits for it.
 * Null: there is nobody to ask.
 */
const planHelpers = ({ assistant, request, thread }: TurnCase): HelpersPlan | null => {
  if (request.sendToModel === false) return null
  const depth = request.child?.depth ?? 0
  const plan = {
    helpers: depth < mostDepth ? assistant.helpers : [],
    handoffs: depth === 0 ? assistant.handoffs : [],
    isActing: depth === 0 && assistant.id !== thread.assistantId
  }
  // A message that a client sends on a helper's thread ends the run that waits there.
  const isOfOthers = depth === 0 && isHelpers(thread)
  return plan.helpers.length + plan.handoffs.length > 0 || plan.isActing || isOfOthers ? plan : null
}

export const makeHelpersPart = Effect.gen(function* () {
  const turns = yield* Turns
  const runs = yield* RunStore
  const settings = yield* HelperSettings
  const threads = yield* helperThreads

  /** The usage of a turn that was cancelled is in the record of its run. */
  const cancel = (threadId: ThreadId, { child, end }: BegunRun) =>
    turns.cancel(threadId, child.runId).pipe(
      Effect.matchEffect({
        onFailure: () => Effect.sync(() => end(failedEnd)),
        onSuccess: ({ usage }) => Effect.sync(() => end({ status: "CANCELLED", usage }))
      })
    )

  const ask = Effect.fnUntraced(function* (helper: Colleague, message: string, call: HostedCall) {
    const threadId = yield* Effect.mapError(threads.find(call.threadId, helper), failure)
    if (Option.isNone(threadId)) return yield* failed("The assistant behind this tool was deleted. Answer without it.")
    const { assistantId, name } = helper
    const begun = yield* call.beginRun({ toolCallId: call.toolCallId, name, threadId: threadId.value, assistantId })
    if (begun === null) return yield* failed("No more helpers can be asked in this turn. Answer without them.")
    const { child, end } = begun
    call.tell({
      type: "helper_started",
      data: {
        tool_call_id: call.toolCallId,
        name,
        helper_thread_id: threadId.value,
        helper_run_id: child.runId
      }
    })
    const asked = turns.start({ threadId: threadId.value, content: message, stream: false, child })
    const reply = yield* asked.pipe(
      Effect.flatMap((turn) => turn.reply),
      Effect.onInterrupt(() => cancel(threadId.value, begun)),
      Effect.tapError(() => Effect.sync(() => end(failedEnd))),
      Effect.mapError(failure)
    )
    const { status, toolCalls, usage } = reply
    const waits = status === "REQUIRES_ACTION" && toolCalls.length > 0 && toolCalls.every(isApproval)
    const of = { threadId: threadId.value, runId: child.runId }
    end({
      status: childStatus(reply),
      usage,
      ...(waits ? { calls: toolCalls.map((each) => ({ of, ...each })) } : {})
    })
    if (waits) return `${name} waits for an approval.`
    const answer = childAnswer(name, reply)
    return typeof answer === "string" ? answer : yield* failed(answer.failure)
  })

  const helperTool = (helper: Colleague): HostedTool => ({
    definition: { name: helper.name, description: helper.description, parameters },
    isNamedByOwner: true,
    timeout: settings.timeout,
    run: ({ message }, call) =>
      typeof message === "string" && message.trim() !== ""
        ? ask(helper, message, call)
        : failed("Give a `message`: what the helper is to do, in words.")
  })

  /** Ends the run of a helper when the run above it has ended: nobody waits for it. A helper that is at work is tried again later. */
  const leave = Effect.fnUntraced(function* ({ runId, threadId }: RunIds) {
    const run = yield* runs.get(runId)
    if (Option.isNone(run) || isEnded(run.value.status)) return
    if (run.value.status !== "REQUIRES_ACTION") {
      return yield* new FollowUpFailed({ message: "The helper is still at work.", isRetryable: true, isOutage: true })
    }
    yield* Effect.catchTag(turns.cancel(threadId, runId), "RunNotFound", () => Effect.void)
  })
  yield* (yield* FollowUps).register(
    // No record waits: the follow-up is stored in the transaction in which the upper run ends.
    typedWorker({ kind: leftKind, payload: RunIds, run: leave })
  )

  /** A new message has ended the run that waited on this thread; those of its helpers that wait end with it. */
  const leaveWaiting = Effect.fnUntraced(function* (threadId: ThreadId) {
    for (const id of yield* threads.below(threadId)) {
      const waiting = yield* runs.waitingOn(id)
      if (Option.isSome(waiting) && waiting.value.parentRunId !== null) yield* turns.cancel(id, waiting.value.id)
    }
    yield* threads.tellAbove(threadId)
    return []
  })

  const part: TurnPart<HelpersPlan> = {
    name: helpersPartName,
    plan: HelpersPlan,
    concerns: (turn) => planHelpers(turn) !== null,
    decide: (turn) => {
      const plan = planHelpers(turn)
      return Effect.succeed(plan === null ? null : { plan })
    },
    tools: ({ handoffs, helpers, isActing }) => [
      ...helpers.map(helperTool),
      ...handoffs.map(({ assistantId, description, name }) =>
        handOff(`${handoffPrefix}${name}`, `Hands the rest of the conversation over. ${description}`, assistantId)
      ),
      ...(isActing
        ? [handOff("hand_back", "Gives the conversation back to the assistant that had it first.", null)]
        : [])
    ],
    recall: (_, { threadId }) => leaveWaiting(threadId),
    followUps: (_, ended) =>
      ended.status === "SAVED" || ended.status === "REQUIRES_ACTION"
        ? []
        : childrenIn(ended.kept).flatMap(({ runId, status, threadId }) =>
            status === null || status === "REQUIRES_ACTION"
              ? [{ kind: leftKind, key: runId, payload: { threadId, runId } }]
              : []
          ),
    handOver: ({ handoffs, helpers }, isOwn) => ({ handoffs, helpers, isActing: !isOwn })
  }
  yield* (yield* TurnParts).register(part)
})

/** What the assistant that goes on reads in the place of the result. */
const takenOver = (reason: string): string =>
  `The conversation was handed over. From here on you are the assistant that it was handed to. Reason: ${reason} Answer the user now.`

const handOver = Effect.fnUntraced(function* (
  name: string,
  to: Colleague["assistantId"] | null,
  reason: Schema.Json | undefined,
  call: HostedCall
) {
  const why = typeof reason === "string" && reason.trim() !== "" ? reason : "None was given."
  const refusal = yield* Effect.mapError(call.handOver(to), failure)
  if (refusal !== null) return yield* failed(`${refusal} Go on yourself.`)
  call.tell({ type: "handed_over", data: { tool_call_id: call.toolCallId, name, reason: why } })
  return takenOver(why)
})

const handOff = (name: string, description: string, to: Colleague["assistantId"] | null): HostedTool => ({
  definition: {
    name,
    description,
    parameters: {
      type: "object",
      properties: { reason: { type: "string", description: "Why, in a sentence for the other assistant" } },
      required: ["reason"]
    }
  },
  isNamedByOwner: true,
  staysInTurn: true,
  run: ({ reason }, call) => handOver(name, to, reason, call)
})

const parameters = {
  type: "object",
  properties: {
    message: { type: "string", description: "What you ask of it, with everything that it needs to know" }
  },
  required: ["message"]
}

const failedEnd: ChildEnd = { status: "FAILED", usage: noUsage }

const childStatus = ({ status }: TurnReply): ChildEnd["status"] => (status === "IN_PROGRESS" ? "FAILED" : status)

/** Nobody else may answer for a helper. */
const isApproval = ({ approval }: OpenCall): boolean => approval !== undefined

const failure = ({ message }: { readonly message: string }) => new HostedToolFailed({ message })

const failed = (message: string): Effect.Effect<never, HostedToolFailed> =>
  Effect.fail(new HostedToolFailed({ message }))
