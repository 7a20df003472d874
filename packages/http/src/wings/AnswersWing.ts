/**
 * Typed answers: `system_one` asks for them. The whole message is checked here as well, so that a client is told every problem at once: the
 * questions, and each field that this path does not take.
 */
import { checkTypedAsk, TypedAnswers } from "@colloquy/core/wings"
import { totalTokens } from "@colloquy/core/adapters"
import * as Option from "effect/Option"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import { isRecord } from "../wire/Json.ts"
import { namesInOrder } from "../wire/NamesInOrder.ts"
import type { RawBody } from "../bodies/RequestBody.ts"
import type { SystemOne } from "../wire/Answers.ts"
import { isGiven, isOneOf, problem, type Path, type RawFields } from "../bodies/RawFields.ts"
import type { Wing } from "./Wing.ts"

/** For each field of a message, the values that ask for something which typed answers do not give. */
const unsupported: Readonly<Record<string, (value: unknown) => boolean>> = {
  stream: (value) => value === true,
  thinking: isGiven,
  tools: (value) => Array.isArray(value) && value.length > 0,
  temperature: isGiven,
  max_tokens: isGiven,
  response_format: isGiven,
  attachments: (value) => Array.isArray(value) && value.length > 0,
  memory: (value) => isOneOf(value, "Auto", "Readonly"),
  memory_pro: (value) => isOneOf(value, "Auto", "Readonly"),
  web_search: (value) => isOneOf(value, "Auto"),
  image_generation: (value) => isOneOf(value, "auto"),
  video_generation: (value) => isOneOf(value, "auto"),
  voice: (value) => isRecord(value) && (isGiven(value["stt"]) || isGiven(value["tts"]))
}

const aboutFields = (fields: RawFields, { files }: RawBody) =>
  [
    ...Object.keys(unsupported).filter((name) => unsupported[name]?.(fields[name])),
    ...new Set(files.map(({ field }) => field))
  ].map((name) => problem([name], "not_supported", `Typed answers do not take "${name}". Leave it out.`))

const aboutQuestions = (asked: unknown) =>
  Result.match(checkTypedAsk(asked), {
    onFailure: (problems) =>
      problems.map(({ message, path, problem: type }) => problem(["system_one", ...path], type, message)),
    onSuccess: () => []
  })

/** Fields of the message by the kernel's names. */
const fieldPaths: Readonly<Record<string, Path>> = { provider: ["llm_provider"], model: ["model_name"] }
const ownOptions = new Set(["questions", "state"])

const wirePath = (path: Path): Path => {
  const [first] = path
  if (first === undefined || ownOptions.has(String(first))) return ["system_one", ...path]
  return fieldPaths[first] ?? path
}

/** With the order of options beside each choice whose object does not keep it. */
const withOrders = (asked: Schema.JsonObject): Schema.JsonObject => {
  const { questions } = asked
  if (!isJsonRecord(questions)) return asked
  const ordered = Object.entries(questions).flatMap(([name, question]) => {
    const order =
      isJsonRecord(question) && isJsonRecord(question.criteria) ? namesInOrder(question.criteria) : undefined
    return order === undefined || !isJsonRecord(question) ? [] : [[name, joined({ order }, question)] as const]
  })
  return ordered.length === 0 ? asked : joined(asked, { questions: joined(questions, Object.fromEntries(ordered)) })
}

/** Made from entries, because a question may be called "__proto__". */
const joined = (one: Schema.JsonObject, other: Schema.JsonObject): Schema.JsonObject =>
  Object.fromEntries([...Object.entries(one), ...Object.entries(other)])

const isJsonRecord = (value: Schema.Json | undefined): value is Schema.JsonObject => isRecord(value)

const decode = Schema.decodeUnknownOption(Schema.toCodecJson(TypedAnswers))

const toWire = (kept: Schema.Json | null): SystemOne | null =>
  Option.match(decode(kept), {
    onNone: () => null,
    onSome: ({ answers, estimated, method, model, usage }) => ({
      answers,
      model,
      usage: { input_tokens: usage.inputTokens, output_tokens: usage.outputTokens, total_tokens: totalTokens(usage) },
      method,
      estimated
    })
  })

export const answersWing: Wing = {
  part: "answers",
  message: {
    concerns: ["system_one"],
    asked: ({ system_one }) => (isGiven(system_one) ? [{ path: ["system_one"], title: "Typed answers" }] : []),
    problems: (fields, raw) =>
      isGiven(fields["system_one"]) ? [...aboutQuestions(fields["system_one"]), ...aboutFields(fields, raw)] : [],
    options: ({ system_one }) => (system_one ? withOrders(system_one) : null),
    bodyPath: wirePath
  },
  fields: ({ answer }) => ({ system_one: toWire(answer) })
}
