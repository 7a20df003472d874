/**
 * The body of the two message endpoints, in its three encodings. The JSON form is the definition: the
 * two form encodings are brought into its shape (`FormFields.ts`) and decoded by the same schema.
 *
 * A field that an endpoint does not have is an unknown field there and ignored: `router` on the stateless body, `video_*` on the body for
 * a thread.
 */
import { ImageOptions, Version } from "@colloquy/core/adapters"
import * as Schema from "effect/Schema"
import { SystemOneRequest } from "./Answers.ts"
import { isJsonObject } from "./Json.ts"
import { booleanPattern, BooleanWord, DateTime, maybe, maybeOr, Uuid } from "./Fields.ts"
import { Tool } from "./Tools.ts"

export const Thinking = Schema.Struct({
  effort: maybe(Schema.Literals(["low", "medium", "high", "max"])),
  budget_tokens: maybe(Schema.Int.check(Schema.isGreaterThanOrEqualTo(0))),
  max_tokens: maybe(Schema.Int.check(Schema.isGreaterThanOrEqualTo(1))),
  exclude_reasoning: maybeOr(Schema.Boolean, false)
}).annotate({ identifier: "Thinking" })
export type Thinking = typeof Thinking.Type

const fraction = (maximum: number) => maybe(Schema.Finite.check(Schema.isBetween({ minimum: 0, maximum })))

/** How the model writes its answer. Of a message: each field that is given replaces the assistant's. */
export const ModelOptions = Schema.Struct({
  temperature: fraction(2),
  top_p: fraction(1),
  max_output_tokens: maybe(Schema.Int.check(Schema.isGreaterThanOrEqualTo(1))),
  /** The answer ends before the first of these texts. */
  stop: maybe(Schema.Array(Schema.NonEmptyString).check(Schema.isMinLength(1), Schema.isMaxLength(8))),
  seed: maybe(Schema.Int),
  /** Of the first model call: `required` is any tool, a name is that one. */
  tool_choice: maybe(
    Schema.Union([Schema.Literals(["auto", "none", "required"]), Schema.Struct({ name: Schema.NonEmptyString })])
  ),
  parallel_tool_calls: maybe(Schema.Boolean),
  /** The most model calls of a run. The last one is asked without tools. */
  max_steps: maybe(Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 64 })))
}).annotate({ identifier: "ModelOptions" })
export type ModelOptions = typeof ModelOptions.Type

const names = maybe(Schema.Array(Schema.String))
const price = maybe(Schema.Finite.check(Schema.isGreaterThanOrEqualTo(0)))

export const Router = Schema.Struct({
  providers: names,
  allow_fallbacks: maybe(Schema.Boolean),
  sort: maybe(Schema.Literals(["price", "throughput", "latency"])),
  ignore: names,
  /** US dollars per million tokens. */
  max_price: maybe(Schema.Struct({ prompt: price, completion: price })),
  allowed_models: names,
  excluded_models: names,
  cost_tier: maybe(Schema.Literals(["low", "medium", "high", "xhigh", "max"]))
}).annotate({ identifier: "Router" })
export type Router = typeof Router.Type

export const VideoConfig = Schema.Struct({
  duration: maybe(Schema.Finite.check(Schema.isGreaterThan(0))),
  resolution: maybe(Schema.String),
  aspect_ratio: maybe(Schema.String),
  size: maybe(Schema.String.check(Schema.isPattern(/^\d+x\d+$/u, { expected: "WIDTHxHEIGHT" }))),
  generate_audio: maybe(Schema.Boolean),
  seed: maybe(Schema.Int),
  provider: maybe(
    Schema.Struct({
      only: names,
      order: names,
      ignore: names,
      sort: maybe(Schema.Literals(["price", "throughput", "latency"])),
      allow_fallbacks: maybe(Schema.Boolean)
    })
  ),
  upscale_factor: maybe(Schema.Finite),
  creativity: maybe(Schema.Union([Schema.Finite, Schema.String]))
}).annotate({ identifier: "VideoConfig" })

/** Checked by the part that makes pictures, with what the model takes. */
const ImageConfig = ImageOptions.annotate({ identifier: "ImageConfig" })

/** `{}` takes every default: the first provider and model that the server has. */
const VoiceRequest = Schema.Struct({
  stt: maybe(
    Schema.Struct({
      provider: maybe(Schema.String),
      model: maybe(Schema.String),
      language: maybe(Schema.String),
      prompt: maybe(Schema.String)
    })
  ),
  tts: maybe(
    Schema.Struct({
      provider: maybe(Schema.String),
      model: maybe(Schema.String),
      voice: maybe(Schema.String),
      format: maybe(Schema.Literals(["mp3", "wav", "pcm"])),
      speed: maybe(Schema.Finite.check(Schema.isBetween({ minimum: 0.25, maximum: 4 })))
    })
  )
}).annotate({ identifier: "VoiceRequest" })

/**
 * Unknown fields of a body are ignored, but refused inside these fields; `video_config` has a check of its own. Bodies of evals refuse them
 * everywhere.
 */
export const exactFields: ReadonlySet<string> = new Set(["thinking", "router", "model_options"])
export const exactRecords: ReadonlySet<string> = new Set([
  "Thinking",
  "Router",
  "VideoConfig",
  "ImageConfig",
  "ModelOptions",
  "EvalCaseGiven",
  "EvalCaseRequest",
  "EvalCasesImport",
  "EvalCaseUpdate",
  "EvalExpectation",
  "EvalVariant",
  "ExperimentRequest",
  "ExperimentResume",
  "FeedbackRequest"
])

const MetadataText = Schema.String.check(
  Schema.makeFilter((text: string) => isJsonObject(text) || "Expected the text of a JSON object")
)

const SendToLlm = Schema.Union([
  Schema.Boolean,
  Schema.String.check(Schema.isPattern(booleanPattern, { expected: "a boolean" }))
])

/** The fields that stand before `metadata` in a form. */
const firstFields = {
  content: maybe(Schema.String),
  /** Absent: the version that the thread is pinned to, or the present one. */
  assistant_version: maybe(Version),
  llm_provider: maybe(Schema.String),
  model_name: maybe(Schema.String),
  system_prompt: maybe(Schema.String),
  image_generation: maybeOr(Schema.Literals(["auto", "off"]), "off"),
  image_model_provider: maybe(Schema.String),
  image_model_name: maybe(Schema.String),
  image_config: maybe(ImageConfig),
  stream: maybeOr(Schema.Boolean, false),
  thinking: maybe(Thinking),
  model_options: maybe(ModelOptions),
  tools: maybe(Schema.Array(Tool)),
  memory: maybeOr(Schema.Literals(["off", "Auto", "Readonly"]), "off"),
  memory_response_citation: maybeOr(Schema.Boolean, false),
  /** Deprecated alias of `memory_response_citation`. */
  memory_citation: maybeOr(Schema.Boolean, false),
  memory_pro: maybeOr(Schema.Literals(["Auto", "Readonly", "off"]), "off"),
  web_search: maybeOr(Schema.Literals(["off", "Auto"]), "off"),
  send_to_llm: maybeOr(SendToLlm, "true"),
  json_output: maybeOr(Schema.Boolean, false),
  /** False: the model is not asked to mark which excerpts and memories it used. */
  citations: maybeOr(Schema.Boolean, true),
  /** True: the answer is 202 with the run, which goes on. Not with `stream`. */
  background: maybeOr(Schema.Boolean, false),
  /** JSON Schema (2020-12) of the answer: at most 64 KiB and 20 levels. */
  output_schema: maybe(Schema.Union([Schema.JsonObject, Schema.Boolean])),
  /** A name for the value: 1 to 64 letters, digits, `_` and `-`. */
  output_name: maybe(Schema.String),
  custom_timestamp: maybe(DateTime)
}

const fields = {
  ...firstFields,
  voice: maybe(VoiceRequest),
  /** Ids of documents of the thread or its assistant: files that were sent before, and are meant with this message. */
  attachments: maybe(Schema.Array(Schema.String)),
  system_one: maybe(SystemOneRequest)
}

const stateless = {
  thread_id: maybe(Uuid),
  assistant_id: maybe(Uuid),
  video_generation: maybeOr(Schema.Literals(["auto", "off"]), "off"),
  video_model_provider: maybe(Schema.String),
  video_model_name: maybe(Schema.String),
  video_config: maybe(VideoConfig)
}

export const MessageRequest = Schema.Struct({
  ...fields,
  router: maybe(Router),
  metadata: maybe(MetadataText)
}).annotate({ identifier: "MessageRequest" })
export type MessageRequest = typeof MessageRequest.Type

export const StatelessMessageRequest = Schema.Struct({
  ...fields,
  ...stateless,
  metadata: maybe(Schema.Union([MetadataText, Schema.JsonObject]))
}).annotate({ identifier: "StatelessMessageRequest" })
export type StatelessMessageRequest = typeof StatelessMessageRequest.Type

/**
 * Fields of these bodies as the server reads them. Each asks one part of turns for something. The part and its wing check the field, and find
 * all problems at once, also problems that depend on the model.
 */
const checkedByWings = {
  image_config: maybe(Schema.JsonObject),
  voice: maybe(Schema.JsonObject),
  system_one: maybe(Schema.JsonObject)
}
export const MessageBody = Schema.Struct({ ...MessageRequest.fields, ...checkedByWings })
export type MessageBody = typeof MessageBody.Type
export const StatelessMessageBody = Schema.Struct({
  ...StatelessMessageRequest.fields,
  ...checkedByWings,
  video_config: maybe(Schema.Json)
})
export type StatelessMessageBody = typeof StatelessMessageBody.Type

/** How the two form encodings write fields that are no text. */
export const jsonFields = [
  "tools",
  "thinking",
  "model_options",
  "router",
  "voice",
  "image_config",
  "video_config",
  "system_one",
  "output_schema",
  "attachments"
] as const
export const numberFields = ["assistant_version"] as const
export const booleanFields = [
  "stream",
  "json_output",
  "citations",
  "background",
  "memory_response_citation",
  "memory_citation"
] as const

const JsonText = maybe(Schema.String.annotate({ contentMediaType: "application/json" }))
const Flag = maybeOr(BooleanWord, "false")
const File = Schema.String.annotate({ format: "binary" })

const formText = {
  ...firstFields,
  image_config: JsonText,
  stream: Flag,
  thinking: JsonText,
  model_options: JsonText,
  tools: JsonText,
  memory_response_citation: Flag,
  memory_citation: Flag,
  send_to_llm: maybeOr(BooleanWord, "true"),
  json_output: Flag,
  citations: maybeOr(BooleanWord, "true"),
  background: Flag,
  output_schema: JsonText,
  metadata: JsonText,
  voice: JsonText,
  attachments: JsonText,
  system_one: JsonText
}

const formStateless = { ...stateless, video_config: JsonText }

const uploads = { audio_file: maybe(File), files: maybe(Schema.Array(File)) }

/** The same bodies as forms, for the description of the API: what a form field holds is text. */
export const MessageForm = Schema.Struct({ ...formText, router: JsonText }).annotate({ identifier: "MessageForm" })
export const MessageUpload = Schema.Struct({ ...formText, router: JsonText, ...uploads }).annotate({
  identifier: "MessageUpload"
})
export const StatelessMessageForm = Schema.Struct({ ...formText, ...formStateless }).annotate({
  identifier: "StatelessMessageForm"
})
export const StatelessMessageUpload = Schema.Struct({ ...formText, ...formStateless, ...uploads }).annotate({
  identifier: "StatelessMessageUpload"
})
