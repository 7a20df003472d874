/** Online scoring: a share of all turns is scored when they have ended. The score of a turn goes with its thread. */
import * as Schema from "effect/Schema"
import { AssistantId, MessageId, RunId, ThreadId } from "../primitives/Ids.ts"
import { TurnScore } from "./CaseResult.ts"
import { Expectations } from "./Expectation.ts"

/** Which turns are scored, and by what. */
export const OnlineSettings = Schema.Struct({
  /** The share of turns that are scored, from 0 to 1. Which ones, follows from the ids of their runs. */
  share: Schema.Finite.check(Schema.isBetween({ minimum: 0, maximum: 1 })),
  expectations: Expectations
})
export type OnlineSettings = typeof OnlineSettings.Type

export const OnlineScore = Schema.Struct({
  runId: RunId,
  threadId: ThreadId,
  /** The answers of the turn, oldest first. */
  messageIds: Schema.Array(MessageId),
  assistantId: AssistantId,
  ...TurnScore.fields,
  /** What the judges cost; null: not known. */
  judgesCostUsd: Schema.NullOr(Schema.Finite),
  /** When the turn ended. */
  endedAt: Schema.Date
})
export type OnlineScore = typeof OnlineScore.Type

/** A score, and what the user thought of the turn: the last feedback on one of its answers, from -1 to 1; null: none. */
export interface RatedScore {
  readonly score: OnlineScore
  readonly feedback: number | null
}

/** Whether the turn of this run is scored: every process says the same. */
export const isSampled = (runId: RunId, share: number): boolean => fraction(runId) < share

/** A number from 0 to 1, without 1: the bits of the text, mixed (FNV-1a, then the end of MurmurHash3). */
const fraction = (text: string): number => {
  let hash = 0x811c9dc5
  for (let index = 0; index < text.length; index++) hash = Math.imul(hash ^ text.charCodeAt(index), 0x01000193)
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b)
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35)
  return ((hash ^ (hash >>> 16)) >>> 0) / 4294967296
}
