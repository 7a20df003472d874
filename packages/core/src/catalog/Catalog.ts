/**
 * Which models there are: what the providers list, live and cached, and what the host adds or corrects. Specification part 4, "Models".
 * A provider that cannot be reached is left out for the moment, so that one vendor's trouble does not hide the others.
 */
import * as Cache from "effect/Cache"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import { type ModelInfo, type ModelType, mergeModelInfo } from "../models/ModelInfo.ts"
import { type Provider, Providers } from "../models/Provider.ts"

/** Entries of the host: they add to the providers' lists and beat them, field by field. */
export const HostModels = Context.Reference<ReadonlyArray<ModelInfo>>("@colloquy/core/catalog/HostModels", {
  defaultValue: () => []
})

export interface CatalogFilter {
  readonly modelType?: ModelType
  readonly provider?: string
  readonly supportsTools?: boolean
  readonly minContext?: number
  readonly maxContext?: number
}

export class ModelNotFound extends Schema.TaggedError<ModelNotFound>()("ModelNotFound", { name: Schema.String }) {
  override get message() {
    return `There is no model "${this.name}" in the catalogue.`
  }
}

export class Catalog extends Context.Service<
  Catalog,
  {
    /** Entries that fit, ordered by provider and name; `total` counts all of them, whatever the page. */
    readonly list: (
      filter: CatalogFilter,
      page: { readonly skip: number; readonly limit: number }
    ) => Effect.Effect<{ readonly models: ReadonlyArray<ModelInfo>; readonly total: number }>
    /** The first entry of that name, of one type when given. */
    readonly find: (name: string, modelType?: ModelType) => Effect.Effect<ModelInfo, ModelNotFound>
    /**
     * What is known of one model at this moment. It never waits: a list that is not there yet is fetched behind the caller's back, for the
     * next time. This is what a turn asks.
     */
    readonly known: (provider: string, name: string) => Effect.Effect<ModelInfo | undefined>
    /** Ids of providers that have entries of the type, or any entries. */
    readonly providers: (modelType?: ModelType) => Effect.Effect<ReadonlyArray<string>>
  }
>()("@colloquy/core/catalog/Catalog") {
  static readonly layer: Layer.Layer<Catalog, never, Providers> = Layer.effect(
    Catalog,
    Effect.gen(function* () {
      const { all } = yield* Providers
      const host = yield* HostModels
      const lists = yield* Cache.makeWith(listOf, {
        capacity: all.length + 1,
        // A failure is remembered for a short while only.
        timeToLive: (exit) => (Exit.isSuccess(exit) && exit.value.length > 0 ? "10 minutes" : "30 seconds")
      })
      const scope = yield* Effect.scope
      const known = Effect.fnUntraced(function* (providerId: string, name: string) {
        const provider = all.find((each) => each.id === providerId)
        const list = provider === undefined ? Option.none() : yield* Cache.getSuccess(lists, provider)
        if (provider !== undefined && Option.isNone(list)) yield* Effect.forkIn(Cache.get(lists, provider), scope)
        const listed = Option.getOrElse(list, (): ReadonlyArray<ModelInfo> => [])
        const isIt = (entry: ModelInfo) =>
          entry.name === name && entry.provider === providerId && entry.modelType === "llm"
        return merge(listed.filter(isIt), host.filter(isIt))[0]
      })
      const entries = Effect.map(
        Effect.forEach(all, (provider) => Cache.get(lists, provider), { concurrency: "unbounded" }),
        (listed) => merge(listed.flat(), host)
      )
      return Catalog.of({
        known,
        list: Effect.fn("Catalog.list")(function* (filter, page) {
          const models = (yield* entries).filter((entry) => fits(entry, filter))
          return { models: models.slice(page.skip, page.skip + page.limit), total: models.length }
        }),
        find: Effect.fn("Catalog.find")(function* (name, modelType) {
          const found = (yield* entries).find(
            (entry) => entry.name === name && (modelType === undefined || entry.modelType === modelType)
          )
          return found ?? (yield* new ModelNotFound({ name }))
        }),
        providers: Effect.fn("Catalog.providers")(function* (modelType) {
          const of = (yield* entries).filter((entry) => modelType === undefined || entry.modelType === modelType)
          return [...new Set(of.map((entry) => entry.provider))]
        })
      })
    })
  )
}

const listOf = (provider: Provider): Effect.Effect<ReadonlyArray<ModelInfo>> =>
  provider.listModels === undefined
    ? Effect.succeed([])
    : provider.listModels.pipe(
        Effect.timeout("20 seconds"),
        Effect.catch(() => Effect.as(Effect.logWarning(`The models of ${provider.id} could not be listed`), []))
      )

/** One entry for each provider, type and name. */
const merge = (listed: ReadonlyArray<ModelInfo>, host: ReadonlyArray<ModelInfo>): ReadonlyArray<ModelInfo> => {
  const entries = new Map<string, ModelInfo>()
  for (const entry of [...listed, ...host]) {
    const key = `${entry.provider}\n${entry.name}\n${entry.modelType}`
    const before = entries.get(key)
    entries.set(key, before === undefined ? entry : mergeModelInfo(before, entry))
  }
  return [...entries.entries()].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, entry]) => entry)
}

/** An unknown figure fits no bound. */
const fits = (entry: ModelInfo, filter: CatalogFilter): boolean =>
  (filter.modelType === undefined || entry.modelType === filter.modelType) &&
  (filter.provider === undefined || entry.provider === filter.provider) &&
  (filter.supportsTools === undefined || (entry.supportsTools ?? false) === filter.supportsTools) &&
  (filter.minContext === undefined || (entry.contextLimit ?? -1) >= filter.minContext) &&
  (filter.maxContext === undefined || (entry.contextLimit ?? Infinity) <= filter.maxContext)
