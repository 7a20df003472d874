/** Converts an assistant to a row of the table `assistants`, and back. */
import type { Assistant, AssistantId } from "@colloquy/core"
import type { AssistantPatch, AssistantVersion } from "@colloquy/core/adapters"
import type { Parameter } from "./Database.ts"
import { fromJson, fromJsonOrNull, fromText, fromTextOrNull, toJson, toText, toTextOrNull } from "./StoredText.ts"

export interface AssistantRow {
  readonly id: AssistantId
  readonly name: string
  readonly description: string | null
  readonly system_prompt: string | null
  readonly provider: string | null
  readonly model: string | null
  readonly tools: string | null
  readonly model_options: string | null
  readonly search_limit: number
  readonly embedding: string
  readonly fact_extraction_prompt: string | null
  readonly memory_update_prompt: string | null
  readonly metadata: string | null
  readonly helpers: string | null
  readonly handoffs: string | null
  readonly version: number
  readonly created_at: Date
  readonly updated_at: Date
}

const columns: ReadonlyArray<keyof AssistantRow> = [
  "id",
  "name",
  "description",
  "system_prompt",
  "provider",
  "model",
  "tools",
  "model_options",
  "search_limit",
  "embedding",
  "fact_extraction_prompt",
  "memory_update_prompt",
  "metadata",
  "helpers",
  "handoffs",
  "version",
  "created_at",
  "updated_at"
]

/** `a.id, a.name, …` */
export const assistantColumns = columns.map((column) => `a.${column}`).join(", ")

export const decodeAssistant = (row: AssistantRow): Assistant => ({
  id: row.id,
  name: fromText(row.name),
  description: fromTextOrNull(row.description),
  systemPrompt: fromTextOrNull(row.system_prompt),
  provider: fromTextOrNull(row.provider),
  model: fromTextOrNull(row.model),
  tools: fromJsonOrNull(row.tools),
  modelOptions: fromJsonOrNull(row.model_options),
  searchLimit: row.search_limit,
  embedding: fromJson(row.embedding),
  factExtractionPrompt: fromTextOrNull(row.fact_extraction_prompt),
  memoryUpdatePrompt: fromTextOrNull(row.memory_update_prompt),
  metadata: fromJsonOrNull(row.metadata),
  helpers: fromJsonOrNull(row.helpers) ?? [],
  handoffs: fromJsonOrNull(row.handoffs) ?? [],
  version: row.version,
  createdAt: row.created_at,
  updatedAt: row.updated_at
})

/** A column, and the value to be stored in it. */
export type Assignment = readonly [column: string, value: Parameter]

/** The columns that a patch changes. Columns that are not listed here never change. */
export const patchAssignments = (patch: AssistantPatch): ReadonlyArray<Assignment> => [
  ...assignment("name", patch.name, toText),
  ...assignment("description", patch.description, toTextOrNull),
  ...assignment("system_prompt", patch.systemPrompt, toTextOrNull),
  ...assignment("provider", patch.provider, toTextOrNull),
  ...assignment("model", patch.model, toTextOrNull),
  ...assignment("tools", patch.tools, toJson),
  ...assignment("model_options", patch.modelOptions, toJson),
  ...assignment("search_limit", patch.searchLimit, (value) => value),
  ...assignment("fact_extraction_prompt", patch.factExtractionPrompt, toTextOrNull),
  ...assignment("memory_update_prompt", patch.memoryUpdatePrompt, toTextOrNull),
  ...assignment("metadata", patch.metadata, toJson),
  ...assignment("helpers", patch.helpers, toJson),
  ...assignment("handoffs", patch.handoffs, toJson)
]

const assignment = <A>(
  column: keyof AssistantRow,
  value: A | undefined,
  encode: (value: A) => Parameter
): ReadonlyArray<Assignment> => (value === undefined ? [] : [[column, encode(value)]])

export interface VersionRow {
  readonly version: number
  readonly version_at: Date
  readonly author: string | null
  readonly changes: string | null
}

/** The present version, in the same columns as the earlier ones. */
export const presentColumns = "a.version, a.updated_at as version_at, a.author, a.changes"

export const decodeVersion = (row: VersionRow): AssistantVersion => ({
  version: row.version,
  createdAt: row.version_at,
  by: fromTextOrNull(row.author),
  changes: fromJsonOrNull(row.changes) ?? []
})

/** The columns of a new row except `id` and `owner`. */
export const insertAssignments = (assistant: Assistant): ReadonlyArray<Assignment> => [
  ...patchAssignments(assistant),
  ["version", assistant.version],
  ["embedding", JSON.stringify(assistant.embedding)],
  ["created_at", assistant.createdAt],
  ["updated_at", assistant.updatedAt]
]
