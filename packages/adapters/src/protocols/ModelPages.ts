/**
 * A vendor's list of models that comes in pages, each with a cursor to the next one. Used by the providers whose list has one; what an
 * entry means stays with them.
 */
import { type ModelInfo } from "@colloquy/core"
import { describeModel, mergeModelInfo, type ModelError } from "@colloquy/core/adapters"
import * as Effect from "effect/Effect"
import { familyOf, type ModelFamilies } from "./ModelFamilies.ts"
import { type Call, type ErrorDialect, fetchJson, type TransportSettings } from "./Transport.ts"
import { lookUp, record, type WireRecord } from "./Wire.ts"

export type KnownModel = Partial<ModelInfo> & Pick<ModelInfo, "name" | "modelType">

export interface ModelPages {
  readonly id: string
  /** Address of the page after this cursor; undefined: of the first. */
  readonly url: (cursor: string | undefined) => string
  readonly headers: Call["headers"]
  readonly secrets: Call["secrets"]
  readonly errors: ErrorDialect
  readonly entries: (page: WireRecord) => ReadonlyArray<unknown>
  /** Undefined: this page is the last. */
  readonly cursor: (page: WireRecord) => string | undefined
  /** None for an entry that is no model of a kind that the catalogue has; several for a model of several kinds. */
  readonly read: (entry: WireRecord) => ReadonlyArray<KnownModel>
  readonly families: ModelFamilies
  /** What the host knows of single models; beats the list, which beats the families. */
  readonly models: { readonly [name: string]: Partial<ModelInfo> }
}

export const listPagedModels = (
  pages: ModelPages,
  settings: TransportSettings
): Effect.Effect<ReadonlyArray<ModelInfo>, ModelError> =>
  Effect.gen(function* () {
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

/** A list that does not end is cut here. */
const maximumPages = 20

const readEntry = (entry: unknown, pages: ModelPages): ReadonlyArray<ModelInfo> =>
  pages.read(record(entry)).map((known) => {
    const { name, modelType } = known
    const family = describeModel({ ...familyOf(name, pages.families), name, provider: pages.id, modelType })
    return mergeModelInfo(mergeModelInfo(family, known), lookUp(pages.models, name) ?? {})
  })
