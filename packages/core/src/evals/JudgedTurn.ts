/**
 * What a scorer sees of a turn: the question, the answer, and what it took. `judgedTurn` (pure) makes it of the stored messages of the run,
 * so it is the same for a turn of a second ago and for one of last year.
 */
import * as Schema from "effect/Schema"
import { retrievedIn } from "../documents/KeptDocuments.ts"
import { addUsage, noUsage, Usage } from "../primitives/Usage.ts"
import { type Message, MessageStatus, RunFault, StopReason } from "../threads/Message.ts"
import { keptIn } from "../threads/Supplement.ts"
import { citationsIn } from "../turns/Citations.ts"
import type { TurnReply } from "../turns/TurnReply.ts"
import { outputIn, outputsPartName } from "../turns/WantedOutput.ts"

const NamedDocument = Schema.Struct({ documentId: Schema.String, filename: Schema.String })
/** A document that the answer was given. */
export type NamedDocument = typeof NamedDocument.Type

export const JudgedTurn = Schema.Struct({
  question: Schema.String,
  /** What the assistant said, in all legs of the turn. */
  content: Schema.String,
  /** The value, if the answer is one JSON value; null otherwise. */
  output: Schema.Json,
  status: MessageStatus,
  fault: Schema.NullOr(RunFault),
  stopReason: Schema.NullOr(StopReason),
  toolCalls: Schema.Array(
    Schema.Struct({
      name: Schema.String,
      /** JSON text as the model wrote it. */
      arguments: Schema.String,
      /** Null: the call was not answered. */
      result: Schema.NullOr(Schema.String)
    })
  ),
  /** The documents of the excerpts that the model was given. */
  retrieved: Schema.Array(NamedDocument),
  /** Those that the answer cites; null if the model was not asked to cite. */
  cited: Schema.NullOr(Schema.Array(NamedDocument)),
  usage: Usage,
  /** Null: the provider reported no cost. */
  costUsd: Schema.NullOr(Schema.Finite),
  millis: Schema.Finite,
  provider: Schema.NullOr(Schema.String),
  model: Schema.NullOr(Schema.String),
  assistantVersion: Schema.NullOr(Schema.Int),
  /** Equal for equal instructions; null if they are not known. */
  promptHash: Schema.NullOr(Schema.String)
})
export type JudgedTurn = typeof JudgedTurn.Type

/** What the messages do not tell. */
export interface TurnFigures {
  readonly millis: number
  /** The cost of the whole turn. Absent: the sum of the costs that were reported for its answers. */
  readonly costUsd?: number | null
  readonly promptHash?: string | null
}

/** Null without an answer. `messages` are those of one run: the user's message and every answer, oldest first. */
export const judgedTurn = (messages: ReadonlyArray<Message>, figures: TurnFigures): JudgedTurn | null => {
  const answers = messages.filter(({ role }) => role === "assistant")
  const last = answers.at(-1)
  if (last === undefined) return null
  const usage = answers.map((answer) => answer.usage ?? noUsage).reduce(addUsage)
  const citations = answers.map(({ supplements }) => citationsIn(supplements)).filter((each) => each !== null)
  return {
    question: messages.find(({ role }) => role === "user")?.content ?? "",
    content: answers
      .map(({ content }) => content ?? "")
      .filter((text) => text !== "")
      .join("\n\n"),
    output: outputIn(keptIn(last.supplements, outputsPartName))?.value ?? null,
    status: last.status,
    fault: last.fault,
    stopReason: last.stopReason,
    toolCalls: answers.flatMap(callsIn),
    retrieved: named(answers.flatMap(({ supplements }) => retrievedIn(supplements))),
    cited: citations.length === 0 ? null : named(answers.flatMap(citedIn)),
    usage,
    costUsd: figures.costUsd === undefined ? usage.costUsd : figures.costUsd,
    millis: figures.millis,
    provider: last.provider,
    model: last.model,
    assistantVersion: last.assistant?.version ?? null,
    promptHash: figures.promptHash ?? null
  }
}

/**
 * What a reply alone tells, without the kernel: the calls are those that the client has to answer, and the time is not known (0). The `fault`
 * of a reply is absent where it cannot have one.
 */
export const judgedReply = (reply: Omit<TurnReply, "fault"> & { readonly fault?: RunFault | null }): JudgedTurn => {
  const answer = { supplements: reply.supplements }
  return {
    question: "",
    content: reply.content,
    output: outputIn(keptIn(reply.supplements, outputsPartName))?.value ?? null,
    status: reply.status,
    fault: reply.fault ?? null,
    stopReason: reply.stopReason,
    toolCalls: reply.toolCalls.map((call) => ({ name: call.name, arguments: call.arguments, result: null })),
    retrieved: named(retrievedIn(reply.supplements)),
    cited: citationsIn(reply.supplements) === null ? null : named(citedIn(answer)),
    usage: reply.usage,
    costUsd: reply.usage.costUsd,
    millis: 0,
    provider: reply.provider,
    model: reply.model,
    assistantVersion: reply.assistantVersion,
    promptHash: null
  }
}

/** All calls of one answer: those that the kernel ran, and those that the client or a person answered. */
const callsIn = ({ steps, toolCalls, toolResults }: Message): JudgedTurn["toolCalls"] => {
  const results = [...toolResults, ...steps.flatMap(({ hostedResults }) => hostedResults)]
  const calls = [...steps.flatMap((step) => step.toolCalls), ...toolCalls]
  return [...new Map(calls.map((call) => [call.id, call])).values()].map((call) => ({
    name: call.name,
    arguments: call.arguments,
    result: results.find(({ toolCallId }) => toolCallId === call.id)?.output ?? null
  }))
}

const citedIn = ({ supplements }: Pick<Message, "supplements">): ReadonlyArray<NamedDocument> => {
  const retrieved = retrievedIn(supplements)
  return (citationsIn(supplements)?.citations ?? []).flatMap(({ index, kind }) => {
    const excerpt = kind === undefined ? retrieved[index] : undefined
    return excerpt === undefined ? [] : [excerpt]
  })
}

/** Each document once. */
const named = (excerpts: ReadonlyArray<NamedDocument>): ReadonlyArray<NamedDocument> => [
  ...new Map(excerpts.map(({ documentId, filename }) => [documentId, { documentId, filename }])).values()
]
