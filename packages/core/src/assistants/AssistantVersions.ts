/** The versions of an assistant: what each change made of it, who made it and when. Pure. */
import type { Assistant, AssistantPatch } from "./Assistant.ts"

/** The fields of an assistant that a version has, in the order in which changes are told. */
export const versionedFields = [
  "name",
  "description",
  "systemPrompt",
  "provider",
  "model",
  "tools",
  "modelOptions",
  "searchLimit",
  "factExtractionPrompt",
  "memoryUpdatePrompt",
  "metadata",
  "helpers",
  "handoffs"
] as const satisfies ReadonlyArray<keyof AssistantPatch>
/** The name of a field that versions keep. */
export type VersionedField = (typeof versionedFields)[number]

/** The values of all fields that versions keep. */
export type VersionedFields = Required<AssistantPatch>

/** When a version was made, by whom, and which fields it changed. */
export interface AssistantVersion {
  readonly version: number
  readonly createdAt: Date
  /** The name of the key, or the owner. Null: it was made before versions were kept. */
  readonly by: string | null
  /** What differs from the version before; empty for the first one. */
  readonly changes: ReadonlyArray<VersionedField>
}

/** Who made the version, when, what changed, and in `assistant` all fields as they were then. */
export interface VersionedAssistant extends AssistantVersion {
  readonly assistant: Assistant
}

/** One field before and after a change. */
export interface FieldChange {
  readonly field: VersionedField
  readonly before: unknown
  readonly after: unknown
}

/** What differs between two assistants, or between an assistant and a change of it. The order of fields in JSON counts. */
export const assistantDiff = (before: Assistant, after: AssistantPatch): ReadonlyArray<FieldChange> =>
  versionedFields.flatMap((field) =>
    after[field] === undefined || JSON.stringify(before[field]) === JSON.stringify(after[field])
      ? []
      : [{ field, before: before[field], after: after[field] }]
  )

/** The part of an assistant that a version keeps. */
export const pickVersionedFields = (assistant: Assistant): VersionedFields => ({
  name: assistant.name,
  description: assistant.description,
  systemPrompt: assistant.systemPrompt,
  provider: assistant.provider,
  model: assistant.model,
  tools: assistant.tools,
  modelOptions: assistant.modelOptions,
  searchLimit: assistant.searchLimit,
  factExtractionPrompt: assistant.factExtractionPrompt,
  memoryUpdatePrompt: assistant.memoryUpdatePrompt,
  metadata: assistant.metadata,
  helpers: assistant.helpers,
  handoffs: assistant.handoffs
})
