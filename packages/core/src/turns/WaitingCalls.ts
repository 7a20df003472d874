/** The calls of an owner that wait for an approval, read from the runs that wait. */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import type { Principal } from "../access/Principal.ts"
import type { AssistantId, MessageId, RunId, ThreadId } from "../primitives/Ids.ts"
import type { Page } from "../primitives/Page.ts"
import type { StoreUnavailable } from "../primitives/StoreUnavailable.ts"
import type { Run } from "../runs/Run.ts"
import { RunStore } from "../runs/RunStore.ts"
import { type OpenCall, type Question, type RunIds, shownQuestion } from "../tools/ToolCall.ts"
import { unanswered } from "../threads/InnerCalls.ts"

/** A call that waits for a person's decision. */
export interface WaitingCall {
  readonly threadId: ThreadId
  readonly assistantId: AssistantId
  readonly runId: RunId
  /** The answer that made the call. */
  readonly messageId: MessageId
  readonly id: string
  readonly name: string
  /** JSON text, as the model wrote it. */
  readonly arguments: string
  readonly askedAt: Date
  /** What the tool asks in the middle of the call: the answer is given as the arguments of an approval. Null: the call has not begun. */
  readonly question: Pick<Question, "message" | "schema"> | null
  /** Null: it waits as long as its run does. */
  readonly expiresAt: Date | null
  /** The uppermost run that waits for this one, whose helper made the call. Null: none does. */
  readonly above: RunIds | null
}

/** How many runs are read at a time. */
const runsAtOnce = 100

export class WaitingCalls extends Context.Service<
  WaitingCalls,
  {
    readonly waitingCalls: (page: Page) => Effect.Effect<ReadonlyArray<WaitingCall>, StoreUnavailable, Principal>
  }
>()("@colloquy/core/turns/WaitingCalls") {
  static readonly layer: Layer.Layer<WaitingCalls, never, RunStore> = Layer.effect(
    WaitingCalls,
    RunStore.useSync((store) => {
      const listCalls = Effect.fnUntraced(function* (run: Run) {
        const messages = yield* store.messages(run.id)
        const asking = messages.find(({ id }) => id === run.answerId)
        if (asking === undefined) return []
        const calls = unanswered(asking).filter(({ approval }) => approval !== undefined)
        const top = calls.length === 0 ? run : yield* findTopRun(run)
        const above = top.id === run.id ? null : { threadId: top.threadId, runId: top.id }
        return calls.map((call) => waitingCall(run, call, asking.createdAt, above))
      })

      const findTopRun: (run: Run) => Effect.Effect<Run, StoreUnavailable, Principal> = Effect.fnUntraced(
        function* (run) {
          if (run.parentRunId === null) return run
          const above = yield* store.get(run.parentRunId)
          return Option.isSome(above) && above.value.status === "REQUIRES_ACTION" ? yield* findTopRun(above.value) : run
        }
      )

      return WaitingCalls.of({
        waitingCalls: Effect.fnUntraced(function* ({ limit, skip }) {
          const found: Array<WaitingCall> = []
          let after: number | null | undefined
          while (after !== null && found.length < skip + limit) {
            const { next, runs } = yield* store.waiting({
              limit: runsAtOnce,
              ...(after === undefined ? {} : { after })
            })
            for (const run of runs) {
              found.push(...(yield* listCalls(run)))
              if (found.length >= skip + limit) break
            }
            after = next
          }
          return found.slice(skip, skip + limit)
        })
      })
    })
  )
}

const waitingCall = (
  run: Run,
  { approval, arguments: args, id, name }: OpenCall,
  askedAt: Date,
  above: RunIds | null
): WaitingCall => ({
  threadId: run.threadId,
  assistantId: run.assistantId,
  runId: run.id,
  messageId: run.answerId,
  id,
  name,
  arguments: args,
  askedAt,
  question: approval?.question === undefined ? null : shownQuestion(approval.question),
  expiresAt: approval?.expiresAt == null ? null : new Date(approval.expiresAt),
  above
})
