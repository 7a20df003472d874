/**
 * What a case expects of an answer, as data. It stands in stored cases, in lines of JSONL and in tests, so its names are those of the wire.
 * What cannot be checked for every answer, such as a pattern that may take for ever, is refused when the expectation is read.
 */
import * as Option from "effect/Option"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import { checkedSchema } from "../tools/CheckedSchema.ts"
import { isDeeper } from "../tools/SchemaRun.ts"
import { linearPattern } from "../tools/LinearPattern.ts"

const Share = Schema.Finite.check(Schema.isBetween({ minimum: 0, maximum: 1 }))
const Limit = Schema.Finite.check(Schema.isGreaterThanOrEqualTo(0))
const Name = Schema.NonEmptyString.check(Schema.isMaxLength(200))
const Text = Schema.NonEmptyString.check(Schema.isMaxLength(100_000))

/** True: the answer must not do this. */
const not = Schema.optionalKey(Schema.Boolean)

const Pattern = Schema.NonEmptyString.check(
  Schema.makeFilter((source) =>
    Option.isSome(linearPattern(source))
      ? undefined
      : "this is no pattern that can be matched in a time that grows only with the text; leave out what looks ahead, behind or back, and boundaries of words"
  )
)

/** A JSON Schema by which values can be checked. */
export const CheckableSchema = Schema.Union([Schema.JsonObject, Schema.Boolean]).check(
  Schema.makeFilter((schema) => {
    const read = checkedSchema(schema)
    return Result.isSuccess(read) ? undefined : read.failure.map(({ message, path }) => ({ path, issue: message }))
  })
)

/** The arguments that are looked for may stand in each other so deep. */
const mostLevels = 50

const Arguments = Schema.JsonObject.check(
  Schema.makeFilter((value) =>
    isDeeper(value, mostLevels) ? `arguments have at most ${mostLevels} levels` : undefined
  )
)

/** By whom a document may be named: its id, or its file's name. */
const Cited = Schema.Struct({
  kind: Schema.Literal("cites"),
  document_id: Schema.optionalKey(Name),
  filename: Schema.optionalKey(Name),
  not
}).check(
  Schema.makeFilter(({ document_id, filename }) =>
    (document_id === undefined) === (filename === undefined)
      ? "name the document either by `document_id` or by `filename`"
      : undefined
  )
)

/** A question about the answer, to which a model gives a probability: "yes" or "no", or one of the options. */
const Judged = Schema.Struct({
  kind: Schema.Literal("judge"),
  question: Text,
  options: Schema.optionalKey(
    Schema.Array(Name).check(Schema.isMinLength(2), Schema.isMaxLength(20), Schema.isUnique())
  ),
  /** Default: `yes`. */
  expected: Schema.optionalKey(Name),
  /** The probability that `expected` must have. Default: 0.8. */
  at_least: Schema.optionalKey(Share)
}).check(
  Schema.makeFilter(({ expected = "yes", options = yesOrNo }) =>
    options.includes(expected)
      ? undefined
      : { path: ["expected"], issue: `must be one of the options: ${options.join(", ")}` }
  )
)

const yesOrNo: ReadonlyArray<string> = ["yes", "no"]

export const Expectation = Schema.Union([
  Schema.Struct({
    kind: Schema.Literal("contains"),
    text: Text,
    ignore_case: Schema.optionalKey(Schema.Boolean),
    not
  }),
  Schema.Struct({ kind: Schema.Literal("matches"), pattern: Pattern, not }),
  /** Blanks around either text do not count. */
  Schema.Struct({ kind: Schema.Literal("equals"), text: Schema.String.check(Schema.isMaxLength(100_000)), not }),
  /** The answer is one JSON value that fits this JSON Schema (2020-12). */
  Schema.Struct({ kind: Schema.Literal("json_schema"), schema: CheckableSchema }),
  /** A tool was called, with at least these arguments. */
  Schema.Struct({ kind: Schema.Literal("calls"), tool: Name, arguments: Schema.optionalKey(Arguments) }),
  /** This tool, or none at all, was called. */
  Schema.Struct({ kind: Schema.Literal("calls_none"), tool: Schema.optionalKey(Name) }),
  /** Phrases replace those that are looked for by default, which are English. */
  Schema.Struct({
    kind: Schema.Literal("refuses"),
    phrases: Schema.optionalKey(Schema.Array(Name).check(Schema.isMinLength(1), Schema.isMaxLength(100))),
    not
  }),
  Cited,
  Schema.Struct({ kind: Schema.Literal("cost_under"), usd: Limit }),
  Schema.Struct({ kind: Schema.Literal("time_under"), ms: Limit }),
  /** All tokens of the turn, read and written. */
  Schema.Struct({ kind: Schema.Literal("tokens_under"), tokens: Limit }),
  Judged,
  /** The cosine of the vectors of both texts. Default of `at_least`: 0.8. */
  Schema.Struct({ kind: Schema.Literal("similar"), text: Text, at_least: Schema.optionalKey(Share) }),
  /** A scorer of the host, by its name. Default of `at_least`: 0.5. */
  Schema.Struct({
    kind: Schema.Literal("custom"),
    name: Name,
    settings: Schema.optionalKey(Schema.Json),
    at_least: Schema.optionalKey(Share)
  })
]).annotate({ identifier: "EvalExpectation" })
export type Expectation = typeof Expectation.Type

/** At most 100 expectations; an answer passes when it fulfils each of them. */
export const Expectations = Schema.Array(Expectation).check(Schema.isMaxLength(100))
export type Expectations = typeof Expectations.Type

/** Those that need no model and no host. */
export type PlainExpectation = Exclude<Expectation, { readonly kind: "judge" | "similar" | "custom" }>

/** An expectation in a few words, for reports. */
export const describeExpectation = (expectation: Expectation): string => {
  switch (expectation.kind) {
    case "contains":
      return `${negated(expectation, "contains", "does not contain")} "${shorten(expectation.text)}"`
    case "matches":
      return `${negated(expectation, "matches", "does not match")} ${shorten(expectation.pattern)}`
    case "equals":
      return `${negated(expectation, "equals", "does not equal")} "${shorten(expectation.text)}"`
    case "json_schema":
      return "fits a JSON Schema"
    case "calls": {
      const given = expectation.arguments === undefined ? "" : ` with ${shorten(JSON.stringify(expectation.arguments))}`
      return `calls ${expectation.tool}${given}`
    }
    case "calls_none":
      return `calls ${expectation.tool === undefined ? "no tool" : `no ${expectation.tool}`}`
    case "refuses":
      return negated(expectation, "refuses", "does not refuse")
    case "cites":
      return `${negated(expectation, "cites", "does not cite")} ${expectation.document_id ?? expectation.filename}`
    case "cost_under":
      return `costs at most ${expectation.usd} USD`
    case "time_under":
      return `takes at most ${expectation.ms} ms`
    case "tokens_under":
      return `uses at most ${expectation.tokens} tokens`
    case "judge":
      return `${shorten(expectation.question)} ${expectation.expected ?? "yes"}`
    case "similar":
      return `is similar to "${shorten(expectation.text)}"`
    case "custom":
      return expectation.name
  }
}

const negated = ({ not: isNegated = false }: { readonly not?: boolean }, yes: string, no: string): string =>
  isNegated ? no : yes

const mostShown = 80

export const shorten = (text: string, most = mostShown): string => {
  const line = text.replaceAll(/\s+/gu, " ").trim()
  const characters = Array.from(line.slice(0, 2 * most + 1))
  return characters.length > most ? `${characters.slice(0, most - 1).join("")}…` : line
}
