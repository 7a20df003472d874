/** A schema's findings as the list of problems that a 422 carries: one entry for every problem, with the types that FastAPI uses. */
import * as Predicate from "effect/Predicate"
import * as SchemaIssue from "effect/SchemaIssue"
import type { ValidationError } from "../wire/Errors.ts"

type Location = ValidationError["loc"]

const formatter = SchemaIssue.makeFormatterStandardSchemaV1()

const messageFromIssue = (issue: SchemaIssue.Issue): string => formatter(issue).issues[0]?.message ?? "Invalid value"

/** The type of a failed check, by the last part of the check's id. */
const checkTypes: Readonly<Record<string, string>> = {
  isMinLength: "too_short",
  isMaxLength: "too_long",
  isPattern: "string_pattern_mismatch",
  isGUID: "uuid_parsing",
  isInt: "int_type",
  isFinite: "finite_number",
  isBetween: "out_of_range",
  isGreaterThanOrEqualTo: "greater_than_equal",
  isLessThanOrEqualTo: "less_than_equal"
}

const inputTypes: Readonly<Record<string, string>> = {
  String: "string_type",
  Number: "number_type",
  Boolean: "bool_type",
  Arrays: "list_type",
  Objects: "dict_type",
  Literal: "literal_error"
}

const checkType = ({ filter }: SchemaIssue.Filter): string => {
  const representation = filter.annotations?.["representation"]
  const id = Predicate.hasProperty(representation, "id") ? representation.id : ""
  return checkTypes[id.split("/").at(-1) ?? ""] ?? "value_error"
}

/** An entry for every leaf of the issue. */
export const toProblems = (issue: SchemaIssue.Issue, at: Location): ReadonlyArray<ValidationError> => {
  switch (issue._tag) {
    case "Pointer":
      return toProblems(issue.issue, [...at, ...issue.path.map(toStep)])
    case "Encoding":
      return toProblems(issue.issue, at)
    case "Composite":
      return issue.issues.flatMap((each) => toProblems(each, at))
    case "Filter":
      return issue.issue._tag === "InvalidValue"
        ? [{ loc: at, msg: messageFromIssue(issue), type: checkType(issue) }]
        : toProblems(issue.issue, at).map((each) => ({ ...each, type: checkType(issue) }))
    case "AnyOf":
      return unionProblems(issue, at)
    case "MissingKey":
      return [{ loc: at, msg: "Field required", type: "missing" }]
    case "UnexpectedKey":
      return [{ loc: at, msg: "Extra inputs are not permitted", type: "extra_forbidden" }]
    case "InvalidType":
      return [{ loc: at, msg: messageFromIssue(issue), type: inputTypes[issue.ast._tag] ?? "type_error" }]
    default:
      return [{ loc: at, msg: messageFromIssue(issue), type: "value_error" }]
  }
}

/** A union of null and one other schema is reported as that schema; of literals, as a choice. */
const unionProblems = (issue: SchemaIssue.AnyOf, at: Location): ReadonlyArray<ValidationError> => {
  if (issue.issues.length > 0) {
    const problems = issue.issues.flatMap((each) => toProblems(each, at))
    return [...new Map(problems.map((each) => [JSON.stringify(each), each])).values()]
  }
  const tag = discriminatingField(issue.ast.types)
  if (tag !== undefined) return [{ loc: [...at, tag], msg: messageFromIssue(issue), type: "literal_error" }]
  const choices = issue.ast.types.flatMap((type) => (type._tag === "Null" ? [] : [type._tag]))
  const [only] = new Set(choices)
  const type = new Set(choices).size === 1 && only !== undefined ? (inputTypes[only] ?? "union_error") : "union_error"
  return [{ loc: at, msg: messageFromIssue(issue), type: only === "Union" ? "literal_error" : type }]
}

/** The field whose value tells the members of a union apart, where all of them have one. */
const discriminatingField = (types: SchemaIssue.AnyOf["ast"]["types"]): string | undefined => {
  const tags = types.map((type) =>
    type._tag === "Objects"
      ? type.propertySignatures.flatMap(({ name, type: { _tag } }) => (_tag === "Literal" ? [String(name)] : []))
      : []
  )
  return tags[0]?.find((name) => tags.every((names) => names.includes(name)))
}

const toStep = (key: PropertyKey): string | number => (typeof key === "number" ? key : String(key))
