/**
 * A case as a program or a file gives it: a question, what was said before it, what is expected of the answer. `readCases` reads a file with
 * a case on each line, in the words of the wire.
 */
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import * as SchemaIssue from "effect/SchemaIssue"
import type { ImportedMessage } from "../turns/Import.ts"
import { type ToolDefinition, ToolName } from "../tools/ToolDefinition.ts"
import { askedFields, askedFromFields, type AskedParts } from "./AskedParts.ts"
import { Expectations, type Expectation } from "./Expectation.ts"

/** What a tool returned when the question was answered. */
export interface RecordedOutput {
  readonly name: string
  /** JSON text as the model wrote it. */
  readonly arguments: string
  readonly output: string
}

export interface TestCase {
  /** Default: the beginning of the question. */
  readonly name?: string | null
  readonly question: string
  /** Oldest first. */
  readonly messages?: ReadonlyArray<ImportedMessage>
  readonly expectations?: ReadonlyArray<Expectation>
  readonly tags?: ReadonlyArray<string>
  /** Answers to calls of the client's tools. A call of these arguments gets its output, any other call of the tool the next one. */
  readonly tools?: ReadonlyArray<RecordedOutput>
  /** The client's tools in this case, unless the variant has some. */
  readonly toolDefinitions?: ReadonlyArray<ToolDefinition>
  /** The system prompt of the question, unless the variant has one. */
  readonly instructions?: string
  /** A JSON Schema or typed questions, as options of a message; a variant's options replace them by name. */
  readonly options?: AskedParts
}

const text = Schema.String
const optionalText = Schema.optionalKey(text)

/** A call as records of the API have it, or in short. */
const LineCall = Schema.Union([
  Schema.Struct({
    id: text,
    type: Schema.optionalKey(Schema.Literal("function")),
    function: Schema.Struct({ name: text, arguments: text })
  }),
  Schema.Struct({ id: text, name: text, arguments: text })
])

/** A tool as records of the API have it. One that only the server has is left out. */
const LineTool = Schema.Union([
  Schema.Struct({
    type: Schema.Literal("function"),
    function: Schema.Struct({
      name: ToolName,
      description: Schema.optionalKey(Schema.NullOr(text)),
      parameters: Schema.optionalKey(Schema.NullOr(Schema.JsonObject)),
      strict: Schema.optionalKey(Schema.NullOr(Schema.Boolean))
    })
  }),
  Schema.Struct({ type: Schema.Literal("web_search") })
])

const recordField = Schema.optionalKey(Schema.Unknown)

/** A case on a line, which may be a record of the API. */
const CaseLine = Schema.Struct({
  case_id: recordField,
  assistant_id: recordField,
  source: recordField,
  created_at: recordField,
  updated_at: recordField,
  name: Schema.optionalKey(Schema.NullOr(text)),
  question: Schema.NonEmptyString,
  messages: Schema.optionalKey(
    Schema.Array(
      Schema.Struct({
        role: Schema.Literals(["user", "assistant", "tool"]),
        content: Schema.NullOr(text),
        tool_calls: Schema.optionalKey(Schema.Array(LineCall)),
        tool_call_id: optionalText
      })
    )
  ),
  expectations: Schema.optionalKey(Expectations),
  tags: Schema.optionalKey(Schema.Array(text)),
  tools: Schema.optionalKey(Schema.Array(Schema.Struct({ name: text, arguments: text, output: text }))),
  tool_definitions: Schema.optionalKey(Schema.NullOr(Schema.Array(LineTool))),
  instructions: Schema.optionalKey(Schema.NullOr(text)),
  ...askedFields
})

/** A file of cases cannot be read. No case of it counts. */
export class CasesUnreadable extends Schema.TaggedError<CasesUnreadable>()("CasesUnreadable", {
  /** Lines count from 1. The path leads to the value in the case; empty: the whole line. */
  problems: Schema.Array(Schema.Struct({ line: Schema.Int, path: Schema.String, message: Schema.String }))
}) {
  override get message() {
    const sentences = this.problems.map(({ line, message, path }) => `Line ${line}${path && `, ${path}`}: ${message}`)
    return `The cases cannot be read.\n${sentences.join("\n")}`
  }
}

/** A field that is misspelled must not be left out in silence. */
const decode = Schema.decodeUnknownResult(CaseLine, { errors: "all", onExcessProperty: "error" })
const format = SchemaIssue.makeFormatterStandardSchemaV1()

/** All cases of a text in JSON lines. Empty lines are nothing. Throws `CasesUnreadable` with every problem. */
export const readCases = (file: string): ReadonlyArray<TestCase> => {
  const problems: Array<CasesUnreadable["problems"][number]> = []
  const cases: Array<TestCase> = []
  for (const [index, line] of file
    .replace(/^\uFEFF/u, "")
    .split("\n")
    .entries()) {
    if (line.trim() === "") continue
    const read = Result.flatMap(parse(line), decode)
    if (Result.isFailure(read)) {
      const issues = read.failure === null ? null : format(read.failure.issue).issues
      const found = issues?.map(({ message, path = [] }) => ({ path: path.map(String).join("."), message })) ?? [
        { path: "", message: "This is no JSON." }
      ]
      problems.push(...found.map((each) => ({ line: index + 1, ...each })))
    } else cases.push(fromLine(read.success))
  }
  if (problems.length > 0) throw new CasesUnreadable({ problems })
  return cases
}

const parse = (line: string): Result.Result<unknown, null> =>
  Result.try({ try: (): unknown => JSON.parse(line), catch: () => null })

const toolFromLine = (line: typeof LineTool.Type): ReadonlyArray<ToolDefinition> => {
  if (line.type !== "function") return []
  const { description = null, name, parameters = null, strict = null } = line.function
  return [{ name, description, parameters, ...(strict === null ? {} : { strict }) }]
}

const fromLine = ({ messages, tool_definitions: tools = null, ...line }: typeof CaseLine.Type): TestCase => {
  const { expectations, instructions = null, name, question, tags, tools: recorded } = line
  const options = askedFromFields(line)
  return {
    question,
    ...(instructions === null ? {} : { instructions }),
    ...(options === undefined ? {} : { options }),
    ...(name === undefined ? {} : { name }),
    ...(expectations === undefined ? {} : { expectations }),
    ...(tags === undefined ? {} : { tags }),
    ...(recorded === undefined ? {} : { tools: recorded }),
    ...(tools === null ? {} : { toolDefinitions: tools.flatMap(toolFromLine) }),
    ...(messages === undefined
      ? {}
      : {
          messages: messages.map(({ tool_call_id: toolCallId, tool_calls: toolCalls, ...message }) => ({
            ...message,
            ...(toolCalls === undefined
              ? {}
              : {
                  toolCalls: toolCalls.map((call) => ("function" in call ? { id: call.id, ...call.function } : call))
                }),
            ...(toolCallId === undefined ? {} : { toolCallId })
          }))
        })
  }
}
