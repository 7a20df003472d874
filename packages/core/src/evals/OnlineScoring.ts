/**
 * Online scoring: the part of turns that orders a score for a share of them, and the follow-up that gives it. The order is stored with the
 * end of the turn, which waits for nothing of it.
 */
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import { RunId } from "../primitives/Ids.ts"
import type { FollowUp } from "../runs/FollowUp.ts"
import { FollowUps } from "../runs/FollowUps.ts"
import { FollowUpFailed, typedWorker } from "../runs/FollowUpWorker.ts"
import type { TurnPart } from "../turns/TurnPart.ts"
import { TurnParts } from "../turns/TurnParts.ts"
import { turnScore } from "./CaseResult.ts"
import { EvalSettings } from "./EvalSettings.ts"
import { EvalStore } from "./EvalStore.ts"
import { isSampled, OnlineSettings } from "./OnlineScore.ts"
import { makePaidScoring } from "./PaidScoring.ts"
import { readerFor } from "../primitives/ReadGiven.ts"
import { Scoring } from "./Scoring.ts"
import { makeTurnReader } from "./StoredTurn.ts"

const scoreKind = "evals.score"
const Payload = Schema.Struct({ runId: RunId })
const Plan = Schema.Struct({})

/** Turns that a tool began are a piece of the turn above them, and those of experiments have scores of their own. */
const onlinePart = ({ share }: OnlineSettings): TurnPart<typeof Plan.Type> => ({
  name: "online_scoring",
  plan: Plan,
  concerns: ({ request, thread }) => request.child === undefined && thread.scratch !== true,
  decide: ({ request, thread }) =>
    Effect.succeed(request.child === undefined && thread.scratch !== true ? { plan: {} } : null),
  followUps: (_plan, ended) =>
    (ended.status === "COMPLETED" || ended.status === "FAILED") && isSampled(ended.runId, share)
      ? [{ kind: scoreKind, key: ended.runId, payload: { runId: ended.runId } }]
      : []
})

const readSettings = readerFor(Schema.toType(OnlineSettings))

/** Settings that no turn could be scored by end the start. */
const checkSettings = Effect.gen(function* () {
  const { online } = yield* EvalSettings
  const { unknown } = yield* Scoring
  const wrong = (message: string) => Effect.die(new TypeError(`Online scoring cannot begin. ${message}`))
  if (Result.isFailure(readSettings(online)))
    return yield* wrong("Its share is from 0 to 1, and its expectations are those of cases.")
  if (online.share > 0 && online.expectations.length === 0) return yield* wrong("Nothing is expected of the turns.")
  const names = unknown(online.expectations)
  if (names.length > 0) return yield* wrong(`There is no scorer of this name: ${names.join(", ")}.`)
})

/** Its worker is registered always: another process may have ordered scores. */
export const registerOnlineScoring = Effect.gen(function* () {
  const { online, tries } = yield* EvalSettings
  const store = yield* EvalStore
  const scorePaid = yield* makePaidScoring
  const readTurn = yield* makeTurnReader
  yield* checkSettings

  const score = Effect.fnUntraced(function* ({ runId }: typeof Payload.Type, { attempts }: FollowUp) {
    if (online.expectations.length === 0 || Option.isSome(yield* store.getOnlineScore(runId))) return
    const found = yield* readTurn(runId)
    if (found === null) return
    const { endedAt, messages, run, turn } = found
    const { assistantId, threadId } = run
    const { costUsd, error, retryable, scores } = yield* scorePaid(online.expectations, turn, { runId, assistantId })
    if (retryable && attempts < tries)
      return yield* new FollowUpFailed({ message: "The turn could not be scored.", isRetryable: true })
    const answers = messages.filter(({ role }) => role === "assistant")
    yield* store.putOnlineScore({
      runId,
      threadId,
      messageIds: answers.map(({ id }) => id),
      assistantId: answers.at(-1)?.assistant?.id ?? assistantId,
      ...turnScore(turn, scores, error),
      judgesCostUsd: costUsd,
      endedAt
    })
  })
  // No record waits: the follow-up is stored with the end of the turn.
  yield* (yield* FollowUps).register(typedWorker({ kind: scoreKind, payload: Payload, run: score }))
  if (online.share > 0) yield* (yield* TurnParts).register(onlinePart(online))
})
