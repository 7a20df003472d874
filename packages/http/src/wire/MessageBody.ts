/**
 * The body of the two message endpoints (specification part 4, "Message body"), in its three encodings. The JSON form is the definition: the
 * two form encodings are brought into its shape (`FormFields.ts`) and decoded by the same schema.
 *
 * A field that an endpoint does not have is an unknown field there and ignored: `router` on the stateless body, `video_*` on the body for
 * a thread.
 */
import * as Schema from "effect/Schema"
import { isJsonObject } from "./Json.ts"
import { BooleanWord, isBooleanWord, maybe, Uuid } from "./Fields.ts"
import { Tool } from "./Tools.ts"

export const Thinking = Schema.Struct({
  effort: maybe(Schema.Literals(["low", "medium", "high", "max"])),
  budget_tokens: maybe(Schema.Int.check(Schema.isGreaterThanOrEqualTo(0))),
  max_tokens: maybe(Schema.Int.check(Schema.isGreaterThanOrEqualTo(1))),
  exclude_reasoning: maybe(Schema.Boolean)
}).annotate({ identifier: "Thinking" })
export type Thinking = typeof Thinking.Type

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

/** Bodies ignore what they do not know, except inside these fields, where it is refused; `video_config` has a check of its own. */
export const exactFields: ReadonlySet<string> = new Set(["thinking", "router"])
export const exactRecords: ReadonlySet<string> = new Set(["Thinking", "Router", "VideoConfig"])

const MetadataText = Schema.String.check(
  Schema.makeFilter((text: string) => isJsonObject(text) || "Expected the text of a JSON object")
)

const DateTime = Schema.String.annotate({ format: "date-time" }).check(
  Schema.makeFilter((text: string) => isDateTime(text) || "Expected an ISO 8601 date and time")
)

const dateTime = /^\d{4}-\d{2}-\d{2}[Tt ]\d{2}:\d{2}(?::\d{2}(?:\.\d+)?)?(?:[Zz]|[+-]\d{2}:?\d{2})?$/u
const isDateTime = (text: string): boolean =>
  dateTime.test(text) && !Number.isNaN(Date.parse(text.replace(" ", "T"))) && isDay(text.slice(0, 10))

/** The platform makes the 2nd of March of the 30th of February. */
const isDay = (text: string): boolean => new Date(`${text}T00:00:00Z`).toISOString().startsWith(text)

const SendToLlm = Schema.Union([
  Schema.Boolean,
  Schema.String.check(Schema.isPattern(isBooleanWord, { expected: "a boolean" }))
])

const fields = {
  content: maybe(Schema.String),
  llm_provider: maybe(Schema.String),
  model_name: maybe(Schema.String),
  system_prompt: maybe(Schema.String),
  image_generation: maybe(Schema.Literals(["auto", "off"])),
  image_model_provider: maybe(Schema.String),
  image_model_name: maybe(Schema.String),
  image_config: maybe(Schema.JsonObject),
  stream: maybe(Schema.Boolean),
  thinking: maybe(Thinking),
  tools: maybe(Schema.Array(Tool)),
  memory: maybe(Schema.Literals(["off", "Auto", "Readonly"])),
  memory_response_citation: maybe(Schema.Boolean),
  /** Deprecated alias of `memory_response_citation`. */
  memory_citation: maybe(Schema.Boolean),
  memory_pro: maybe(Schema.Literals(["Auto", "Readonly", "off"])),
  web_search: maybe(Schema.Literals(["off", "Auto"])),
  send_to_llm: maybe(SendToLlm),
  json_output: maybe(Schema.Boolean),
  custom_timestamp: maybe(DateTime),
  voice: maybe(Schema.JsonObject),
  /** Ids of documents of the thread or its assistant: files that were sent before, and are meant with this message. */
  attachments: maybe(Schema.Array(Schema.String)),
  system_one: maybe(Schema.JsonObject)
}

const stateless = {
  thread_id: maybe(Uuid),
  assistant_id: maybe(Uuid),
  video_generation: maybe(Schema.Literals(["auto", "off"])),
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
 * The same as the server reads it. `video_config` is checked by its wing, and where the tool is enabled by the part of the turn, which finds
 * all of its problems at once, those that depend on the model among them.
 */
export const StatelessMessageBody = Schema.Struct({
  ...StatelessMessageRequest.fields,
  video_config: maybe(Schema.Json)
})
export type StatelessMessageBody = typeof StatelessMessageBody.Type

/** How the two form encodings write fields that are no text. */
export const jsonFields = [
  "tools",
  "thinking",
  "router",
  "voice",
  "image_config",
  "video_config",
  "system_one",
  "attachments"
] as const
export const booleanFields = ["stream", "json_output", "memory_response_citation", "memory_citation"] as const

const JsonText = maybe(Schema.String.annotate({ contentMediaType: "application/json" }))
const Flag = maybe(BooleanWord)
const File = Schema.String.annotate({ format: "binary" })

const formText = {
  content: fields.content,
  llm_provider: fields.llm_provider,
  model_name: fields.model_name,
  system_prompt: fields.system_prompt,
  image_generation: fields.image_generation,
  image_model_provider: fields.image_model_provider,
  image_model_name: fields.image_model_name,
  image_config: JsonText,
  stream: Flag,
  thinking: JsonText,
  tools: JsonText,
  memory: fields.memory,
  memory_response_citation: Flag,
  memory_citation: Flag,
  memory_pro: fields.memory_pro,
  web_search: fields.web_search,
  send_to_llm: Flag,
  json_output: Flag,
  custom_timestamp: fields.custom_timestamp,
  metadata: JsonText,
  voice: JsonText,
  attachments: JsonText,
  system_one: JsonText
}

const formStateless = {
  thread_id: stateless.thread_id,
  assistant_id: stateless.assistant_id,
  video_generation: stateless.video_generation,
  video_model_provider: stateless.video_model_provider,
  video_model_name: stateless.video_model_name,
  video_config: JsonText
}

const uploads = { audio_file: maybe(File), files: maybe(Schema.Array(File)) }

/** The same bodies as forms, for documents: what a form field holds is text. */
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
