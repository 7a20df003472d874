/** Decodes the first frame of a voice session, and refuses invalid combinations of its fields before the kernel gets it. */
import { ToolDefinition } from "@colloquy/core"
import type { ServiceSelection, SessionRequest } from "@colloquy/core/realtime"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import { optional } from "./Json.ts"

const FunctionTool = Schema.Struct({
  type: Schema.Literal("function"),
  function: Schema.Struct({
    name: ToolDefinition.fields.name,
    description: optional(Schema.String),
    parameters: optional(Schema.JsonObject),
    strict: optional(Schema.Boolean)
  })
})

const MemoryMode = Schema.Literals(["off", "Readonly", "Auto"])
const Generation = Schema.Literals(["off", "auto"])

export const WireFirstFrame = Schema.Struct({
  thread_id: optional(Schema.String),
  assistant_id: optional(Schema.String),
  system_prompt: optional(Schema.String),
  tools: optional(Schema.Array(Schema.Union([FunctionTool, Schema.Struct({ type: Schema.Literal("web_search") })]))),
  provider: Schema.String,
  model: Schema.String,
  provider_options: optional(Schema.JsonObject),
  memory: optional(MemoryMode),
  memory_pro: optional(MemoryMode),
  web_search: optional(Schema.Literals(["off", "Auto"])),
  image_generation: optional(Generation),
  image_model_provider: optional(Schema.String),
  image_model_name: optional(Schema.String),
  image_config: optional(Schema.JsonObject),
  video_generation: optional(Generation),
  video_model_provider: optional(Schema.String),
  video_model_name: optional(Schema.String),
  video_config: optional(Schema.JsonObject)
})
type WireFirstFrame = typeof WireFirstFrame.Type

const decode = Schema.decodeUnknownResult(WireFirstFrame)

/** The failure is a sentence for the client. It contains names of fields, never their values. */
export const readFirstFrame = (json: unknown): Result.Result<SessionRequest, string> => {
  const decoded = decode(json)
  if (Result.isFailure(decoded)) return Result.fail(`The first frame cannot be used: ${decoded.failure.message}`)
  const frame = decoded.success
  const selection = readSelection(frame)
  if (Result.isFailure(selection)) return Result.fail(selection.failure)
  const tools =
    frame.tools?.flatMap((tool) => (tool.type === "function" ? [toolDefinition(tool.function)] : [])) ?? null
  const twice = tools?.find(({ name }, index) => tools.findIndex((other) => other.name === name) !== index)
  if (twice !== undefined) return Result.fail(`tools: two tools have the name "${twice.name}". Rename one of them.`)
  return Result.succeed({
    threadId: frame.thread_id?.toLowerCase() ?? null,
    assistantId: frame.assistant_id?.toLowerCase() ?? null,
    systemPrompt: frame.system_prompt ?? null,
    tools,
    provider: frame.provider,
    model: frame.model,
    providerOptions: frame.provider_options ?? {},
    selection: selection.success
  })
}

const toolDefinition = ({
  description,
  name,
  parameters,
  strict
}: (typeof FunctionTool.Type)["function"]): ToolDefinition => ({
  name,
  description: description ?? null,
  parameters: parameters ?? null,
  ...(strict === undefined || strict === null ? {} : { strict })
})

const readSelection = (frame: WireFirstFrame): Result.Result<ServiceSelection, string> => {
  const image = readMedia(
    "image",
    frame.image_generation,
    frame.image_model_provider,
    frame.image_model_name,
    frame.image_config
  )
  if (Result.isFailure(image)) return Result.fail(image.failure)
  const video = readMedia(
    "video",
    frame.video_generation,
    frame.video_model_provider,
    frame.video_model_name,
    frame.video_config
  )
  if (Result.isFailure(video)) return Result.fail(video.failure)
  return Result.succeed({
    memory: frame.memory ?? "off",
    memoryPro: frame.memory_pro ?? "off",
    webSearch: frame.web_search === "Auto" || (frame.tools?.some(({ type }) => type === "web_search") ?? false),
    image: image.success,
    video: video.success
  })
}

const readMedia = (
  kind: "image" | "video",
  generation: "off" | "auto" | null | undefined,
  provider: string | null | undefined,
  model: string | null | undefined,
  config: Schema.JsonObject | null | undefined
): Result.Result<ServiceSelection["image"], string> => {
  if (generation !== "auto") {
    return config === null || config === undefined
      ? Result.succeed(null)
      : Result.fail(`${kind}_config needs ${kind}_generation "auto".`)
  }
  return typeof provider !== "string" || typeof model !== "string"
    ? Result.fail(`${kind}_generation "auto" needs ${kind}_model_provider and ${kind}_model_name.`)
    : Result.succeed({ provider, model, config: config ?? null })
}
