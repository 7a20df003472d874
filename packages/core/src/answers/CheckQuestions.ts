/**
 * Pure: checks questions from outside. It finds one problem for each fault, with the path to the question and field, so that a client can
 * correct all of them at once; `http` makes one entry of a 422 response of each. A valid value is returned as questions, without unknown
 * fields.
 */
import * as Result from "effect/Result"
import type * as Schema from "effect/Schema"
import { maximumLevels, maximumOptions, type Question, type Questions } from "./Question.ts"

/** What is wrong with a question, and where. */
export interface QuestionProblem {
  /** From the checked value down: names of questions, fields and options; indexes of a list. */
  readonly path: ReadonlyArray<string | number>
  readonly problem: "missing" | "wrong_type" | "unknown_type" | "unknown_field" | "empty" | "too_few" | "too_many"
  readonly message: string
}

/** The object that a client sends for a typed turn. */
export interface TypedAsk {
  readonly questions: Questions
  /** Null if there is none. */
  readonly state: Schema.Json | null
}

/** A value, or every problem that it has. */
export type Checked<A> = Result.Result<A, ReadonlyArray<QuestionProblem>>

/** Checks the object that contains the questions and optionally the state. Other fields are ignored. */
export const checkTypedAsk = (value: unknown): Checked<TypedAsk> => {
  if (!isObject(value)) return Result.fail([wrong([], "object")])
  const problems: Array<QuestionProblem> = []
  const questions = readField(value, "questions", problems, readQuestions)
  const state = readState(own(value, "state"), problems)
  return checkedResult(questions && { questions, state }, problems)
}

/** Checks questions by name, without the object around them. */
export const checkQuestions = (value: unknown): Checked<Questions> => {
  const problems: Array<QuestionProblem> = []
  return checkedResult(readQuestions(value, [], problems), problems)
}

const checkedResult = <A>(value: A | undefined, problems: ReadonlyArray<QuestionProblem>): Checked<A> =>
  value === undefined || problems.length > 0 ? Result.fail(problems) : Result.succeed(value)

// Readers return undefined if the value is not usable; then they have added a problem that says why.

type Path = ReadonlyArray<string | number>

type Read<A> = (value: unknown, path: Path, problems: Array<QuestionProblem>) => A | undefined

const readQuestions: Read<Questions> = (value, path, problems) => {
  if (!isObject(value)) return reject(problems, wrong(path, "object"))
  const names = Object.keys(value)
  if (names.length === 0) {
    return reject(problems, { path, problem: "too_few", message: "There must be at least one question" })
  }
  const read = names.map((name) => [name, readQuestion(value[name], [...path, name], problems)] as const)
  // Made from entries, because a question may be called "__proto__".
  return Object.fromEntries(read.flatMap(([name, question]) => (question === undefined ? [] : [[name, question]])))
}

const readQuestion: Read<Question> = (value, path, problems) => {
  if (!isObject(value)) return reject(problems, wrong(path, "object"))
  const type = readField(value, "type", problems, readType, path)
  const instructions = readField(value, "instructions", problems, readInstructions, path)
  if (type === undefined) return undefined
  const question = readCriteria[type](value, path, problems)
  if (instructions === undefined || question === undefined) return undefined
  // A model reads the instructions before the criteria.
  return Object.assign({ type, instructions }, question)
}

const readType: Read<Question["type"]> = (value, path, problems) =>
  value === "noul" || value === "choice" || value === "score"
    ? value
    : reject(problems, { path, problem: "unknown_type", message: "Expected one of noul, choice, score" })

const readInstructions: Read<Question["instructions"]> = (value, path, problems) => {
  const isText = typeof value === "string"
  if (!isText && !isObject(value) && !isList(value)) return reject(problems, wrong(path, "string, object or array"))
  const isEmpty = isText ? value.trim() === "" : Object.keys(value).length === 0
  if (isEmpty) return reject(problems, { path, problem: "empty", message: "The instructions must not be empty" })
  return value
}

type WithoutInstructions<Q> = Q extends Question ? Omit<Q, "instructions"> : never

type ReadCriteria = (
  question: JsonRecord,
  path: Path,
  problems: Array<QuestionProblem>
) => WithoutInstructions<Question> | undefined

const readCriteria: { readonly [type in Question["type"]]: ReadCriteria } = {
  noul: (question, path, problems) => {
    const value = own(question, "criteria")
    if (value === undefined || value === null) return { type: "noul" }
    const criteria = readTruths(value, [...path, "criteria"], problems)
    return criteria && { type: "noul", criteria }
  },
  choice: (question, path, problems) => {
    const criteria = readField(question, "criteria", problems, readOptions, path)
    return criteria && { type: "choice", criteria, ...readOrder(own(question, "order"), Object.keys(criteria)) }
  },
  score: (question, path, problems) => {
    const criteria = readField(question, "criteria", problems, readLevels, path)
    return criteria && { type: "score", criteria }
  }
}

const readTruths: Read<{ readonly true: string; readonly false: string }> = (value, path, problems) => {
  if (!isObject(value)) return reject(problems, wrong(path, "object"))
  for (const key of Object.keys(value)) {
    if (key === "true" || key === "false") continue
    problems.push({ path: [...path, key], problem: "unknown_field", message: "Only true and false may be described" })
  }
  const whenTrue = readField(value, "true", problems, readText, path)
  const whenFalse = readField(value, "false", problems, readText, path)
  return whenTrue === undefined || whenFalse === undefined ? undefined : { true: whenTrue, false: whenFalse }
}

const readOptions: Read<{ readonly [option: string]: string | null }> = (value, path, problems) => {
  if (!isObject(value)) return reject(problems, wrong(path, "object"))
  const names = Object.keys(value)
  if (!isCountWithin(names.length, 1, maximumOptions, "options", path, problems)) return undefined
  const read = names.map((name) => {
    const description = value[name]
    const isFine = description === null || typeof description === "string"
    return [name, isFine ? description : reject(problems, wrong([...path, name], "string or null"))] as const
  })
  return Object.fromEntries(read.flatMap(([name, text]) => (text === undefined ? [] : [[name, text]])))
}

/** An order that does not name each option once is ignored, as every field that is none of a question. */
const readOrder = (value: unknown, options: ReadonlyArray<string>): { readonly order?: ReadonlyArray<string> } => {
  if (!isList(value) || value.length !== options.length) return {}
  const named = new Set<unknown>(value)
  return options.every((option) => named.has(option)) ? { order: value.map(String) } : {}
}

const readLevels: Read<ReadonlyArray<string>> = (value, path, problems) => {
  if (!isList(value)) return reject(problems, wrong(path, "array"))
  if (!isCountWithin(value.length, 2, maximumLevels, "levels", path, problems)) return undefined
  return value.flatMap((level, index) => readText(level, [...path, index], problems) ?? [])
}

const isCountWithin = (
  count: number,
  least: number,
  most: number,
  what: string,
  path: Path,
  problems: Array<QuestionProblem>
): boolean => {
  if (count >= least && count <= most) return true
  problems.push({
    path,
    problem: count < least ? "too_few" : "too_many",
    message: `There must be ${least} to ${most} ${what}, and there are ${count}`
  })
  return false
}

const readText: Read<string> = (value, path, problems) =>
  typeof value === "string" ? value : reject(problems, wrong(path, "string"))

const readState = (value: unknown, problems: Array<QuestionProblem>): Schema.Json | null => {
  if (value === undefined || value === null) return null
  if (typeof value === "string" || isObject(value) || isList(value)) return value
  return reject(problems, wrong(["state"], "object, array or string")) ?? null
}

/** Reads a required field. */
const readField = <A>(
  value: JsonRecord,
  name: string,
  problems: Array<QuestionProblem>,
  read: Read<A>,
  path: Path = []
): A | undefined => {
  const at = [...path, name]
  const field = own(value, name)
  return field === undefined
    ? reject(problems, { path: at, problem: "missing", message: "Field required" })
    : read(field, at, problems)
}

const reject = (problems: Array<QuestionProblem>, problem: QuestionProblem): undefined => {
  problems.push(problem)
  return undefined
}

const wrong = (path: Path, expected: string): QuestionProblem => ({
  path,
  problem: "wrong_type",
  message: `Expected ${/^[aeiou]/.test(expected) ? "an" : "a"} ${expected}`
})

// The checked value comes from a JSON parser, so the contents of an object or a list are JSON as well.

type JsonRecord = Schema.JsonObject

const isObject = (value: unknown): value is Schema.JsonObject =>
  typeof value === "object" && value !== null && !Array.isArray(value)

export const isList = (value: unknown): value is Schema.JsonArray => Array.isArray(value)

/** Reads only the client's own fields: a name such as `constructor` finds nothing else. */
const own = (value: JsonRecord, name: string): unknown => (Object.hasOwn(value, name) ? value[name] : undefined)
