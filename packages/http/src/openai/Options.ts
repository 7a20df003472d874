/**
 * Options of a request that this server cannot do. One that would make another answer than the caller expects is refused; one that only
 * tunes the answer is left out, and named in the header `x-ignored-options`. Pure.
 */
import * as Result from "effect/Result"
import type { IgnoredOption, ModelOptions, Thinking } from "@colloquy/core/adapters"
import * as Schema from "effect/Schema"
import { compact, given, maybe } from "../wire/Fields.ts"
import { isRecord } from "../wire/Json.ts"
import { invalid, type OpenAiError } from "./Errors.ts"

export const ignoredHeader = "x-ignored-options"

type Fields = Readonly<Record<string, unknown>>

/** The problem with a value. Null: there is none. */
type Rule = (value: unknown) => string | null

const onlyOne: Rule = (value) =>
  value === 1 ? null : "Only one answer is given to a request. Send it again for another one."

const onlyText: Rule = (value) =>
  Array.isArray(value) && value.every((each) => each === "text")
    ? null
    : "Answers are words here. For sound, use the voice of the native API."

const notHere =
  (sentence: string): Rule =>
  (value) =>
    value === false || (Array.isArray(value) && value.length === 0) ? null : sentence

const toolChoice: Rule = (value) =>
  value === "auto" || value === "none" || readToolChoice(value) !== undefined
    ? null
    : 'Possible are "auto", "none", "required" and one function by its name. Leave the other tools out to have some of them called.'

/** A wanted call, in the two forms that OpenAI has for it; undefined: none is wanted. */
const readToolChoice = (choice: unknown): ModelOptions["toolChoice"] => {
  if (choice === "required") return choice
  if (!isRecord(choice) || choice["type"] !== "function") return undefined
  const { name } = isRecord(choice["function"]) ? choice["function"] : choice
  return typeof name === "string" ? { name } : undefined
}

const fraction = (maximum: number) => maybe(Schema.Finite.check(Schema.isBetween({ minimum: 0, maximum })))
const tokens = maybe(Schema.Int.check(Schema.isGreaterThanOrEqualTo(1)))

/** The settings of an answer that both interfaces have. */
const answerSettings = {
  temperature: fraction(2),
  top_p: fraction(1),
  parallel_tool_calls: maybe(Schema.Boolean),
  tool_choice: maybe(Schema.Unknown)
}

export const chatSettings = {
  ...answerSettings,
  max_tokens: tokens,
  max_completion_tokens: tokens,
  stop: maybe(Schema.Union([Schema.String, Schema.Array(Schema.String).check(Schema.isMaxLength(8))])),
  seed: maybe(Schema.Int)
}

export const responseSettings = { ...answerSettings, max_output_tokens: tokens }

const Settings = Schema.Struct({ ...chatSettings, ...responseSettings })

/** Undefined: the assistant's, or the model's own defaults. */
export const readModelOptions = (body: Partial<typeof Settings.Type>): ModelOptions | undefined => {
  const stop = (typeof body.stop === "string" ? [body.stop] : (body.stop ?? [])).filter((text) => text !== "")
  const options = compact({
    temperature: given(body.temperature),
    topP: given(body.top_p),
    maxOutputTokens: given(body.max_output_tokens ?? body.max_completion_tokens ?? body.max_tokens),
    stop: stop.length === 0 ? undefined : stop,
    seed: given(body.seed),
    toolChoice: readToolChoice(body.tool_choice),
    parallelToolCalls: given(body.parallel_tool_calls)
  })
  return Object.keys(options).length === 0 ? undefined : options
}

/** The settings without an effect, by the names that the client has sent them under. */
export const settingsWithoutEffect = (ignored: ReadonlyArray<IgnoredOption>, body: object): ReadonlyArray<string> =>
  ignored.flatMap(({ option }) => {
    const name = option.replace("model_options.", "")
    const names = name === "max_output_tokens" ? [name, "max_completion_tokens", "max_tokens"] : [name]
    return option === name ? [] : names.filter((each) => each in body).slice(0, 1)
  })

/** The rules for fields of both interfaces. */
const refusals: Readonly<Record<string, Rule>> = {
  n: onlyOne,
  modalities: onlyText,
  tool_choice: toolChoice,
  audio: notHere("Answers are words here. For sound, use the voice of the native API."),
  logprobs: notHere("Probabilities of tokens are not given."),
  top_logprobs: (value) => (value === 0 ? null : "Probabilities of tokens are not given."),
  functions: notHere("`functions` is the old form. Send `tools`."),
  function_call: notHere("`function_call` is the old form. Send `tools`."),
  web_search_options: notHere('Ask for the web with the tool {"type": "web_search"} of /v1/responses.'),
  prompt: notHere("Prompts are not stored here. Make an assistant and name it as the model.")
}

export const refuseOptions = (body: Fields): Result.Result<void, OpenAiError> => {
  for (const [name, rule] of Object.entries(refusals)) {
    const value = body[name]
    const problem = value === undefined || value === null ? null : rule(value)
    if (problem !== null) return Result.fail(invalid(problem, name, "unsupported_parameter"))
  }
  return Result.void
}

/** The answer does not depend on these here, so a client need not be told that they have no effect. */
const withoutEffect: ReadonlySet<string> = new Set([
  ...Object.keys(refusals),
  "user",
  "safety_identifier",
  "prompt_cache_key",
  "prompt_cache_retention",
  "service_tier",
  "include"
])

/** Values that ask for the usual behaviour. */
const usual: Readonly<Record<string, unknown>> = {
  truncation: "auto",
  presence_penalty: 0,
  frequency_penalty: 0
}

/** Whether this is a field of OpenAI's. `known`: the fields that the interface reads. */
export const isOfOpenAi = (name: string, known: object): boolean =>
  Object.hasOwn(known, name) || withoutEffect.has(name) || Object.hasOwn(usual, name)

/** The names of options in the request that have no effect. `known`: the fields that the interface reads. */
export const ignoredOptions = (body: Fields, known: object): ReadonlyArray<string> =>
  Object.entries(body).flatMap(([name, value]) => {
    if (
      value === null ||
      value === undefined ||
      Object.hasOwn(known, name) ||
      withoutEffect.has(name) ||
      usual[name] === value
    )
      return []
    return [name.replaceAll(/[^\w-]/gu, "").slice(0, 64)]
  })

const efforts: ReadonlyMap<unknown, Thinking["effort"]> = new Map([
  ["minimal", "low"],
  ["low", "low"],
  ["medium", "medium"],
  ["high", "high"],
  ["xhigh", "max"],
  ["max", "max"]
])

/** Undefined: the provider's default. */
export const readThinking = (effort: string | null | undefined): Thinking | undefined => {
  const known = efforts.get(effort)
  return known === undefined ? undefined : { effort: known }
}

/** The form of the answer, as both interfaces name it. */
export interface AnswerFormat {
  readonly type: string
  readonly name?: unknown
  readonly schema?: unknown
}

/** The instruction by which the model's answer gets this form. Null: any form is right. */
export const formatInstruction = ({ name, schema, type }: AnswerFormat): string | null => {
  if (type === "json_object") return "Answer with one JSON object and nothing else."
  if (type !== "json_schema" || !isRecord(schema)) return null
  const title = typeof name === "string" ? ` "${name}"` : ""
  return `Answer with one JSON value and nothing else: no words around it, no code fence. It must be valid by this JSON Schema${title}:\n${JSON.stringify(schema)}`
}
