/**
 * `GET /models` as the OpenAI family answers it, read into catalogue entries. OpenAI says nothing but the names; other servers add the
 * size of the window and the kind of model. A provider tells what it knows better, and the host's own table beats both.
 */
import { type ModelInfo } from "@colloquy/core"
import { describeModel, type ModelError, type ModelType } from "@colloquy/core/adapters"
import * as Effect from "effect/Effect"
import type { ApiKey } from "./ApiKey.ts"
import { faultOf } from "./OpenAiErrors.ts"
import { bearer, fetchJson, type TransportSettings } from "./Transport.ts"
import { isRecord, list, lookUp, record, string, text, wholeNumber, type WireRecord } from "./Wire.ts"

export interface ModelListSettings extends TransportSettings {
  readonly id: string
  readonly baseUrl: string
  readonly apiKey?: ApiKey
  readonly headers?: { readonly [name: string]: string }
  /** What the host knows of single models. */
  readonly models?: { readonly [name: string]: Partial<ModelInfo> }
}

/** What one entry of the list tells; null for an entry that is no model of a kind that the catalogue has. */
export type ReadEntry = (entry: WireRecord) => (Partial<ModelInfo> & Pick<ModelInfo, "modelType">) | null

export const listModels = (
  settings: ModelListSettings,
  readEntry: ReadEntry = readPlainEntry
): Effect.Effect<ReadonlyArray<ModelInfo>, ModelError> =>
  Effect.map(fetchModels(settings, "/models"), (body) => readModels(body, settings, readEntry))

/** The answer to a GET below the base URL. */
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
      { requestIdHeader: "x-request-id", fault: faultOf },
      settings
    )
  )

/** One server sends the list bare, all others inside `data`. */
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
