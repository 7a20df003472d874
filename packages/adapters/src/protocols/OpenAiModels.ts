/**
 * Reads `GET /models` of OpenAI and of servers with the same protocol into entries of the catalogue. OpenAI lists only names; other servers
 * also list the size of the context window and the type of model. The host's own table takes precedence over the list.
 */
import { type ModelInfo } from "@colloquy/core"
import { describeModel, type ModelError, type ModelType } from "@colloquy/core/adapters"
import * as Effect from "effect/Effect"
import type { ApiKey } from "./ApiKey.ts"
import { toFault } from "./OpenAiErrors.ts"
import { bearer, fetchJson, type TransportSettings } from "./Transport.ts"
import { isRecord, list, lookUp, record, string, text, wholeNumber, type WireRecord } from "./Wire.ts"

export interface ModelListSettings extends TransportSettings {
  readonly id: string
  readonly baseUrl: string
  readonly apiKey?: ApiKey
  readonly headers?: { readonly [name: string]: string }
  /** The host's data of single models. */
  readonly models?: { readonly [name: string]: Partial<ModelInfo> }
}

/** Reads one entry of the list. Null if the catalogue has no such type of model. */
export type ReadEntry = (entry: WireRecord) => (Partial<ModelInfo> & Pick<ModelInfo, "modelType">) | null

export const listModels = (
  settings: ModelListSettings,
  readEntry: ReadEntry = readPlainEntry
): Effect.Effect<ReadonlyArray<ModelInfo>, ModelError> =>
  Effect.map(fetchModels(settings, "/models"), (body) => readModels(body, settings, readEntry))

/** Sends a GET to a path below the base URL. */
export const fetchModels = (settings: ModelListSettings, path: string): Effect.Effect<unknown, ModelError> =>
  Effect.suspend(() =>
    fetchJson(
      {
        provider: settings.id,
        model: "",
        url: `${settings.baseUrl}${path}`,
        headers: { ...settings.headers },
        secrets: bearer(settings.apiKey),
        body: null
      },
      { requestIdHeader: "x-request-id", fault: toFault },
      settings
    )
  )

/** The list is usually in the field `data`; one server sends the list itself as the body. */
export const readModels = (
  body: unknown,
  settings: ModelListSettings,
  readEntry: ReadEntry
): ReadonlyArray<ModelInfo> =>
  list(Array.isArray(body) ? body : record(body).data).flatMap((entry) => {
    const name = isRecord(entry) ? text(entry.id) : undefined
    const known = name === undefined ? null : readEntry(record(entry))
    if (name === undefined || known === null) return []
    return [describeModel({ ...known, ...lookUp(settings.models ?? {}, name), name, provider: settings.id })]
  })

const readPlainEntry: ReadEntry = (entry) => {
  const modelType = entry.type === undefined ? "llm" : lookUp(modelTypes, string(entry.type) ?? "")
  if (modelType === undefined) return null
  return {
    modelType,
    displayName: text(entry.display_name) ?? null,
    contextLimit: wholeNumber(entry.context_length ?? entry.context_window ?? entry.max_model_len),
    maxOutputTokens: wholeNumber(entry.max_completion_tokens)
  }
}

const modelTypes: { readonly [type: string]: ModelType } = {
  chat: "llm",
  language: "llm",
  llm: "llm",
  vlm: "llm",
  code: "llm",
  embedding: "embedding",
  embeddings: "embedding",
  image: "image",
  video: "video",
  transcribe: "stt"
}
