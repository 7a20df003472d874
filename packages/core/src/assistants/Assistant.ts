/** An agent configured once: instructions, model, tools. */
import * as Schema from "effect/Schema"
import { ModelOptions } from "../models/ModelOptions.ts"
import { AssistantId } from "../primitives/Ids.ts"
import { Metadata } from "../threads/Thread.ts"
import { Colleague } from "./Colleague.ts"
import { ToolList } from "../tools/ToolDefinition.ts"

const tooLong = /^.{256}/su

/** Counts characters: a character outside of the basic plane is one character, although JavaScript counts two units. */
const isNoLongerThanAName = Schema.makeFilter((text: string) => !tooLong.test(text), {
  expected: "a value with a length of at most 255",
  representation: { id: "colloquy/isMaxLength", payload: { maxLength: 255 } },
  toJsonSchema: () => ({ maxLength: 255 })
})

/** A name is not only white space, control characters and characters that are drawn as nothing (or as a blank: U+2800). */
const visible = /[^\p{White_Space}\p{Cc}\p{Cf}\p{Cs}\p{Default_Ignorable_Code_Point}\u2800]/u

/** Documents give the simpler pattern: not every reader of them knows properties of characters. */
const isNotBlank = Schema.makeFilter((text: string) => visible.test(text), {
  expected: "a text that is not blank",
  representation: { id: "colloquy/isPattern", payload: { pattern: "\\S" } },
  toJsonSchema: () => ({ pattern: "\\S" })
})

/** A text that is not blank, of at most 255 characters. */
export const AssistantName = Schema.String.check(Schema.isMinLength(1), isNotBlank, isNoLongerThanAName)

/** A name to search for. No assistant has a longer name. */
export const AssistantNameFilter = Schema.String.check(isNoLongerThanAName)

/** The number of a version. Stores keep it in 32 bits. */
export const Version = Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 2_147_483_647 }))

/** A search can be asked for so many hits. */
export const SearchLimit = Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 100 }))

export const Assistant = Schema.Struct({
  id: AssistantId,
  name: AssistantName,
  description: Schema.NullOr(Schema.String),
  systemPrompt: Schema.NullOr(Schema.String),
  /** Null: the host's default at the time of the turn. */
  provider: Schema.NullOr(Schema.String),
  model: Schema.NullOr(Schema.String),
  tools: Schema.NullOr(ToolList),
  /** Null: the model's own defaults. */
  modelOptions: Schema.NullOr(ModelOptions),
  /** How many excerpts a search returns (`tok_k` on the wire). */
  searchLimit: SearchLimit,
  /** Fixed at creation: stored vectors depend on it. */
  embedding: Schema.Struct({
    provider: Schema.NullOr(Schema.String),
    model: Schema.NullOr(Schema.String),
    dimensions: Schema.Int
  }),
  factExtractionPrompt: Schema.NullOr(Schema.String),
  memoryUpdatePrompt: Schema.NullOr(Schema.String),
  metadata: Schema.NullOr(Metadata),
  /** Assistants that this one may ask in a turn, as tools. */
  helpers: Schema.Array(Colleague),
  /** Assistants to which this one may hand a conversation over. */
  handoffs: Schema.Array(Colleague),
  /** Counts from 1. Every change makes the next one (`AssistantVersions.ts`). */
  version: Version,
  createdAt: Schema.Date,
  updatedAt: Schema.Date
})
export type Assistant = typeof Assistant.Type

/** The fields that an update may change. An absent field stays as it is. */
export type AssistantPatch = Partial<Omit<Assistant, "id" | "embedding" | "version" | "createdAt" | "updatedAt">>

/** A voice session is the only writer of its thread, which would be deleted with the assistant. */
export class AssistantInSession extends Schema.TaggedError<AssistantInSession>()("AssistantInSession", {
  assistantId: AssistantId
}) {
  override get message() {
    return "A thread of this assistant is busy with a realtime session, which is its only writer. End the session first."
  }
}

/** Helpers or handoffs name assistants that the owner does not have. */
export class ColleagueNotFound extends Schema.TaggedError<ColleagueNotFound>()("ColleagueNotFound", {
  problems: Schema.Array(Schema.Struct({ list: Schema.Literals(["helpers", "handoffs"]), index: Schema.Int }))
}) {
  override get message() {
    return "There is no such assistant."
  }
}

/** The owner has no assistant with this id. */
export class AssistantNotFound extends Schema.TaggedError<AssistantNotFound>()("AssistantNotFound", {
  assistantId: AssistantId
}) {
  override get message() {
    return `There is no assistant ${this.assistantId}.`
  }
}

/** The version that was read or restored does not exist. `versions.list` shows those that do. */
export class AssistantVersionNotFound extends Schema.TaggedError<AssistantVersionNotFound>()(
  "AssistantVersionNotFound",
  { assistantId: AssistantId, version: Schema.Number }
) {
  override get message() {
    return `The assistant ${this.assistantId} has no version ${this.version}.`
  }
}

/** A turn or a thread names a version that its assistant does not have. */
export class AssistantVersionUnknown extends Schema.TaggedError<AssistantVersionUnknown>()("AssistantVersionUnknown", {
  assistantId: AssistantId,
  version: Schema.Number
}) {
  override get message() {
    return `The assistant has no version ${this.version}.`
  }
}

/** The caller wanted to change another version than the one that the assistant has now. */
export class AssistantChanged extends Schema.TaggedError<AssistantChanged>()("AssistantChanged", {
  assistantId: AssistantId,
  /** The one that it has now. */
  version: Schema.Int
}) {
  override get message() {
    return `The assistant has been changed: its version is ${this.version} now. Read it, and send the change again.`
  }
}

/** A change named another embedding model, which an assistant keeps for ever. */
export class EmbeddingModelFixed extends Schema.TaggedError<EmbeddingModelFixed>()("EmbeddingModelFixed", {
  /** The fields that differ: `provider`, `model`, `dimensions`. */
  fields: Schema.Array(Schema.Literals(["provider", "model", "dimensions"]))
}) {
  override get message() {
    return "The embedding model of an assistant cannot be changed. Clone the assistant, or create a new one."
  }
}
