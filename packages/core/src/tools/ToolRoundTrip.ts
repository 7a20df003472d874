/**
 * Pure: matches what comes from outside to the open calls of a run. Outputs of the client answer every open call of the client exactly once,
 * in any order; decisions answer any of the calls that wait for an approval. If anything does not match, it is named and nothing is changed.
 */
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import type { Decision, OpenCall, ToolOutput, ToolResult } from "./ToolCall.ts"

/** Why one output is not taken. */
export const ToolOutputProblem = Schema.Struct({
  toolCallId: Schema.String,
  /** Index in the submitted list; null for a call that the list leaves out. */
  index: Schema.NullOr(Schema.Int),
  problem: Schema.Literals(["unknown", "duplicate", "already_answered", "needs_approval", "missing"])
})
export type ToolOutputProblem = typeof ToolOutputProblem.Type

/** Outputs do not fit the open calls. Nothing was stored. */
export class ToolOutputsRejected extends Schema.TaggedError<ToolOutputsRejected>()("ToolOutputsRejected", {
  problems: Schema.Array(ToolOutputProblem)
}) {
  override get message() {
    const named = this.problems.map((each) => `${each.toolCallId} (${each.problem.replace("_", " ")})`).join(", ")
    return `The tool outputs do not match the open calls of the run: ${named}. Send one output for each open call, in one list.`
  }
}

export const isOfClient = ({ approval, waitsFor }: OpenCall): boolean =>
  approval === undefined && waitsFor === undefined

/** Matches outputs to calls. The results come in the order of the calls. */
export const matchToolOutputs = (
  open: ReadonlyArray<OpenCall>,
  answered: ReadonlySet<string>,
  outputs: ReadonlyArray<ToolOutput>
): Result.Result<ReadonlyArray<ToolResult>, ToolOutputsRejected> => {
  const openIds = new Map(open.map((call) => [call.id, call]))
  const byId = new Map<string, ToolOutput>()
  const problems: Array<ToolOutputProblem> = []
  outputs.forEach((output, index) => {
    const toolCallId = output.toolCallId
    const call = openIds.get(toolCallId)
    if (answered.has(toolCallId)) problems.push({ toolCallId, index, problem: "already_answered" })
    else if (call === undefined) problems.push({ toolCallId, index, problem: "unknown" })
    else if (!isOfClient(call)) problems.push({ toolCallId, index, problem: "needs_approval" })
    else if (byId.has(toolCallId)) problems.push({ toolCallId, index, problem: "duplicate" })
    else byId.set(toolCallId, output)
  })
  const results: Array<ToolResult> = []
  for (const call of open.filter(isOfClient)) {
    const output = byId.get(call.id)
    if (output === undefined) problems.push({ toolCallId: call.id, index: null, problem: "missing" })
    else results.push({ toolCallId: call.id, toolName: call.name, output: output.output, hosted: false })
  }
  return problems.length === 0 ? Result.succeed(results) : Result.fail(new ToolOutputsRejected({ problems }))
}

/** The decision of a person about one call. */
export interface CallDecision {
  readonly toolCallId: string
  readonly decision: Decision["decision"]
  /** Replace the arguments of an approved call. */
  readonly arguments?: Schema.JsonObject
  /** The model reads why a call was rejected. */
  readonly reason?: string
}

/** Names one decision that cannot be taken, and why: `problems` of `DecisionsRejected`. */
export const DecisionProblem = Schema.Struct({
  toolCallId: Schema.String,
  /** Index in the list of decisions. */
  index: Schema.Int,
  problem: Schema.Literals([
    "unknown",
    "duplicate",
    "ambiguous",
    "not_an_approval",
    "arguments_of_rejection",
    "invalid_arguments"
  ]),
  /** Of invalid arguments: the path inside them, and what is wrong there. */
  path: Schema.optionalKey(Schema.Array(Schema.Union([Schema.String, Schema.Int]))),
  detail: Schema.optionalKey(Schema.String)
})
export type DecisionProblem = typeof DecisionProblem.Type

/** Decisions do not fit the calls that wait. None was taken. */
export class DecisionsRejected extends Schema.TaggedError<DecisionsRejected>()("DecisionsRejected", {
  problems: Schema.Array(DecisionProblem)
}) {
  override get message() {
    const named = this.problems.map(
      ({ detail = "", path = [], problem, toolCallId }) =>
        `${toolCallId} (${problem.replaceAll("_", " ")}${[path.join("."), detail].map((text) => (text === "" ? "" : `: ${text}`)).join("")})`
    )
    return `The decisions do not match the calls of the run that wait for an approval: ${named.join(", ")}.`
  }
}

/** Another person has decided before, or the call does not wait any more. */
export class AlreadyDecided extends Schema.TaggedError<AlreadyDecided>()("AlreadyDecided", {
  toolCallId: Schema.String,
  /** How the call was decided. Null: nobody decided it, and the run does not wait for it any more. */
  decided: Schema.NullOr(
    Schema.Literals(["approved", "approved with other arguments", "answered", "rejected", "expired"])
  )
}) {
  override get message() {
    return this.decided === null
      ? `The run no longer waits for a decision about the call ${this.toolCallId}.`
      : `The call ${this.toolCallId} was ${this.decided} already. The first decision stands.`
  }
}

/** Why a call is rejected that nobody has decided in time. */
const expiredReason = "expired"

/** The calls of a message that a person decides about, with what has become of them. */
export interface AskedCalls {
  readonly calls: ReadonlyArray<OpenCall>
  readonly results: ReadonlyArray<ToolResult>
  /** Whether the run waits with this message. */
  readonly isOpen: boolean
}

/**
 * The decisions that are new, as results in the order of the list; those that repeat the first decision are left out. A call whose time has
 * passed is decided, also before it is stored as rejected.
 */
export const matchDecisions = (
  asked: ReadonlyArray<AskedCalls>,
  decisions: ReadonlyArray<CallDecision>,
  now: Date
): Result.Result<ReadonlyArray<ToolResult>, DecisionsRejected | AlreadyDecided> => {
  const problems: Array<DecisionProblem> = []
  const conflicts: Array<AlreadyDecided> = []
  const results: Array<ToolResult> = []
  const seen = new Set<string>()
  decisions.forEach((given, index) => {
    const { toolCallId } = given
    // Ids of calls may repeat in a long run: the newest is meant.
    const asking = asked.findLast(({ calls }) => calls.some(({ id }) => id === toolCallId))
    const call = asking?.calls.find(({ id }) => id === toolCallId)
    if (seen.size === seen.add(toolCallId).size) return void problems.push({ toolCallId, index, problem: "duplicate" })
    if (asking === undefined || call === undefined) return void problems.push({ toolCallId, index, problem: "unknown" })
    if (call.approval === undefined) return void problems.push({ toolCallId, index, problem: "not_an_approval" })
    if (given.decision === "reject" && given.arguments !== undefined)
      return void problems.push({ toolCallId, index, problem: "arguments_of_rejection" })
    const result = asking.results.find((each) => each.toolCallId === toolCallId)
    const decided = result?.decided
    if (decided !== undefined) {
      if (!isSame(decided, given)) conflicts.push(new AlreadyDecided({ toolCallId, decided: wordFor(decided) }))
    } else if (!asking.isOpen) conflicts.push(new AlreadyDecided({ toolCallId, decided: null }))
    else if (isExpired(call, now)) conflicts.push(new AlreadyDecided({ toolCallId, decided: "expired" }))
    else results.push(toResult(call, given, now))
  })
  if (problems.length > 0) return Result.fail(new DecisionsRejected({ problems }))
  const [conflict] = conflicts
  return conflict === undefined ? Result.succeed(results) : Result.fail(conflict)
}

/** The rejections of calls whose time has passed. */
export const expiredCalls = ({ calls, results }: AskedCalls, now: Date): ReadonlyArray<ToolResult> =>
  calls
    .filter((call) => isExpired(call, now) && results.every(({ toolCallId }) => toolCallId !== call.id))
    .map((call) => toResult(call, { toolCallId: call.id, decision: "reject", reason: expiredReason }, now))

const isExpired = ({ approval }: OpenCall, now: Date): boolean =>
  approval?.expiresAt != null && Date.parse(approval.expiresAt) <= now.getTime()

/** The reason is no part of a decision: who rejects a call once more says nothing new. */
const isSame = (decided: Decision, given: CallDecision): boolean =>
  decided.decision === given.decision &&
  decided.arguments === argumentsText(givenArguments(given, decided.isAnswer === true))

/** Who accepts a question without an answer gives an empty one. */
const givenArguments = (
  { arguments: args, decision }: CallDecision,
  isAnswer: boolean
): Schema.JsonObject | undefined => (isAnswer && decision === "approve" ? (args ?? {}) : args)

const argumentsText = (args: Schema.JsonObject | undefined): string | undefined =>
  args === undefined ? undefined : JSON.stringify(args)

const wordFor = (decided: Decision): NonNullable<AlreadyDecided["decided"]> => {
  const { arguments: args, decision, isAnswer } = decided
  if (decision === "reject") return hasExpired(decided) ? "expired" : "rejected"
  if (isAnswer === true) return "answered"
  return args === undefined ? "approved" : "approved with other arguments"
}

/** Whether nobody has decided in time. */
export const hasExpired = ({ decision, reason }: Decision): boolean => decision === "reject" && reason === expiredReason

/** A tool that has asked something learns what became of it, so its call runs again whatever was decided. */
const toResult = ({ approval, id, name }: OpenCall, given: CallDecision, now: Date): ToolResult => {
  const { decision, reason } = given
  const isAnswer = approval?.question !== undefined
  const args = givenArguments(given, isAnswer)
  const decided: Decision = {
    decision,
    ...(args === undefined ? {} : { arguments: JSON.stringify(args) }),
    ...(reason === undefined ? {} : { reason }),
    ...(isAnswer ? { isAnswer } : {}),
    at: now.toISOString()
  }
  const result = { toolCallId: id, toolName: name, hosted: true, decided }
  return decision === "approve" || isAnswer
    ? { ...result, output: "", isPending: true }
    : { ...result, output: rejection(reason) }
}

/** What the model reads in place of the output of a rejected call. */
export const rejection = (reason: string | undefined): string => {
  if (reason === expiredReason) return "Error: the call was not run. Nobody approved it in time: it has expired."
  return reason === undefined || reason === ""
    ? "Error: the call was not run, because a person rejected it."
    : `Error: the call was not run, because a person rejected it. Their reason: ${reason}`
}
