/** The records that the service answers with, in snake_case. */
import { RunStatus } from "@colloquy/core/adapters"
import * as Schema from "effect/Schema"
import { SystemOne } from "./Answers.ts"
import { ModelOptions } from "./MessageBody.ts"
import { Timestamp } from "./Fields.ts"
import { OpenToolCall, Tool } from "./Tools.ts"

const text = Schema.NullOr(Schema.String)
const integer = Schema.NullOr(Schema.Int)
const object = Schema.NullOr(Schema.JsonObject)
const Id = Schema.String.annotate({ format: "uuid" })

const Colleague = Schema.Struct({ assistant_id: Id, name: Schema.String, description: Schema.String })

/** An assistant, as the API shows it. */
export const Assistant = Schema.Struct({
  assistant_id: Id,
  name: Schema.String,
  description: text,
  system_prompt: text,
  llm_provider: text,
  model_name: text,
  tools: Schema.NullOr(Schema.Array(Tool)),
  model_options: Schema.NullOr(ModelOptions),
  tok_k: Schema.Int,
  embedding_provider: text,
  embedding_model_name: text,
  embedding_dims: Schema.Int,
  custom_fact_extraction_prompt: text,
  custom_update_memory_prompt: text,
  metadata_: object,
  /** Assistants that this one may ask, as tools. */
  helpers: Schema.Array(Colleague),
  /** Assistants to which this one may hand a conversation over. */
  handoffs: Schema.Array(Colleague),
  /** From 1; every change makes the next one. */
  version: Schema.Int,
  created_at: Timestamp,
  updated_at: Timestamp
}).annotate({ identifier: "Assistant" })
export type Assistant = typeof Assistant.Type

const assistantVersion = {
  version: Schema.Int,
  created_at: Timestamp,
  /** The name of the key, or the owner; null when the version is older than this field. */
  by: text,
  /** The fields that differ from the version before; empty for the first one. */
  changes: Schema.Array(Schema.String)
}

/** A version of an assistant, with the assistant as it was. */
export const AssistantVersion = Schema.Struct({ ...assistantVersion, assistant: Assistant }).annotate({
  identifier: "AssistantVersion"
})
export type AssistantVersion = typeof AssistantVersion.Type

/** A page of versions. */
export const AssistantVersionList = Schema.Struct({
  versions: Schema.Array(Schema.Struct(assistantVersion)),
  /** `cursor` of the next page; null at the end. */
  next_cursor: Schema.NullOr(Schema.String)
}).annotate({ identifier: "AssistantVersionList" })
export type AssistantVersionList = typeof AssistantVersionList.Type

/** The reply of a creation; `notes` tell what the service has filled in, and are absent when there is nothing to tell. */
export const AssistantCreated = Schema.Struct({
  ...Assistant.fields,
  notes: Schema.optionalKey(Schema.Array(Schema.String))
}).annotate({ identifier: "AssistantCreated" })
export type AssistantCreated = typeof AssistantCreated.Type

/** The assistant is deleted. */
export const AssistantDeleteResponse = Schema.Struct({
  message: Schema.String,
  assistant_id: Id,
  deleted_at: Timestamp
}).annotate({ identifier: "AssistantDeleteResponse" })

/** The clone, and what came with it. */
export const AssistantCloneResponse = Schema.Struct({
  assistant: Assistant,
  documents_cloned: Schema.Int,
  memories_cloned: Schema.Int
}).annotate({ identifier: "AssistantCloneResponse" })

/** The status of an answer. */
export const MessageStatus = Schema.Literals(["IN_PROGRESS", "REQUIRES_ACTION", "COMPLETED", "FAILED", "CANCELLED"])

/** A file of a message. */
export const Attachment = Schema.Struct({
  document_id: Id,
  filename: Schema.String,
  status: Schema.String,
  file_size_bytes: integer,
  summary: text,
  mime_type: text,
  /** A signed address, valid for a limited time; it needs no key. */
  url: Schema.String
}).annotate({ identifier: "Attachment" })

/** A picture or a clip that a model made. */
export const GeneratedMedia = Schema.Struct({
  document_id: Schema.String,
  url: Schema.String,
  media_type: Schema.String,
  mime_type: Schema.String,
  file_size_bytes: Schema.optionalKey(integer)
}).annotate({ identifier: "GeneratedMedia" })

/** A memory that the model was given. */
export const RetrievedMemory = Schema.Struct({
  id: Schema.String,
  memory: Schema.String,
  score: Schema.NullOr(Schema.Finite),
  /** Null unless citations were asked for. */
  cited: Schema.NullOr(Schema.Boolean)
}).annotate({ identifier: "RetrievedMemory" })

/** How much of the model's window the prompt filled. */
export const ContextUsage = Schema.Struct({
  model: Schema.String,
  used_tokens: Schema.Int,
  context_limit: integer,
  percent: Schema.NullOr(Schema.Finite),
  summary_tokens: Schema.Int
}).annotate({ identifier: "ContextUsage" })
export type ContextUsage = typeof ContextUsage.Type

const audio = { audio_url: text, document_id: text, duration: Schema.NullOr(Schema.Finite) }
const voiceModel = { provider: Schema.String, model: Schema.String }

/** The recording that was heard, and the speech that was given. If one of them is not kept, it has no address. */
export const VoiceRecords = Schema.Struct({
  stt: Schema.NullOr(Schema.Struct({ transcript: Schema.String, language: text, ...voiceModel, ...audio })),
  tts: Schema.NullOr(
    Schema.Struct({
      content_type: Schema.String,
      voice: text,
      characters: Schema.Int,
      /** Why the speech ended before the answer did. */
      error: text,
      ...voiceModel,
      ...audio
    })
  )
}).annotate({ identifier: "VoiceRecords" })
export type VoiceRecords = typeof VoiceRecords.Type

/** Why a run failed. */
export const Fault = Schema.Struct({
  code: Schema.String,
  message: Schema.String,
  retryable: Schema.Boolean,
  /** Of `output_invalid`: `problems`, each with its `path` and `message`. */
  detail: Schema.optionalKey(Schema.Json)
})

/** Of messages with an `output_schema`. */
const output = {
  /** The value of that schema; null when the answer did not fit. */
  output: Schema.optionalKey(Schema.Json),
  output_method: Schema.optionalKey(Schema.Literals(["native", "instructed", "repaired"]))
}

const RetrievedExcerpt = Schema.Struct({
  /** From 0: `[d1]` in `content` is the first. */
  index: Schema.Int,
  document_id: Schema.String,
  filename: Schema.String,
  page: integer,
  /** The position in the document's text, in UTF-16 units; null: it was indexed by an older version. */
  start: integer,
  end: integer,
  score: Schema.Finite,
  /** At most 1,000 characters; null once the document is deleted. */
  text
}).annotate({ identifier: "RetrievedExcerpt" })

const Citation = Schema.Struct({
  /** The excerpt: `retrieved[index]`. Of a memory: `retrieved_memories[index]`. */
  index: Schema.Int,
  /** The position of the marker in `content`, in UTF-16 units. */
  start: Schema.Int,
  end: Schema.Int,
  /** Absent: an excerpt. */
  kind: Schema.optionalKey(Schema.Literal("memory"))
}).annotate({ identifier: "Citation" })

/** Of answers for which excerpts were retrieved, or memories that were to be cited. */
export const citationFields = {
  retrieved: Schema.optionalKey(Schema.Array(RetrievedExcerpt)),
  citations: Schema.optionalKey(Schema.Array(Citation)),
  /** Markers that were removed from `content`, because the model was given no such excerpt. */
  citations_dropped: Schema.optionalKey(Schema.Int)
}

/** The field of answers that a wing of helpers shows. */
export const helperFields = {
  /** The runs of other assistants that the answer rests on. Absent: none. */
  helper_runs: Schema.optionalKey(
    Schema.Array(
      Schema.Struct({
        tool_call_id: Schema.String,
        name: Schema.String,
        assistant_id: Schema.String,
        thread_id: Schema.String,
        run_id: Schema.String,
        /** Null: it has not ended. */
        status: Schema.NullOr(RunStatus)
      })
    )
  )
}

/** Why an answer ended; null: it failed, was cancelled, or is no answer. */
export const StopReason = Schema.NullOr(Schema.Literals(["stop", "length", "filtered", "steps", "tools"]))

/** Options of a message that the model does not know, and why. */
export const IgnoredOptions = Schema.Array(Schema.Struct({ option: Schema.String, because: Schema.String }))

/** A message of a thread. */
export const StoredMessage = Schema.Struct({
  message_id: Id,
  role: Schema.Literals(["user", "assistant"]),
  content: text,
  fault: Schema.NullOr(Fault),
  /** Of a failed answer: what was said until then. */
  partial_content: text,
  status: MessageStatus,
  stop_reason: StopReason,
  run_id: text,
  tool_calls: Schema.NullOr(Schema.Array(OpenToolCall)),
  system_one: Schema.NullOr(SystemOne),
  metadata_: object,
  model_provider: text,
  model_name: text,
  /** Of an answer: the assistant that gave it, and its version; null in answers of voice sessions and of older servers. */
  assistant_id: text,
  assistant_version: integer,
  input_tokens: integer,
  output_tokens: integer,
  total_tokens: integer,
  retrieved_files: Schema.NullOr(Schema.Array(Schema.String)),
  retrieved_files_count: Schema.Int,
  attachments: Schema.NullOr(Schema.Array(Attachment)),
  generated_media: Schema.NullOr(Schema.Array(GeneratedMedia)),
  memory_operation_id: text,
  retrieved_memories: Schema.NullOr(Schema.Array(RetrievedMemory)),
  ...citationFields,
  ...helperFields,
  ...output,
  /** The recording of a spoken question, or of an answer that was read aloud. */
  voice_records: Schema.NullOr(VoiceRecords),
  reasoning: text,
  created_at: Timestamp,
  /** True: it came with an imported thread. */
  imported: Schema.optionalKey(Schema.Literal(true))
}).annotate({ identifier: "StoredMessage" })
export type StoredMessage = typeof StoredMessage.Type

const thread = {
  thread_id: Id,
  assistant_id: Id,
  created_at: Timestamp,
  updated_at: Timestamp,
  metadata_: object,
  /** The version of the assistant that answers; null: the present one. */
  assistant_version: integer,
  /** The assistant to which the conversation was handed over; null: the thread's own answers. */
  acting_assistant_id: text,
  /** The thread of which this one is a fork, and the message at which it was forked. */
  forked_from: Schema.NullOr(Schema.Struct({ thread_id: Id, message_id: Id })),
  messages: Schema.Array(StoredMessage)
}

/** A thread, as the API shows it. */
export const Thread = Schema.Struct(thread).annotate({ identifier: "Thread" })
export type Thread = typeof Thread.Type

/** A thread that was just created. */
export const ThreadMade = Schema.Struct(thread).annotate({ identifier: "ThreadMade", httpApiStatus: 201 })

/** The thread after a rewind, and where the rest is kept. */
export const RewoundThread = Schema.Struct({
  ...thread,
  /** The thread that has the conversation as it was; null when nothing was taken back, or it was deleted. */
  kept_as: Schema.NullOr(Id)
}).annotate({ identifier: "RewoundThread" })

/** The thread is deleted. */
export const ThreadDeleteResponse = Schema.Struct({
  message: Schema.String,
  thread_id: Id,
  deleted_at: Timestamp
}).annotate({ identifier: "ThreadDeleteResponse" })

const reply = {
  /** An acknowledgement; the reply is `content`. */
  message: Schema.String,
  thread_id: Id,
  assistant_id: Id,
  /** The version of the assistant that answered; null: the message was only saved. */
  assistant_version: integer,
  message_id: Id,
  run_id: Schema.String,
  role: Schema.Literals(["user", "assistant"]),
  status: MessageStatus,
  /** Of a failed run: the reason in words. */
  content: Schema.String,
  fault: Schema.NullOr(Fault),
  /** Of a failed run: what was said until then. */
  partial_content: text,
  stop_reason: StopReason,
  ignored_options: IgnoredOptions,
  system_one: Schema.NullOr(SystemOne),
  model_provider: text,
  model_name: text,
  input_tokens: integer,
  output_tokens: integer,
  total_tokens: integer,
  cost_usd: Schema.NullOr(Schema.Finite),
  created_at: Timestamp,
  timestamp: Timestamp,
  tool_calls: Schema.NullOr(Schema.Array(OpenToolCall)),
  /** After regenerate and edit in place: the thread that has the conversation as it was. */
  kept_as: Schema.optionalKey(Id),
  memory_operation_id: text,
  retrieved_memories: Schema.NullOr(Schema.Array(RetrievedMemory)),
  retrieved_files: Schema.NullOr(Schema.Array(Schema.String)),
  retrieved_files_count: Schema.Int,
  reasoning: text,
  attachments: Schema.NullOr(Schema.Array(Attachment)),
  generated_media: Schema.NullOr(Schema.Array(GeneratedMedia)),
  ...citationFields,
  ...helperFields,
  ...output,
  /** `sources`: the pages that the answer rests on. */
  metadata_: object,
  voice_records: Schema.NullOr(VoiceRecords),
  context_usage: Schema.NullOr(ContextUsage)
}

/** The reply to a message that was not streamed. */
export const MessageResponse = Schema.Struct(reply).annotate({ identifier: "MessageResponse" })
export type MessageResponse = typeof MessageResponse.Type

/** The same record under its older name. */
export const ToolOutputsResponse = Schema.Struct(reply).annotate({ identifier: "ToolOutputsResponse" })

/** The answers are stored, and the run waits on for these calls. */
export const CallsOpen = Schema.Struct({ open: Schema.Array(Schema.String) }).annotate({
  identifier: "CallsOpen",
  httpApiStatus: 202
})
export type CallsOpen = typeof CallsOpen.Type

export { RunStatus }

/** The run is cancelled. */
export const CancelResponse = Schema.Struct({
  thread_id: Id,
  run_id: Schema.String,
  cancelled: Schema.Literal(true),
  status: RunStatus
}).annotate({ identifier: "CancelResponse" })

const PromptPart = Schema.Struct({ part: Schema.String, tokens: Schema.Int, messages: Schema.Int })

/** The content of a run's last prompt, and the parts that were left out. */
export const PromptReport = Schema.Struct({
  model: Schema.String,
  context_limit: integer,
  reserved_for_answer: Schema.Int,
  used_tokens: Schema.Int,
  parts: Schema.Array(PromptPart),
  left_out: Schema.Array(Schema.Struct({ ...PromptPart.fields, because: Schema.String }))
}).annotate({ identifier: "PromptReport" })

/** A run and its status. */
export const Run = Schema.Struct({
  run_id: Schema.String,
  thread_id: Id,
  assistant_id: Id,
  assistant_version: integer,
  /** The run whose helper this one is; null: none. */
  parent_run_id: text,
  status: RunStatus,
  user_message_id: Id,
  /** The newest answer. */
  message_id: Id,
  model_provider: Schema.String,
  model_name: Schema.String,
  /** Of the last event that is stored. */
  sequence: Schema.Int,
  input_tokens: Schema.Int,
  output_tokens: Schema.Int,
  total_tokens: Schema.Int,
  cost_usd: Schema.NullOr(Schema.Finite),
  /** The kernel counted at least a part of the tokens itself. */
  usage_estimated: Schema.Boolean,
  /** Without that of the run's helpers, which is part of the figures above. */
  usage_own: Schema.Struct({
    input_tokens: Schema.Int,
    output_tokens: Schema.Int,
    total_tokens: Schema.Int,
    cost_usd: Schema.NullOr(Schema.Finite)
  }),
  cancel_requested: Schema.Boolean,
  error: Schema.NullOr(Fault),
  ignored_options: IgnoredOptions,
  prompt: Schema.NullOr(PromptReport),
  created_at: Timestamp,
  started_at: Schema.NullOr(Timestamp),
  ended_at: Schema.NullOr(Timestamp)
}).annotate({ identifier: "Run" })
export type Run = typeof Run.Type

/** A page of runs. */
export const RunList = Schema.Struct({
  runs: Schema.Array(Run),
  /** `cursor` of the next page; null at the end. */
  next_cursor: Schema.NullOr(Schema.String)
}).annotate({ identifier: "RunList" })
