/**
 * A whole Colloquy in one call, for a server that does not know Effect: a store, model providers, rooms and tools as plain values, the kernel
 * as promises and async iterables, the HTTP API when it is asked for. `TestKernel.open` of `colloquy/testing` takes the same options.
 */
import {
  DefaultEmbedding,
  defaultTurnSettings,
  type HostedTool,
  HostedTools,
  Kernel,
  noQuota,
  type Provider,
  Providers,
  type Quota,
  Quotas,
  TurnSettings
} from "@colloquy/core"
import {
  type DeepPartial,
  type ProvidersOptions,
  readSettings,
  type SettingRules,
  usualDimensions
} from "@colloquy/core/adapters"
import { Inspections } from "@colloquy/core/inspection"
import { Outputs } from "@colloquy/core/outputs"
import {
  type Joined,
  openKernel,
  type OpenKernel,
  type OpenKernelOptions,
  type OpenRooms,
  type Room
} from "@colloquy/core/promises"
import { Summaries } from "@colloquy/core/summaries"
import type { RoutesOptions } from "@colloquy/http"
import * as Layer from "effect/Layer"
import { type Handlers, type WithHandler, withHandler } from "./Handler.ts"
import { type PlainPorts, portsLayer } from "./Ports.ts"
import type { RoomNeeds, Store } from "./Store.ts"
import { isSummaryRoom } from "./SummaryRooms.ts"

/** What `documents()`, `memory()` and the like give. */
export type AnyRoom = Pick<Room<never, RoomNeeds>, "layer">

/** What `Colloquy.open` takes: a store, providers, a model, and what else the kernel shall do. */
export interface ColloquyOptions<Rooms extends ReadonlyArray<AnyRoom> = readonly []> extends OpenKernelOptions {
  readonly store: Store
  readonly providers: ReadonlyArray<Provider>
  /** Used where neither a message nor its assistant names one. A name alone is a model of the first provider. */
  readonly model: string | { readonly provider: string; readonly model: string }
  /** The embedding model of new assistants. A name alone is a model of the first provider that embeds. Default: that provider's usual one. */
  readonly embedding?: string | { readonly provider: string; readonly model: string; readonly dimensions?: number }
  /** What the kernel can do besides conversations: `[documents(), memory()]`. Each has a sub-path, such as `colloquy/documents`. */
  readonly rooms?: Rooms
  /**
   * Default: true. What no longer fits into a model's window is summarised by that model, and the summary goes with the conversation: one call
   * more now and then, only on threads that are longer than the window. Its settings are those of the room `summaries()`.
   */
  readonly summaries?: boolean
  /** Tools that run on the server. */
  readonly tools?: ReadonlyArray<HostedTool>
  readonly settings?: DeepPartial<TurnSettings>
  /** Parts of turns of the host's own: `TurnParts.part(…)`. */
  readonly parts?: ReadonlyArray<Layer.Layer<never, unknown, RoomNeeds>>
  /** What the host keeps or decides itself, as plain async code: `{ rateLimiter, audit, credit, blobs }`. */
  readonly ports?: PlainPorts
  /** What each owner may use. Absent: nothing is limited. */
  readonly quota?: (owner: string, assistant?: string) => Partial<Quota>
  /** For hosts with Effect beside it: references of the kernel, such as `Metering` or `TokenCounter`. */
  readonly layers?: ReadonlyArray<Layer.Layer<never, unknown>>
}

/** An open kernel. `colloquy.documents` and the like are on the type when their room is. */
export type Colloquy<Rooms extends ReadonlyArray<AnyRoom> = readonly []> = OpenKernel<Kernel.Kernel, Joined<Rooms>> &
  WithHandler

const turnRules: SettingRules<TurnSettings> = {
  positive: ["lease", "sweep", "poll", "hostedConcurrency", "assumedContextLimit"],
  words: { busy: ["enqueue", "reject", "interrupt"] },
  orNull: { approvalTimeout: "1 day" }
}

/** Everything but the providers. */
export const makeKernel = <Rooms extends ReadonlyArray<AnyRoom>, Given>(
  options: Omit<ColloquyOptions<Rooms>, "model">,
  providers: Layer.Layer<Providers | Given, unknown>
): Layer.Layer<Kernel.Kernel | Given, unknown, OpenRooms> => {
  const { embedding, quota, tools = [] } = options
  const references = Layer.mergeAll(
    quota === undefined ? Layer.empty : Layer.succeed(Quotas, (...of) => ({ ...noQuota, ...quota(...of) })),
    embedding === undefined
      ? Layer.empty
      : Layer.succeed(DefaultEmbedding, readEmbedding(embedding, options.providers)),
    Layer.effect(TurnSettings, readSettings("turns", defaultTurnSettings, options.settings, turnRules)),
    portsLayer(options.ports ?? {}),
    ...(options.layers ?? [])
  )
  const given = options.rooms ?? []
  const isSummarised = options.summaries !== false && !given.some(isSummaryRoom)
  const rooms = given.map(({ layer }) => layer)
  return Layer.mergeAll(
    HostedTools.tools(tools),
    Outputs.layer(),
    Inspections.layer(),
    isSummarised ? Summaries.layer() : Layer.empty,
    ...(options.parts ?? []),
    ...rooms
  ).pipe(
    Layer.provideMerge(Kernel.layer),
    Layer.provideMerge(references),
    Layer.provideMerge(providers),
    Layer.provide(options.store)
  )
}

/** A name alone is a model of the first provider. */
export const modelDefaults = (model: ColloquyOptions["model"], { id }: Provider): ProvidersOptions["defaults"] =>
  typeof model === "string" ? { provider: id, model } : model

const open = async <const Rooms extends ReadonlyArray<AnyRoom> = readonly []>(
  options: ColloquyOptions<Rooms>
): Promise<Colloquy<Rooms>> => {
  const [first, ...others] = options.providers
  if (first === undefined) throw new TypeError("No provider is given. Give one, such as `openai({ apiKey })`.")
  const providers = Providers.layer({
    providers: [first, ...others],
    defaults: modelDefaults(options.model, first)
  })
  return withHandler(await openKernel<Kernel.Kernel, unknown, Joined<Rooms>>(makeKernel(options, providers), options))
}

/** Dimensions that nobody names are the provider's usual ones for this model, or those of OpenAI's large model. */
const readEmbedding = (
  embedding: NonNullable<ColloquyOptions["embedding"]>,
  providers: ReadonlyArray<Provider>
): typeof DefaultEmbedding.Service => {
  const asked = typeof embedding === "string" ? { provider: undefined, model: embedding } : embedding
  const embeds = providers.filter((provider) => provider.embedding !== undefined)
  const provider = embeds.find(({ id }) => asked.provider === undefined || id === asked.provider)
  if (provider === undefined) {
    throw new TypeError(
      `No provider embeds with "${asked.model}". Providers that embed: ${embeds.map(({ id }) => id).join(", ") || "none"}.`
    )
  }
  const given = typeof embedding === "string" ? undefined : embedding.dimensions
  const dimensions = given ?? usualDimensions(provider, asked.model) ?? 3072
  return { provider: provider.id, model: asked.model, dimensions }
}

/** What `Colloquy.lazy` gives: a kernel that the first call opens. */
export interface LazyColloquy<Rooms extends ReadonlyArray<AnyRoom>> {
  /** The kernel, which the first call opens. If that fails, the next call tries again. */
  (): Promise<Colloquy<Rooms>>
  /** The HTTP API as a function of web requests: `export const POST = colloquy.handler({ basePath: "/api" })`. */
  readonly handler: <Source = unknown>(options?: RoutesOptions<Source>) => Handlers["handler"]
  /** Closes the kernel if it was opened. The next call opens another one. */
  readonly close: () => Promise<void>
}

/** For Next and serverless platforms: nothing is opened, read or connected before the first call. */
const lazy = <const Rooms extends ReadonlyArray<AnyRoom> = readonly []>(
  options: () => ColloquyOptions<Rooms> | Promise<ColloquyOptions<Rooms>>
): LazyColloquy<Rooms> => {
  let opening: Promise<Colloquy<Rooms>> | null = null
  const opened = () => {
    if (opening !== null) return opening
    const begun = begin()
    opening = begun
    begun.catch(() => {
      if (opening === begun) opening = null
    })
    return begun
  }
  const begin = async () => open(await options())
  return Object.assign(opened, {
    handler: <Source>(routes?: RoutesOptions<Source>): Handlers["handler"] => {
      const mounted = new WeakMap<Colloquy<Rooms>, Promise<Handlers>>()
      return async (request) => {
        const colloquy = await opened()
        const mounting = mounted.get(colloquy) ?? colloquy.handler(routes)
        mounted.set(colloquy, mounting)
        return (await mounting).handler(request)
      }
    },
    close: async () => {
      const closing = opening?.catch(() => null)
      opening = null
      await (await closing)?.close()
    }
  })
}

export const Colloquy = {
  /** Rejects with what is wrong: a database that cannot be reached (`StoreUnavailable`), a schema that does not fit (`SchemaRefused`). */
  open,
  lazy
}
