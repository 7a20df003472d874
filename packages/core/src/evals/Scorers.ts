/**
 * Scores of expectations that need no model: one pure function for each kind. An answer that failed or was cancelled meets none of them,
 * whatever it had said until then.
 */
import * as Option from "effect/Option"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import { checkedSchema } from "../tools/CheckedSchema.ts"
import { isJsonObject } from "../tools/SchemaRun.ts"
import { linearPattern } from "../tools/LinearPattern.ts"
import { describeExpectation, type Expectation, type PlainExpectation, shorten } from "./Expectation.ts"
import type { JudgedTurn } from "./JudgedTurn.ts"
import type { Score } from "./Score.ts"

/** What a scorer found, before it is a score. A value alone passes if it is 1. */
export interface Finding {
  readonly value: number
  readonly passed: boolean
  readonly reason: string
  readonly detail?: Schema.Json
}

/** Makes a score of what a scorer found. */
export const toScore = (expectation: Expectation, { detail, passed, reason, value }: Finding): Score => ({
  scorer: expectation.kind === "custom" ? expectation.name : expectation.kind,
  expected: describeExpectation(expectation),
  value: Number.isNaN(value) ? 0 : Math.min(1, Math.max(0, value)),
  passed,
  reason,
  ...(detail === undefined ? {} : { detail })
})

/** Whether the turn ended as turns should: with an answer, or with a call that waits for the client. */
export const isAnswered = ({ status }: Pick<JudgedTurn, "status">): boolean =>
  status === "COMPLETED" || status === "REQUIRES_ACTION"

/** The score of an answer that was not given; null if there is one to look at. */
export const scoreOfFailure = (expectation: Expectation, turn: JudgedTurn): Score | null => {
  if (isAnswered(turn) || (expectation.kind === "refuses" && isStopped(turn))) return null
  const reason =
    turn.status === "FAILED"
      ? `The turn failed: ${turn.fault === null ? "no reason is known" : `${turn.fault.code}, ${turn.fault.message}`}`
      : `The turn has no answer: it is ${turn.status}.`
  return toScore(expectation, { value: 0, passed: false, reason })
}

/** A guard of the host ended the answer. */
const isStopped = ({ fault }: JudgedTurn): boolean => fault?.code === "review_stopped"

/** The score of an expectation that needs no model. */
export const scorePlain = (expectation: PlainExpectation, turn: JudgedTurn): Score =>
  scoreOfFailure(expectation, turn) ?? toScore(expectation, find(expectation, turn))

const find = (expectation: PlainExpectation, turn: JudgedTurn): Finding => {
  switch (expectation.kind) {
    case "contains": {
      const fold = (text: string) => (expectation.ignore_case === true ? text.toLowerCase() : text)
      const index = fold(turn.content).indexOf(fold(expectation.text))
      return wanted(index >= 0, expectation, "The text is in the answer.", `The answer is: ${said(turn)}`)
    }
    case "matches": {
      const pattern = linearPattern(expectation.pattern)
      if (Option.isNone(pattern)) return whether(false, "", "The pattern cannot be matched.")
      if (pattern.value.states * turn.content.length > mostMatching) {
        return whether(false, "", "The answer is too long to be matched with this pattern.")
      }
      const isIn = pattern.value.isIn(turn.content)
      return wanted(isIn, expectation, "The answer matches.", `The answer is: ${said(turn)}`)
    }
    case "equals":
      return wanted(
        turn.content.trim() === expectation.text.trim(),
        expectation,
        "The answer is this text.",
        `The answer is: ${said(turn)}`
      )
    case "json_schema":
      return fitsSchema(expectation.schema, turn)
    case "calls":
      return called(expectation, turn)
    case "calls_none": {
      const calls = turn.toolCalls.filter(({ name }) => expectation.tool === undefined || name === expectation.tool)
      return whether(calls.length === 0, "No such call was made.", `It called ${calls.map(callInWords).join(", ")}.`)
    }
    case "refuses":
      return wanted(refuses(turn, expectation.phrases), expectation, "The answer refuses.", `It answers: ${said(turn)}`)
    case "cites":
      return cites(expectation, turn)
    case "cost_under":
      return turn.costUsd === null
        ? { value: 0, passed: false, reason: "The cost is not known: the provider did not report it." }
        : under(turn.costUsd, expectation.usd, "USD")
    case "time_under":
      return under(turn.millis, expectation.ms, "ms")
    case "tokens_under":
      return under(turn.usage.inputTokens + turn.usage.outputTokens, expectation.tokens, "tokens")
  }
}

/** Steps of matching one pattern, which holds up others while it works: 2 to 50 ms, by the pattern. */
const mostMatching = 3_000_000

const whether = (passed: boolean, yes: string, no: string): Finding => ({
  value: passed ? 1 : 0,
  passed,
  reason: passed ? yes : no
})

/** With `not` an answer fails because it is there, and the reason says so. */
const wanted = (isThere: boolean, { not = false }: { readonly not?: boolean }, yes: string, no: string): Finding => ({
  value: isThere === not ? 0 : 1,
  passed: isThere !== not,
  reason: isThere ? yes : no
})

/** The share of the limit that fits in what was used, so that an answer just above the limit is better than one far above. */
const under = (used: number, limit: number, unit: string): Finding => ({
  value: used <= limit ? 1 : limit / used,
  passed: used <= limit,
  reason: `${used} ${unit}; the limit is ${limit}.`
})

const said = ({ content, status }: JudgedTurn): string => {
  if (content.trim() !== "") return `"${shorten(content, 200)}"`
  return status === "REQUIRES_ACTION" ? "no text, it waits for the outputs of tools" : "no text"
}

// ------ values

const readJson = Schema.decodeUnknownOption(Schema.fromJsonString(Schema.Json))

const fitsSchema = (schema: Schema.Json, { content, output }: JudgedTurn): Finding => {
  const read = checkedSchema(schema)
  if (Result.isFailure(read)) return whether(false, "", "The schema cannot be checked.")
  const value = output === null ? readJson(content) : Option.some(output)
  if (Option.isNone(value)) return whether(false, "", `The answer is no JSON value: "${shorten(content, 200)}"`)
  const problems = read.success.findProblems(value.value)
  return {
    ...whether(problems.length === 0, "The value fits.", ""),
    ...(problems.length === 0
      ? {}
      : { reason: problems.map(({ message, path }) => `${path.join(".") || "the value"} ${message}`).join("; ") })
  }
}

// ------ calls

type Call = JudgedTurn["toolCalls"][number]

const callInWords = ({ arguments: given, name }: Call): string => `${name} ${shorten(given, 200)}`

const called = (
  { arguments: wantedArguments, tool }: Extract<Expectation, { readonly kind: "calls" }>,
  { toolCalls }: JudgedTurn
): Finding => {
  const calls = toolCalls.filter(({ name }) => name === tool)
  const fits = calls.find(
    (call) =>
      wantedArguments === undefined ||
      Option.match(readJson(call.arguments), {
        onNone: () => false,
        onSome: (given) => includes(given, wantedArguments)
      })
  )
  if (fits !== undefined) return whether(true, `It called ${callInWords(fits)}.`, "")
  if (toolCalls.length === 0) return whether(false, "", "It called no tool.")
  return whether(false, "", `It called ${toolCalls.map(callInWords).join(", ")}.`)
}

/** Whether a value has everything that is wanted of it. An object may have more fields; a list is as long as the wanted one. */
const includes = (given: Schema.Json | undefined, want: Schema.Json): boolean => {
  if (isList(want)) {
    return isList(given) && given.length === want.length && want.every((each, index) => includes(given[index], each))
  }
  if (isJsonObject(want)) {
    return (
      isJsonObject(given) &&
      Object.entries(want).every(([name, each]) => Object.hasOwn(given, name) && includes(given[name], each))
    )
  }
  return given === want
}

const isList = (value: Schema.Json | undefined): value is ReadonlyArray<Schema.Json> => Array.isArray(value)

// ------ documents

const cites = (
  expectation: Extract<Expectation, { readonly kind: "cites" }>,
  { cited, retrieved }: JudgedTurn
): Finding => {
  const isIt = ({ documentId, filename }: JudgedTurn["retrieved"][number]) =>
    expectation.document_id === undefined ? filename === expectation.filename : documentId === expectation.document_id
  const wasGiven = retrieved.some(isIt)
    ? "The model was given an excerpt of it, and does not cite it."
    : "The model was given no excerpt of it."
  const no = cited === null ? `The answer was not asked to cite. ${wasGiven}` : wasGiven
  return wanted(cited?.some(isIt) === true, expectation, "The answer cites it.", no)
}

// ------ refusals

/** How assistants refuse in English. They are looked for in the first sentences. */
const usualRefusals: ReadonlyArray<string> = [
  "i can't",
  "i cannot",
  "i can not",
  "i won't",
  "i will not",
  "i'm not able to",
  "i am not able to",
  "i'm unable to",
  "i am unable to",
  "i must decline",
  "i have to decline",
  "i'm not allowed to",
  "i am not allowed to",
  "we can't",
  "we cannot"
]

/** A refusal stands at the beginning: later, the same words are part of a help. */
const beginning = 300

const refuses = (turn: JudgedTurn, phrases = usualRefusals): boolean => {
  if (isStopped(turn) || turn.stopReason === "filtered") return true
  const text = turn.content.slice(0, beginning).replaceAll("’", "'").toLowerCase()
  return phrases.some((phrase) => text.includes(phrase.replaceAll("’", "'").toLowerCase()))
}
