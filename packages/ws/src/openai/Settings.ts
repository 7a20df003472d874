/**
 * Pure: the settings of a session as `session.update` changes them, and the first frame that they give. A setting that the model does not take is
 * left out, and `session.updated` shows what holds.
 */
import type { ModelInfo, ToolDefinition } from "@colloquy/core"
import { RealtimeCapabilities, type SessionRequest, type SessionSettings } from "@colloquy/core/realtime"
import * as Option from "effect/Option"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import { readFirstFrame } from "../FirstFrame.ts"
import { at, defined, type Fields, isList, isObject, merge, without } from "../Json.ts"

export interface Settings {
  readonly model: ModelInfo
  /** Parameters of the connection's address: `thread_id`, `assistant_id`, `memory`, `memory_pro`, `web_search`. */
  readonly fromQuery: Fields
  /** What the client has set. */
  readonly asked: Fields
}

export interface Problem {
  readonly message: string
  readonly param: string
}

/** Settings of the vendor's model. Others are settings of the service, or have one possible value. */
const modelSettings = [
  "output_modalities",
  "max_output_tokens",
  "tool_choice",
  "parallel_tool_calls",
  "reasoning",
  "truncation",
  "include",
  "tracing",
  "audio"
] as const

const known: ReadonlySet<string> = new Set([...modelSettings, "type", "model", "instructions", "tools", "prompt"])

const queryNames = ["thread_id", "assistant_id", "memory", "memory_pro", "web_search"]

/** `provider/model`, or the name of a model alone. Null: there is no such model. */
export const openSettings = (query: URLSearchParams, models: ReadonlyArray<ModelInfo>): Settings | null => {
  const wanted = query.get("model")
  const model =
    wanted === null
      ? models[0]
      : (models.find(({ name, provider }) => `${provider}/${name}` === wanted) ??
        models.find(({ name }) => name === wanted))
  const given = queryNames.flatMap((name) => {
    const value = query.get(name)
    return value === null ? [] : [[name, value] as const]
  })
  return model === undefined ? null : { model, fromQuery: Object.fromEntries(given), asked: {} }
}

/** The settings after an update, or its first problem. */
export const updated = (settings: Settings, update: Fields): Result.Result<Settings, Problem> => {
  const unknown = Object.keys(update).find((name) => !known.has(name))
  if (unknown !== undefined) return fail(`There is no setting "${unknown}".`, unknown)
  if (update["type"] !== undefined && update["type"] !== "realtime") {
    return fail('Only sessions of the type "realtime" are served here.', "type")
  }
  const model = update["model"]
  const { name, provider } = settings.model
  if (model !== undefined && model !== name && model !== `${provider}/${name}`) {
    return fail("The model of a session cannot be changed. Open a new connection with the other model.", "model")
  }
  for (const way of ["input", "output"]) {
    const format = at(update, "audio", way, "format")
    if (format !== undefined && !isOurFormat(format)) {
      return fail("The format of audio is audio/pcm with a rate of 24000.", `audio.${way}.format`)
    }
  }
  const modalities = update["output_modalities"]
  if (modalities !== undefined && !isOneModality(modalities)) {
    return fail('output_modalities is ["audio"] or ["text"].', "output_modalities")
  }
  const next = { ...settings, asked: merge(settings.asked, update) }
  const read = firstFrame(next)
  return Result.isFailure(read) ? Result.fail({ message: read.failure, param: "session" }) : Result.succeed(next)
}

const fail = (message: string, param: string) => Result.fail({ message, param: `session.${param}` })

const isOurFormat = (format: Schema.Json): boolean =>
  isObject(format) && format["type"] === "audio/pcm" && (format["rate"] === undefined || format["rate"] === 24_000)

const isOneModality = (value: Schema.Json): boolean =>
  Array.isArray(value) && value.length === 1 && (value[0] === "audio" || value[0] === "text")

/** The first frame of the session; a failure is a sentence for the client. */
export const firstFrame = (settings: Settings): Result.Result<SessionRequest, string> => {
  const { asked, fromQuery, model } = settings
  const tools = asked["tools"]
  if (tools !== undefined && tools !== null && !isList(tools)) return Result.fail("tools is a list.")
  const other = tools?.find((tool) => at(tool, "type") !== "function")
  if (other !== undefined) {
    return Result.fail(
      `A tool of the type ${JSON.stringify(at(other, "type") ?? null)} is not run here: declare functions.`
    )
  }
  const frame = readFirstFrame({
    ...defined({
      assistant_id: at(asked, "prompt", "id"),
      system_prompt: asked["instructions"],
      tools: tools?.map((tool) => ({ type: "function", function: tool }))
    }),
    ...fromQuery,
    provider: model.provider,
    model: model.name,
    provider_options: vendorOptions(settings)
  })
  return Result.map(frame, (request) => ({ ...request, approvals: true, kept: chosenSettings(asked, request) }))
}

/** What the client has set itself. A setting that is null is the assistant's again. */
const chosenSettings = (asked: Fields, { systemPrompt, tools }: SessionRequest): SessionSettings => ({
  ...(asked["instructions"] === undefined ? {} : { systemPrompt }),
  ...(asked["tools"] === undefined ? {} : { tools })
})

/** The settings of a session that has begun, together with those that its thread has stored. */
export const withKept = (settings: Settings, { systemPrompt, tools }: SessionSettings): Settings => {
  const kept = defined({ instructions: systemPrompt, tools: tools?.map(shownTool) ?? tools })
  return { ...settings, asked: { ...settings.asked, ...kept } }
}

const shownTool = ({ description, name, parameters }: ToolDefinition): Fields => ({
  type: "function",
  name,
  ...defined({ description: description ?? undefined, parameters: parameters ?? undefined })
})

/** The instructions and the tools that a change gives; null: it leaves both as they are. */
export const changedSettings = (before: Settings, after: Settings): SessionSettings | null => {
  const names = ["instructions", "tools"].filter((name) => !isSame(before.asked[name], after.asked[name]))
  const request = firstFrame(after)
  if (names.length === 0 || Result.isFailure(request)) return null
  return chosenSettings(Object.fromEntries(names.map((name) => [name, after.asked[name] ?? null])), request.success)
}

/** The problem of a change of the assistant or of the voice, when it cannot change any more. Null: there is none. */
export const fixedChange = (before: Settings, after: Settings, hasSpoken: boolean): Problem | null => {
  const voice = ["audio", "output", "voice"]
  if (!isSame(before.asked["prompt"], after.asked["prompt"])) {
    return { param: "session.prompt", message: `"prompt" holds for the whole session. ${goOn}` }
  }
  return hasSpoken && !isSame(at(before.asked, ...voice), at(after.asked, ...voice))
    ? { param: "session.audio.output.voice", message: `The voice cannot be changed after it has spoken. ${goOn}` }
    : null
}

const goOn = "Open a new connection with the other value; with the same thread_id it goes on with the conversation."

const isSame = (one: Schema.Json | undefined, other: Schema.Json | undefined): boolean =>
  JSON.stringify(one ?? null) === JSON.stringify(other ?? null)

/** The vendor's options. Some vendors have the voice and the turn detection at the top. */
export const vendorOptions = ({ asked, model }: Settings): Fields => {
  const taken = settingsTaken(model)
  const options = modelSettings.filter((name) => name !== "audio" && taken.has(name)).map((name) => [name, asked[name]])
  const atTop = defined({
    turn_detection: taken.has("turn_detection") ? at(asked, "audio", "input", "turn_detection") : undefined,
    voice: taken.has("voice") ? at(asked, "audio", "output", "voice") : undefined
  })
  const input = without(at(asked, "audio", "input"), [
    "format",
    ...(taken.has("turn_detection") ? ["turn_detection"] : [])
  ])
  const output = without(at(asked, "audio", "output"), ["format", ...(taken.has("voice") ? ["voice"] : [])])
  const audio = taken.has("audio") ? defined({ input: input ?? undefined, output: output ?? undefined }) : {}
  return { ...defined(Object.fromEntries(options)), ...atTop, ...(Object.keys(audio).length === 0 ? {} : { audio }) }
}

const decodeCapabilities = Schema.decodeUnknownOption(RealtimeCapabilities)

const settingsTaken = ({ details }: ModelInfo): ReadonlySet<string> =>
  new Set(
    Option.match(decodeCapabilities(details), { onNone: () => [], onSome: ({ providerSettings }) => providerSettings })
  )

/** Whether the client says itself when the user has spoken. */
export const isManual = (settings: Settings): boolean => {
  const options = vendorOptions(settings)
  return options["turn_detection"] === null || at(options, "audio", "input", "turn_detection") === null
}

export const isTextOnly = ({ asked }: Settings): boolean =>
  isList(asked["output_modalities"]) && asked["output_modalities"][0] === "text"

const format = { type: "audio/pcm", rate: 24_000 }

/** The session as the client sees it. */
export const shownSession = (settings: Settings, id: string): Fields => {
  const { asked, model } = settings
  const { turn_detection: detection = { type: "server_vad" }, voice, audio, ...options } = vendorOptions(settings)
  const input = { format, transcription: null, noise_reduction: null, turn_detection: detection }
  const output = { format, ...(voice === undefined ? {} : { voice }) }
  return {
    object: "realtime.session",
    id,
    tool_choice: "auto",
    max_output_tokens: "inf",
    instructions: "",
    tools: [],
    output_modalities: ["audio"],
    ...without(
      asked,
      modelSettings.filter((name) => name !== "output_modalities")
    ),
    ...options,
    type: "realtime",
    model: model.name,
    audio: merge({ input, output }, isObject(audio) ? audio : {})
  }
}
