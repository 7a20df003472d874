/**
 * Pure: messages that were said elsewhere, checked and converted to messages of a thread. An output of a tool becomes part of the message
 * with its call. Calls that have no output at the end of the conversation are closed; earlier they are a problem.
 */
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import type { Principal } from "../access/Principal.ts"
import type { TokenCounterPort } from "../models/TokenCounter.ts"
import { MessageId, newId, type ThreadId } from "../primitives/Ids.ts"
import { runYielding } from "../primitives/RunYielding.ts"
import type { Steps } from "../primitives/Steps.ts"
import type { NewMessage } from "../threads/Message.ts"
import type { ToolCall, ToolResult } from "../tools/ToolCall.ts"
import type { ImportLimits } from "./ImportLimits.ts"
import type { Rewrite } from "./Rewrite.ts"

/** A message as a caller gives it. */
export interface ImportedMessage {
  readonly role: "user" | "assistant" | "tool"
  /** The text of the message; of a tool, its output. Null only beside calls. */
  readonly content: string | null
  readonly toolCalls?: ReadonlyArray<ToolCall>
  /** The call that the message of a tool answers. */
  readonly toolCallId?: string
  /** ISO 8601. Absent: the time of the import. */
  readonly createdAt?: string | Date
  readonly metadata?: Schema.JsonObject | null
}

const ImportProblem = Schema.Struct({
  /** The index of the message in the list. */
  index: Schema.Int,
  path: Schema.Array(Schema.Union([Schema.String, Schema.Int])),
  message: Schema.String
})
export type ImportProblem = typeof ImportProblem.Type

/** Messages of an import cannot be read. Nothing was imported. */
export class ImportRefused extends Schema.TaggedError<ImportRefused>()("ImportRefused", {
  /** In the order of the messages: all, or as many as the limit permits. */
  problems: Schema.Array(ImportProblem),
  isTooLarge: Schema.Boolean
}) {
  override get message() {
    return this.problems.map(({ index, message }) => `Message ${index}: ${message}`).join(" ")
  }
}

interface Importing {
  readonly threadId: ThreadId
  readonly at: Date
  readonly counter: TokenCounterPort
  readonly limits: ImportLimits
}

/** Checks and converts, in steps that hold up nobody else. Nothing is converted if there is a problem. */
export const readImport = Effect.fnUntraced(function* (
  given: ReadonlyArray<unknown>,
  importing: Importing
): Effect.fn.Return<ReadonlyArray<NewMessage>, ImportRefused> {
  const { limits } = importing
  if (given.length > limits.messages) {
    const message = `There are ${given.length} messages, and the limit is ${limits.messages}. Import them as several threads.`
    return yield* new ImportRefused({ problems: [{ index: limits.messages, path: [], message }], isTooLarge: true })
  }
  const { characters, drafts, problems } = yield* runYielding(reading(given, limits))
  if (problems.length > 0) {
    const first = problems.toSorted((one, other) => one.index - other.index).slice(0, limits.problems)
    return yield* new ImportRefused({ problems: first, isTooLarge: false })
  }
  if (characters > limits.characters) {
    const message = `The texts have ${characters} characters, and the limit is ${limits.characters}. Import them as several threads.`
    return yield* new ImportRefused({ problems: [{ index: 0, path: [], message }], isTooLarge: true })
  }
  const ids = yield* Effect.forEach(drafts, () => newId(MessageId))
  return yield* runYielding(converting(drafts, ids, importing))
})

/** A message of the thread, while outputs may still come. */
interface Draft {
  readonly index: number
  readonly role: "user" | "assistant"
  readonly content: string | null
  readonly calls: ReadonlyArray<ToolCall>
  readonly results: Map<string, ToolResult>
  readonly createdAt: Date | null
  readonly metadata: Schema.JsonObject | null
}

function* reading(given: ReadonlyArray<unknown>, limits: ImportLimits): Steps<Read> {
  const drafts: Array<Draft> = []
  const problems: Array<ImportProblem> = []
  let characters = 0
  for (const [index, value] of given.entries()) {
    if (index % stride === 0) yield
    // Enough are known, and a caller is told no more.
    if (problems.length > limits.problems) break
    const tell = (path: ImportProblem["path"], message: string): void => void problems.push({ index, path, message })
    if (!isObject(value)) {
      tell([], "A message is an object.")
      continue
    }
    for (const text of messageTexts(value)) {
      characters += text.length
      if (text.length > limits.charactersOfOne)
        tell(["content"], `A text has at most ${limits.charactersOfOne} characters.`)
    }
    if (value["role"] === "tool") readOutput(value, drafts.at(-1), tell)
    else {
      tellOpen(drafts.at(-1), problems)
      drafts.push(readMessage(value, index, tell))
    }
  }
  return { drafts, problems, characters }
}

const stride = 64

interface Read {
  readonly drafts: ReadonlyArray<Draft>
  readonly problems: ReadonlyArray<ImportProblem>
  readonly characters: number
}

type Tell = (path: ImportProblem["path"], message: string) => void
type Fields = Readonly<Record<string, unknown>>

const isObject = (value: unknown): value is Fields =>
  typeof value === "object" && value !== null && !Array.isArray(value)
const isMetadata = Schema.is(Schema.JsonObject)

const messageTexts = ({ content, toolCalls }: Fields): ReadonlyArray<string> =>
  [
    content,
    ...(Array.isArray(toolCalls) ? toolCalls.map((call) => (isObject(call) ? call["arguments"] : null)) : [])
  ].filter((text) => typeof text === "string")

const readMessage = (value: Fields, index: number, tell: Tell): Draft => {
  const { content, createdAt, metadata = null, role, toolCallId, toolCalls } = value
  if (role !== "user" && role !== "assistant") tell(["role"], 'The role is "user", "assistant" or "tool".')
  const calls = role === "user" && !isEmpty(toolCalls) ? tellNone(tell) : callsIn(toolCalls, tell)
  if (toolCallId !== undefined && toolCallId !== null) tell(["toolCallId"], "Only a message of a tool answers a call.")
  if (typeof content !== "string" && ((content !== null && content !== undefined) || calls.length === 0)) {
    tell(["content"], "The content is a text; it may be null beside calls of tools.")
  }
  if (metadata !== null && !isMetadata(metadata)) tell(["metadata"], "The metadata are an object of JSON values.")
  return {
    index,
    role: role === "assistant" ? role : "user",
    content: typeof content === "string" ? content : null,
    calls,
    results: new Map(),
    createdAt: createdAt === undefined || createdAt === null ? null : readTime(createdAt, tell),
    metadata: isMetadata(metadata) ? metadata : null
  }
}

const isEmpty = (calls: unknown): boolean => (Array.isArray(calls) ? calls.length === 0 : calls == null)

const tellNone = (tell: Tell): ReadonlyArray<ToolCall> => {
  tell(["toolCalls"], "Only a message of the assistant calls tools.")
  return []
}

const callsIn = (value: unknown, tell: Tell): ReadonlyArray<ToolCall> => {
  if (value === undefined || value === null) return []
  if (!Array.isArray(value)) {
    tell(["toolCalls"], "The calls are a list.")
    return []
  }
  const calls: Array<ToolCall> = []
  const ids = new Set<string>()
  for (const [position, call] of value.entries()) {
    const { arguments: text, id, name } = isObject(call) ? call : {}
    if (typeof id !== "string" || id === "") tell(["toolCalls", position, "id"], "A call has an id.")
    else if (ids.has(id)) tell(["toolCalls", position, "id"], "Another call of this message has the same id.")
    else ids.add(id)
    if (typeof name !== "string" || name === "") tell(["toolCalls", position, "name"], "A call has the name of a tool.")
    if (typeof text !== "string")
      tell(["toolCalls", position, "arguments"], "The arguments of a call are JSON as a text.")
    calls.push({ id: String(id), name: String(name), arguments: String(text) })
  }
  return calls
}

const isoTime = /^\d{4}-\d{2}-\d{2}(?:T\d{2}:\d{2}(?::\d{2}(?:\.\d+)?)?(Z|[+-]\d{2}:\d{2})?)?$/u

/** A time without a zone is one of UTC, so that every server reads the same. Databases and the wire have years of four digits. */
const readTime = (value: unknown, tell: Tell): Date | null => {
  const found = typeof value === "string" ? isoTime.exec(value) : null
  const zone = found?.[0].includes("T") === true && found[1] === undefined ? "Z" : ""
  const date = value instanceof Date ? value : new Date(found === null ? Number.NaN : `${found[0]}${zone}`)
  const year = date.getUTCFullYear()
  if (year >= 1 && year <= 9999) return date
  tell(["createdAt"], "The time is not in the form of ISO 8601.")
  return null
}

const readOutput = ({ content, toolCallId }: Fields, before: Draft | undefined, tell: Tell): void => {
  if (typeof content !== "string") tell(["content"], "The output of a tool is a text.")
  const call = before?.calls.find(({ id }) => id === toolCallId)
  if (call === undefined) tell(["toolCallId"], "The message before has no call with this id.")
  else if (before?.results.has(call.id) === true) tell(["toolCallId"], "This call was answered already.")
  else
    before?.results.set(call.id, { toolCallId: call.id, toolName: call.name, output: String(content), hosted: false })
}

/** Only the last message of a conversation may have calls that nobody has answered. */
const tellOpen = (before: Draft | undefined, problems: Array<ImportProblem>): void => {
  for (const [position, call] of before?.calls.entries() ?? []) {
    if (before === undefined || before.results.has(call.id)) continue
    const message = `The call "${call.id.slice(0, 100)}" has no output, and the conversation goes on.`
    problems.push({ index: before.index, path: ["toolCalls", position], message })
  }
}

function* converting(
  drafts: ReadonlyArray<Draft>,
  ids: ReadonlyArray<MessageId>,
  { at, counter, threadId }: Importing
): Steps<ReadonlyArray<NewMessage>> {
  const messages: Array<NewMessage> = []
  for (const [index, { calls, content, createdAt, metadata, results, role }] of drafts.entries()) {
    if (index % stride === 0) yield
    const id = ids[index]
    if (id === undefined) break
    const isOpen = results.size < calls.length
    const toolResults = calls.flatMap((call) => results.get(call.id) ?? [])
    messages.push({
      id,
      threadId,
      runId: null,
      role,
      content,
      status: isOpen ? "CANCELLED" : "COMPLETED",
      fault: null,
      stopReason: role === "user" || isOpen ? null : calls.length > 0 ? "tools" : "stop",
      toolCalls: calls,
      toolResults,
      steps: importedSteps(content, calls),
      provider: null,
      model: null,
      assistant: null,
      usage: null,
      metadata,
      supplements: null,
      imported: true,
      tokens: importedTokens(counter, content, calls, toolResults),
      createdAt: createdAt ?? at
    })
  }
  return messages
}

const importedSteps = (content: string | null, toolCalls: ReadonlyArray<ToolCall>): NewMessage["steps"] =>
  toolCalls.length === 0 ? [] : [{ text: content ?? "", toolCalls, hostedResults: [], providerData: null }]

const importedTokens = (
  counter: TokenCounterPort,
  content: string | null,
  calls: ReadonlyArray<ToolCall>,
  results: ReadonlyArray<ToolResult>
): number =>
  counter.count((content ?? "") + calls.map((call) => call.name + call.arguments).join("")) +
  results.reduce((sum, { output }) => sum + counter.count(output), 0)

export const rewriteImported = Effect.fnUntraced(function* (
  message: NewMessage,
  rewrite: Rewrite,
  counter: TokenCounterPort
): Effect.fn.Return<NewMessage, Effect.Error<ReturnType<Rewrite>>, Principal> {
  const content = message.content === null ? null : yield* rewrite(message.content)
  const toolCalls = yield* Effect.forEach(message.toolCalls, (call) =>
    Effect.map(rewrite(call.arguments, "tool_output"), (written) => ({ ...call, arguments: written }))
  )
  const toolResults = yield* Effect.forEach(message.toolResults, (result) =>
    Effect.map(rewrite(result.output, "tool_output"), (written) => ({ ...result, output: written }))
  )
  const tokens = importedTokens(counter, content, toolCalls, toolResults)
  return { ...message, content, toolCalls, toolResults, steps: importedSteps(content, toolCalls), tokens }
})
