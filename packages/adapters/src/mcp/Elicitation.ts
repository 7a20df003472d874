/**
 * Questions of a server to a person, in the middle of a call: the questions, the answers, and the state that is stored between them. In the
 * stateless revision a result contains the questions, and the call is repeated with the answers. Older servers ask while the call is under
 * way. No call can stay open for days, so it is ended, and made again when the answer is there.
 */
import { HostedToolFailed, PersonAsked, type PersonsAnswer } from "@colloquy/core"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import { asSentence } from "./McpTools.ts"
import { isUsableSchema } from "../protocols/UsableSchema.ts"

/**
 * The most questions of one call, in all rounds together, and the most characters of their forms and of the state that the server wants
 * back.
 */
const most = { questions: 16, schema: 16_000, state: 64_000 }

/** The values that a form of the protocol may have. */
const FormValue = Schema.Union([
  Schema.String,
  Schema.Finite,
  Schema.Boolean,
  Schema.mutable(Schema.Array(Schema.String))
])

const ElicitResult = Schema.Struct({
  action: Schema.Literals(["accept", "decline", "cancel"]),
  content: Schema.optionalKey(Schema.mutableKey(Schema.Record(Schema.String, FormValue)))
})

const Asked = Schema.Struct({ key: Schema.String, message: Schema.String, schema: Schema.JsonObject })
export type Asked = typeof Asked.Type

/** The state that is stored with the run while a person is asked. The first of `asked` is the present question; the others follow. */
const CallState = Schema.Struct({
  asked: Schema.Array(Asked),
  /** The state that a server of the stateless revision wants back. */
  requestState: Schema.NullOr(Schema.String),
  /** The answers of this round, by the server's keys; of an older server all answers, in the order of its questions. */
  responses: Schema.Record(Schema.String, ElicitResult),
  /** How many questions were asked in all. */
  count: Schema.Int
})
export type CallState = typeof CallState.Type

const decodeState = Schema.decodeUnknownOption(CallState)

export const noQuestions: CallState = { asked: [], requestState: null, responses: {}, count: 0 }

/** The state with the answer to its first question. */
export const withAnswer = (answer: PersonsAnswer | undefined): CallState => {
  const state = Option.getOrElse(decodeState(answer?.state), () => noQuestions)
  const [first, ...asked] = state.asked
  if (first === undefined || answer === undefined) return noQuestions
  const { action, content } = answer
  const response = action === "accept" ? { action, content: formContent(completed(first.schema, content)) } : { action }
  return { ...state, asked, responses: { ...state.responses, [first.key]: response } }
}

/** An answer in which the form's own values fill the fields that the person has left out. */
export const completed = ({ properties }: Schema.JsonObject, answer: Schema.JsonObject): Schema.JsonObject => {
  const usual = Object.entries(isObject(properties) ? properties : {}).flatMap(([name, field]) =>
    isObject(field) && field["default"] !== undefined ? [[name, field["default"]] as const] : []
  )
  return Object.assign({}, Object.fromEntries(usual), answer)
}

const isObject = Schema.is(Schema.JsonObject)
const isFormValue = Schema.is(FormValue)

const formContent = (content: Schema.JsonObject) => {
  const values: Record<string, typeof FormValue.Type> = {}
  for (const [name, value] of Object.entries(content)) if (isFormValue(value)) values[name] = value
  return values
}

/** Fails with the question for a person. */
export const askFirst = (state: CallState): Effect.Effect<never, PersonAsked | HostedToolFailed> => {
  const [first] = state.asked
  const count = state.count + 1
  if (first === undefined || count > most.questions)
    return Effect.fail(new HostedToolFailed({ message: "the tool asks a person again and again." }))
  const { message, schema } = first
  return Effect.fail(new PersonAsked({ message, schema, state: { ...state, count } }))
}

const Request = Schema.Struct({
  method: Schema.Literal("elicitation/create"),
  params: Schema.Struct({
    mode: Schema.optionalKey(Schema.Literal("form")),
    message: Schema.String,
    requestedSchema: Schema.JsonObject
  })
})
const decodeRequest = Schema.decodeUnknownOption(Request)

/** Null: the request cannot be put to a person, because it is no form of the protocol or is too large. */
export const readQuestion = (key: string, request: unknown): Asked | null => {
  const read = Option.getOrNull(decodeRequest(request))
  if (read === null || key.length > 200) return null
  const { message, requestedSchema: schema } = read.params
  if (!isUsableSchema(schema) || !isForm(schema) || JSON.stringify(schema).length > most.schema) return null
  return { key, message: asSentence(message), schema }
}

const Form = Schema.Struct({
  properties: Schema.optionalKey(
    Schema.Record(
      Schema.String,
      Schema.Struct({ type: Schema.Literals(["string", "number", "integer", "boolean", "array"]) })
    )
  )
})
const isForm = (schema: unknown): boolean => Option.isSome(decodeForm(schema))
const decodeForm = Schema.decodeUnknownOption(Form)

interface InputRequired {
  readonly inputRequests?: Readonly<Record<string, unknown>> | undefined
  readonly requestState?: string | undefined
}

/**
 * The questions of a result. There are none if the server only wants the call again. Null: the server asks for something that no person can
 * give.
 */
export const readQuestions = ({ inputRequests = {}, requestState }: InputRequired, count: number): CallState | null => {
  if (requestState !== undefined && requestState.length > most.state) return null
  const entries = Object.entries(inputRequests).slice(0, most.questions)
  const asked = entries.flatMap(([key, request]) => readQuestion(key, request) ?? [])
  if (asked.length < Object.keys(inputRequests).length) return null
  return { asked, requestState: requestState ?? null, responses: {}, count }
}
