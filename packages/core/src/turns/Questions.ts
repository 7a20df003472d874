/** Pure: questions that a hosted tool asks a person in the middle of its call, and their answers. */
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import { noUsage } from "../primitives/Usage.ts"
import type { RunLog } from "../runs/RunLog.ts"
import type { PersonAsked, PersonsAnswer } from "../tools/HostedTool.ts"
import type { Decision, Question, ToolCall } from "../tools/ToolCall.ts"
import { hasExpired } from "../tools/ToolRoundTrip.ts"
import type { TurnEvent } from "./TurnEvent.ts"

/** The output of a call whose tool asks once more, or for the first time after an approval. */
export const goesOnInNextCall = "The tool has asked a person something. It goes on in the next call."

/** The answer that the tool gets when it is called again. */
export const toAnswer = ({ state }: Question, decided: Decision): PersonsAnswer => {
  if (decided.decision === "reject") return { action: hasExpired(decided) ? "cancel" : "decline", content: {}, state }
  return { action: "accept", content: Option.getOrElse(readContent(decided.arguments ?? ""), () => ({})), state }
}

const readContent = Schema.decodeUnknownOption(Schema.fromJsonString(Schema.JsonObject))

type Log = Pick<RunLog<TurnEvent>, "push">

export const requireAnswer = (log: Log, call: ToolCall, expiresAt: string | null, asked: PersonAsked | null): void => {
  const question =
    asked === null ? {} : { question: { message: asked.message, schema: asked.schema, state: asked.state } }
  log.push((sequence) => ({ _tag: "ApprovalRequired", sequence, call, expiresAt, ...question }))
}

/** A step that no model has made: the tools of these calls go on in them. */
export const recordStep = (log: Log, calls: ReadonlyArray<ToolCall>, at: number): void => {
  log.push((sequence) => ({ _tag: "StepStarted", sequence, promptTokens: 0, at }))
  for (const call of calls) log.push((sequence) => ({ _tag: "ToolCallReady", sequence, call }))
  const usage = { ...noUsage, costUsd: 0 }
  log.push((sequence) => ({ _tag: "StepEnded", sequence, usage, model: null, providerData: null, at }))
}
