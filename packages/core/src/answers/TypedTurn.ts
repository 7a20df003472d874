/**
 * Pure: decides whether a turn is one of typed answers, and finds all its problems. Paths
 * begin with `questions` or `state` for the client's questions, and with the name of the request's field for a setting that typed answers
 * do not support.
 */
import * as Result from "effect/Result"
import type * as Schema from "effect/Schema"
import type { Provider } from "../models/Provider.ts"
import type { TurnCase } from "../turns/TurnPart.ts"
import { checkTypedAsk, type QuestionProblem, type TypedAsk } from "./CheckQuestions.ts"

export type TurnProblem = Pick<QuestionProblem, "path" | "message">

type TypedTurn = Pick<TurnCase, "assistant" | "options" | "request">

/** Null: the turn is of another kind. */
export const checkTypedTurn = (
  turn: TypedTurn,
  provider: Provider | undefined
): Result.Result<TypedAsk, ReadonlyArray<TurnProblem>> | null => {
  if (!isTypedTurn(turn, provider)) return null
  if (turn.options === undefined) return Result.fail([questionsMissing])
  const asked = checkTypedAsk(turn.options)
  const problems: ReadonlyArray<TurnProblem> = [
    ...(Result.isFailure(asked) ? asked.failure : []),
    ...settingProblems(turn),
    ...otherParts(turn.request.options ?? {})
  ]
  return problems.length === 0 ? asked : Result.fail(problems)
}

/** A quick check: the message has questions, or the provider gives only typed answers. */
export const isTypedTurn = ({ options }: Pick<TypedTurn, "options">, provider: Provider | undefined): boolean =>
  options !== undefined || givesOnlyAnswers(provider)

const givesOnlyAnswers = (provider: Provider | undefined): boolean =>
  provider?.answers !== undefined && provider.chat === undefined

const questionsMissing: TurnProblem = {
  path: [],
  message: "This provider gives typed answers only. Send questions with the message, or choose another provider."
}

const settingProblems = ({ assistant, request }: TypedTurn): ReadonlyArray<TurnProblem> => [
  ...(request.stream === true ? [refused("stream", "Typed answers are not streamed")] : []),
  ...(request.thinking === undefined ? [] : [refused("thinking", "Typed answers take no settings for thinking")]),
  ...toolProblems(request.tools, assistant.tools)
]

const toolProblems = (
  own: TypedTurn["request"]["tools"],
  ofAssistant: TypedTurn["assistant"]["tools"]
): ReadonlyArray<TurnProblem> => {
  if (own !== undefined) return own.length === 0 ? [] : [refused("tools", "Typed answers use no tools")]
  return (ofAssistant ?? []).length === 0
    ? []
    : [refused("tools", "Typed answers use no tools, and the assistant has some: send an empty list of tools")]
}

/** The names of the other wings' parts. A host's own parts, such as a guardrail, may join a typed turn. */
const unsupportedParts = ["documents", "image", "memory", "search", "video", "voice"] as const

const unsupported: { readonly [Part in (typeof unsupportedParts)[number]]: string } = {
  documents: "Typed answers accept no attachments",
  image: "Typed answers make no images",
  memory: "Typed answers use no memory",
  search: "Typed answers do not search the web",
  video: "Typed answers make no videos",
  voice: "Typed answers support no voice"
}

const otherParts = (options: Schema.JsonObject): ReadonlyArray<TurnProblem> =>
  unsupportedParts.filter((part) => isAskedFor(options[part])).map((part) => refused(part, unsupported[part]))

/** An option that switches nothing on is ignored. */
const isAskedFor = (option: Schema.Json | undefined): boolean => {
  if (option === undefined || option === null || option === "off" || option === false) return false
  if (typeof option !== "object" || Array.isArray(option)) return true
  return !("mode" in option && option["mode"] === "off")
}

const refused = (field: string, what: string): TurnProblem => ({ path: [field], message: `${what}.` })
