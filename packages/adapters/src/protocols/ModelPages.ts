/**
 * Reads a vendor's list of models page by page; each page has a cursor to the next one. The providers with such lists use it, and define how
 * an entry is read.
 */
import { type ModelInfo } from "@colloquy/core"
import { describeModel, mergeModelInfo, type ModelError } from "@colloquy/core/adapters"
import * as Effect from "effect/Effect"
import { findFamily, type ModelFamilies } from "./ModelFamilies.ts"
import { type Call, type ErrorDialect, fetchJson, type TransportSettings } from "./Transport.ts"
import { lookUp, record, type WireRecord } from "./Wire.ts"

export type KnownModel = Partial<ModelInfo> & Pick<ModelInfo, "name" | "modelType">

export interface ModelPages {
  readonly id: string
  /** The URL of the page at a cursor; undefined stands for the first page. */
  readonly url: (cursor: string | undefined) => string
  readonly headers: Call["headers"]
  readonly secrets: Call["secrets"]
  readonly errors: ErrorDialect
  readonly entries: (page: WireRecord) => ReadonlyArray<unknown>
  /** The cursor of the next page; undefined on the last page. */
  readonly cursor: (page: WireRecord) => string | undefined
  /** The models of an entry: none if the catalogue has no such type of model, several if the model has several types. */
  readonly read: (entry: WireRecord) => ReadonlyArray<KnownModel>
  readonly families: ModelFamilies
  /** The host's data of single models. It takes precedence over the list, and the list over the families. */
  readonly models: { readonly [name: string]: Partial<ModelInfo> }
}

export const listPagedModels = Effect.fnUntraced(function* (
  pages: ModelPages,
  settings: TransportSettings
): Effect.fn.Return<ReadonlyArray<ModelInfo>, ModelError> {
  const models: Array<ModelInfo> = []
  let cursor: string | undefined
  for (let number = 0; number < maximumPages; number++) {
    const { id: provider, headers, secrets } = pages
    const call = { provider, model: "", url: pages.url(cursor), headers, secrets, body: null }
    const page = record(yield* fetchJson(call, pages.errors, settings))
    for (const entry of pages.entries(page)) models.push(...readEntry(entry, pages))
    cursor = pages.cursor(page)
    if (cursor === undefined) break
  }
  return models
})

/** Limits a list that never ends. */
const maximumPages = 20

const readEntry = (entry: unknown, pages: ModelPages): ReadonlyArray<ModelInfo> =>
  pages.read(record(entry)).map((known) => {
    const { name, modelType } = known
    const family = describeModel({ ...findFamily(name, pages.families), name, provider: pages.id, modelType })
    return mergeModelInfo(mergeModelInfo(family, known), lookUp(pages.models, name) ?? {})
  })
