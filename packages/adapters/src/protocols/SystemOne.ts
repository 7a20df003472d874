/**
 * The protocol of System One, a model of typed answers: one request with the whole state and all questions, and one reply with a probability
 * distribution for each question. The choices and scores in the reply are not read, because the kernel computes them from the probabilities.
 * Used by `providers/SystemOne`.
 */
import { type Usage } from "@colloquy/core"
import {
  type AnswerDriver,
  type AnswerReply,
  type AnswerRequest,
  ModelError,
  noUsage,
  type TypedQuestion,
  type TypedQuestions
} from "@colloquy/core/adapters"
import * as Effect from "effect/Effect"
import type * as Schema from "effect/Schema"
import type { ApiKey } from "./ApiKey.ts"
import { type Fault, faultOfStatus, machineCode } from "./Fault.ts"
import { bearer, type ErrorDialect, fetchJson, type TransportSettings } from "./Transport.ts"
import { count, finite, isRecord, list, record, text, type WireRecord } from "./Wire.ts"

// ------ settings

export interface SystemOneSettings extends TransportSettings {
  /** The URL to which questions are posted. */
  readonly url: string
  readonly apiKey?: ApiKey
  readonly headers?: { readonly [name: string]: string }
  /** Converts the kernel's name of a model to the protocol's name; `fromWire` converts back. */
  readonly toWire: (model: string) => string
  readonly fromWire: (model: string) => string
}

// ------ request

/** The options of a question keep their order as text, which an object would not keep for names that look like numbers. */
const write = (model: string, state: Schema.Json, questions: TypedQuestions): string => {
  const written = Object.entries(questions).map(([name, question]) => [name, writeQuestion(question)] as const)
  return `{"model":${JSON.stringify(model)},"state":${JSON.stringify(state)},"questions":${writeObject(written)}}`
}

const writeQuestion = (question: TypedQuestion): string => {
  if (question.type !== "choice") return JSON.stringify(question)
  const { criteria, instructions, order = Object.keys(criteria), type } = question
  const options = order.map((option) => [option, JSON.stringify(criteria[option] ?? null)] as const)
  return `${JSON.stringify({ type, instructions }).slice(0, -1)},"criteria":${writeObject(options)}}`
}

/** `entries` have their values as JSON text. */
const writeObject = (entries: ReadonlyArray<readonly [name: string, value: string]>): string =>
  `{${entries.map(([name, value]) => `${JSON.stringify(name)}:${value}`).join(",")}}`

// ------ response

const read = (body: WireRecord, { questions }: AnswerRequest, settings: SystemOneSettings): AnswerReply => {
  const answers = Object.entries(record(body.answers))
  const model = text(body.model)
  return {
    distributions: Object.fromEntries(
      answers.flatMap(([name, answer]) => {
        const asked = Object.hasOwn(questions, name) ? questions[name]?.type : undefined
        const shares = readAnswer(record(answer), asked)
        return shares === undefined ? [] : [[name, shares]]
      })
    ),
    method: "native",
    estimated: false,
    model: model === undefined ? null : settings.fromWire(model),
    usage: readUsage(body.usage)
  }
}

/**
 * Undefined for an answer whose type is not that of the question. An answer to an unknown question stays, with an empty distribution, so that
 * the kernel notices it.
 */
const readAnswer = (answer: WireRecord, asked: string | undefined): WireRecord | undefined => {
  if (asked === undefined) return {}
  if (answer.type !== undefined && answer.type !== asked) return undefined
  if (asked !== "noul") return isRecord(answer.probabilities) ? answer.probabilities : undefined
  const { noul } = answer
  return noul === undefined ? undefined : { true: noul, false: typeof noul === "number" ? 1 - noul : noul }
}

const readUsage = (usage: unknown): Usage | null =>
  isRecord(usage)
    ? {
        ...noUsage,
        inputTokens: count(usage.input_tokens),
        outputTokens: count(usage.output_tokens),
        costUsd: finite(usage.cost) ?? null
      }
    : null

// ------ errors

const faultFor =
  (names: ReadonlyArray<string>) =>
  (status: number, body: unknown): Fault => {
    const { detail } = record(body)
    const first = record(list(detail)[0])
    const path = pathText(list(first.loc), names)
    const words = [first.type, record(detail).error_type, record(record(body).error).code]
    const coded = words.map(machineCode).find(({ code }) => code !== undefined)
    return { ...faultOfStatus(status), ...(path === "" ? coded : { code: path }) }
  }

/**
 * The path of the refused field, for example `questions.2.criteria`. A question is named by its number. The path ends before the first word
 * that is not a field of this protocol, because such words are the client's own text.
 */
const pathText = (steps: ReadonlyArray<unknown>, names: ReadonlyArray<string>): string => {
  const path: Array<string> = []
  for (const step of steps[0] === "body" ? steps.slice(1) : steps) {
    const word = path.length === 1 && path[0] === "questions" ? stepNumber(step, names) : stepWord(step)
    if (word === undefined) break
    path.push(word)
  }
  return path.join(".")
}

const stepNumber = (step: unknown, names: ReadonlyArray<string>): string | undefined => {
  const index = names.findIndex((name) => name === step)
  return index === -1 ? undefined : String(index + 1)
}

const stepWord = (step: unknown): string | undefined => {
  if (typeof step === "number") return String(step)
  return typeof step === "string" && fields.has(step) ? step : undefined
}

const fields: ReadonlySet<string> = new Set(["model", "state", "questions", "type", "instructions", "criteria"])

/** `names` are the names of the questions in the request. */
const dialectFor = (names: ReadonlyArray<string>): ErrorDialect => ({
  requestIdHeader: "x-typesafe-request-id",
  fault: faultFor(names)
})

/** For requests without questions. */
export const errorDialect: ErrorDialect = dialectFor([])

// ------ driver

export const driver =
  (settings: SystemOneSettings): AnswerDriver =>
  (request) =>
    Effect.suspend(() => {
      const { apiKey, model, provider, questions, state } = request
      const call = {
        provider,
        model,
        url: settings.url,
        headers: { ...settings.headers },
        secrets: bearer(apiKey ?? settings.apiKey),
        body: write(settings.toWire(model), state, questions)
      }
      return Effect.flatMap(fetchJson(call, dialectFor(Object.keys(questions)), settings), (body) =>
        isRecord(body) && isRecord(body.answers)
          ? Effect.succeed(read(body, request, settings))
          : Effect.fail(new ModelError({ reason: "malformed", code: "malformed_answer", provider, model }))
      )
    })
