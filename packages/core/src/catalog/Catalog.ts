/**
 * The list of models: what the providers list, queried and cached, and what the host adds or corrects. A
 * provider that cannot be reached is left out for a while, so that one vendor's failure does not hide the models of the others.
 */
import * as Cache from "effect/Cache"
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import type * as Scope from "effect/Scope"
import { inTime } from "../primitives/Deadlines.ts"
import { traced, tracedFn } from "../primitives/Traced.ts"
import { describeModel, type ModelInfo, type ModelType, mergeModelInfo } from "../models/ModelInfo.ts"
import { type Provider, Providers } from "../models/Provider.ts"
import { ModelError } from "../models/ModelError.ts"
import type { Upstream } from "../models/Upstream.ts"

/** Entries of the host. They extend the providers' lists and override them, field by field. */
export const HostModels = Context.Reference<ReadonlyArray<ModelInfo>>("@colloquy/core/catalog/HostModels", {
  defaultValue: () => []
})

/** A model, and when its provider told of it last. */
export interface CatalogEntry extends ModelInfo {
  /** When the provider's list was fetched; null for a model that only the host knows. */
  readonly lastUpdated: Date | null
}

/** A vendor behind a router such as OpenRouter, and the id of the provider that you registered for that router. */
export interface RoutedUpstream extends Upstream {
  readonly provider: string
}

/** Which models of the catalogue to list. */
export interface CatalogFilter {
  readonly modelType?: ModelType
  readonly provider?: string
  readonly supportsTools?: boolean
  readonly minContext?: number
  readonly maxContext?: number
}

/** No model of the catalogue has this name. */
export class ModelNotFound extends Schema.TaggedError<ModelNotFound>()("ModelNotFound", { name: Schema.String }) {
  override get message() {
    return `There is no model "${this.name}" in the catalogue.`
  }
}

export class Catalog extends Context.Service<
  Catalog,
  {
    /** Matching entries, ordered by provider and name. `total` counts all of them, not only those of the page. */
    readonly list: (
      filter: CatalogFilter,
      page: { readonly skip: number; readonly limit: number }
    ) => Effect.Effect<{ readonly models: ReadonlyArray<CatalogEntry>; readonly total: number }>
    /** The first entry of that name and, if given, of that type. Without a type, a conversation model is preferred. */
    readonly find: (name: string, modelType?: ModelType) => Effect.Effect<CatalogEntry, ModelNotFound>
    /**
     * What is known of a model now. It never waits: a list that is not cached yet is fetched in the background, for the next call. Turns
     * use this. Default type: a conversation model.
     */
    readonly known: (provider: string, name: string, modelType?: ModelType) => Effect.Effect<ModelInfo | undefined>
    /**
     * Like `known`, but waits for the provider's list if it is not cached. A name that no list contains is described by its name alone. For
     * checks of a request.
     */
    readonly describe: (provider: string, name: string, modelType: ModelType) => Effect.Effect<ModelInfo>
    /**
     * A model for videos as its provider lists it now; such lists are cached for a few seconds only. None: neither the provider nor the
     * host knows it. Fails when the provider cannot be reached.
     */
    readonly video: (provider: string, name: string) => Effect.Effect<Option.Option<ModelInfo>, ModelError>
    /** Ids of providers that have entries of the type, or any entries. */
    readonly providers: (modelType?: ModelType) => Effect.Effect<ReadonlyArray<string>>
    /**
     * Adds entries of a wing while the scope is open, for example its voice models, which no `Provider` has. The host's own entries
     * override them.
     */
    readonly add: (models: ReadonlyArray<ModelInfo>) => Effect.Effect<void, never, Scope.Scope>
    /** The upstreams of all routing providers, with their prices; ordered by provider and name. */
    readonly upstreams: Effect.Effect<ReadonlyArray<RoutedUpstream>>
  }
>()("@colloquy/core/catalog/Catalog") {
  static readonly layer: Layer.Layer<Catalog, never, Providers> = Layer.effect(
    Catalog,
    Effect.gen(function* () {
      const { all } = yield* Providers
      const host = yield* HostModels
      const lists = yield* makeListCache(all.length, listModels, "10 minutes")
      const videoLists = yield* Cache.makeWith(listVideos, {
        capacity: all.length + 1,
        timeToLive: (exit) => (Exit.isSuccess(exit) ? "5 seconds" : Duration.zero)
      })
      const upstreams = yield* makeListCache(all.length, listUpstreams, "1 hour")
      const scope = yield* Effect.scope
      const added = new Set<Listed<ModelInfo>>()
      const entryIn = (listed: ReadonlyArray<ModelInfo>, providerId: string, name: string, modelType: ModelType) => {
        const isIt = (entry: ModelInfo) =>
          entry.name === name && entry.provider === providerId && entry.modelType === modelType
        let found: ModelInfo | undefined
        for (const entries of [listed, host]) {
          for (const entry of entries) {
            if (isIt(entry)) found = found === undefined ? entry : mergeModelInfo(found, entry)
          }
        }
        return found
      }
      const known = (providerId: string, name: string, modelType: ModelType = "llm") => {
        const provider = all.find((each) => each.id === providerId)
        const without = () => entryIn([], providerId, name, modelType)
        if (provider === undefined) return Effect.sync(without)
        return Effect.flatMap(
          Cache.getSuccess(lists, provider),
          Option.match({
            onNone: () => Effect.map(Effect.forkIn(Cache.get(lists, provider), scope), without),
            onSome: ({ items }) => Effect.succeed(entryIn(items, providerId, name, modelType))
          })
        )
      }
      const describe = Effect.fnUntraced(function* (providerId: string, name: string, modelType: ModelType) {
        const provider = all.find((each) => each.id === providerId)
        const listed = provider === undefined ? [] : (yield* Cache.get(lists, provider)).items
        const byName = describeModel({ ...provider?.describe?.(name), name, provider: providerId, modelType })
        const entry = entryIn(listed, providerId, name, modelType)
        return entry === undefined ? byName : mergeModelInfo(byName, entry)
      })
      const readVideos = (provider: Provider) => Effect.map(Cache.get(videoLists, provider), ({ items }) => items)
      const isVideo = ({ modelType }: ModelInfo) => modelType === "video"
      /** If a provider has a list of video models of its own, only that list counts for videos, and it counts for nothing else. */
      const listByType = Effect.fnUntraced(function* (provider: Provider, modelType: ModelType | undefined) {
        const own = provider.video?.listModels !== undefined
        const others = own && modelType === "video" ? [] : catalogEntries(yield* Cache.get(lists, provider))
        if (!own || (modelType !== undefined && modelType !== "video")) return others
        const videos = yield* Effect.orElseSucceed(Cache.get(videoLists, provider), () => null)
        return [...others.filter((entry) => !isVideo(entry)), ...(videos === null ? [] : catalogEntries(videos))]
      })
      const entries = (modelType?: ModelType) =>
        Effect.map(
          Effect.forEach(all, (provider) => listByType(provider, modelType), { concurrency: "unbounded" }),
          (listed) => merge([...listed.flat(), ...[...added].flatMap(catalogEntries)], host.map(ownEntry))
        )
      return Catalog.of({
        known,
        add: Effect.fnUntraced(function* (items) {
          const given = { items, at: new Date(yield* Clock.currentTimeMillis) }
          yield* Effect.acquireRelease(
            Effect.sync(() => added.add(given)),
            () => Effect.sync(() => added.delete(given))
          )
        }),
        describe,
        list: tracedFn("Catalog.list")(function* (filter, page) {
          const models = (yield* entries(filter.modelType)).filter((entry) => fits(entry, filter))
          return { models: models.slice(page.skip, page.skip + page.limit), total: models.length }
        }),
        find: tracedFn("Catalog.find")(function* (name, modelType) {
          const found = (yield* entries(modelType)).filter(
            (entry) => entry.name === name && (modelType === undefined || entry.modelType === modelType)
          )
          const best = found.find((entry) => entry.modelType === "llm") ?? found[0]
          return best ?? (yield* new ModelNotFound({ name }))
        }),
        video: tracedFn("Catalog.video")(function* (id, name) {
          const isIt = (entry: ModelInfo) => entry.name === name && entry.provider === id && isVideo(entry)
          const provider = all.find((each) => each.id === id)
          const own = host.filter(isIt)
          const listing = provider === undefined ? Effect.succeed([]) : readVideos(provider)
          const listed = yield* own.length === 0 ? listing : Effect.orElseSucceed(listing, () => [])
          return Option.fromNullishOr(merge(listed.filter(isIt), own)[0])
        }),
        providers: tracedFn("Catalog.providers")(function* (modelType) {
          const of = (yield* entries(modelType)).filter(
            (entry) => modelType === undefined || entry.modelType === modelType
          )
          return [...new Set(of.map((entry) => entry.provider))]
        }),
        upstreams: Effect.forEach(all, (provider) => Cache.get(upstreams, provider), { concurrency: "unbounded" }).pipe(
          Effect.map((listed) => listed.flatMap(({ items }) => items).sort(byProviderAndName)),
          traced("Catalog.upstreams")
        )
      })
    })
  )
}

/** What a provider listed, and when. */
interface Listed<A> {
  readonly items: ReadonlyArray<A>
  readonly at: Date
}

/** Caches one list per provider. An empty list or a failure is cached for a short time only. */
const makeListCache = <A>(
  providers: number,
  list: (provider: Provider) => Effect.Effect<Listed<A>>,
  time: Duration.Input
) =>
  Cache.makeWith(list, {
    capacity: providers + 1,
    timeToLive: (exit) => (Exit.isSuccess(exit) && exit.value.items.length > 0 ? time : "30 seconds")
  })

/** Fails, unlike the other lists: a failed request proves nothing about a video model. */
const listVideos = Effect.fnUntraced(function* (provider: Provider): Effect.fn.Return<Listed<ModelInfo>, ModelError> {
  const list = provider.video?.listModels ?? provider.listModels ?? Effect.succeed([])
  const failed = (reason: ModelError["reason"]) => () =>
    Effect.fail(new ModelError({ reason, provider: provider.id, model: "" }))
  const items = yield* list.pipe(inTime("20 seconds", failed("timeout")), Effect.catchDefect(failed("unknown")))
  return { items, at: new Date(yield* Clock.currentTimeMillis) }
})

const listModels = (provider: Provider): Effect.Effect<Listed<ModelInfo>> =>
  ask(provider, provider.listModels, "20 seconds", "models")

const listUpstreams = (provider: Provider): Effect.Effect<Listed<RoutedUpstream>> =>
  Effect.map(ask(provider, provider.listUpstreams, "1 minute", "upstreams"), ({ at, items }) => ({
    at,
    items: items.map((upstream) => ({ ...upstream, provider: provider.id }))
  }))

const ask = Effect.fnUntraced(function* <A>(
  provider: Provider,
  list: Effect.Effect<ReadonlyArray<A>, ModelError> | undefined,
  longest: Duration.Input,
  what: string
): Effect.fn.Return<Listed<A>> {
  const items =
    list === undefined
      ? []
      : yield* list.pipe(
          inTime(longest, () => Effect.fail(null)),
          Effect.catchDefect(Effect.fail),
          Effect.catch((why) =>
            Effect.as(Effect.logWarning(`The ${what} of ${provider.id} could not be listed`, why), [])
          )
        )
  return { items, at: new Date(yield* Clock.currentTimeMillis) }
})

const catalogEntries = ({ at, items }: Listed<ModelInfo>): ReadonlyArray<CatalogEntry> =>
  items.map((model) => ({ ...model, lastUpdated: at }))

const ownEntry = (model: ModelInfo): CatalogEntry => ({ ...model, lastUpdated: null })

const byProviderAndName = (a: RoutedUpstream, b: RoutedUpstream): number =>
  compare(a.provider, b.provider) || compare(a.name, b.name)

const compare = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0)

/** One entry for each provider, type and name. */
const merge = <Entry extends ModelInfo>(
  listed: ReadonlyArray<Entry>,
  host: ReadonlyArray<Entry>
): ReadonlyArray<Entry> => {
  const entries = new Map<string, Entry>()
  for (const entry of [...listed, ...host]) {
    const key = `${entry.provider}\n${entry.name}\n${entry.modelType}`
    const before = entries.get(key)
    entries.set(key, before === undefined ? entry : mergeModelInfo(before, entry))
  }
  return [...entries.entries()].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, entry]) => entry)
}

/** Whether an entry matches the filter. An unknown figure matches no bound. */
const fits = (entry: ModelInfo, filter: CatalogFilter): boolean =>
  (filter.modelType === undefined || entry.modelType === filter.modelType) &&
  (filter.provider === undefined || entry.provider === filter.provider) &&
  (filter.supportsTools === undefined || (entry.supportsTools ?? false) === filter.supportsTools) &&
  (filter.minContext === undefined || (entry.contextLimit ?? -1) >= filter.minContext) &&
  (filter.maxContext === undefined || (entry.contextLimit ?? Infinity) <= filter.maxContext)
