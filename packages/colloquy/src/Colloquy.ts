/**
 * A whole Colloquy in one call, for a server that does not know Effect: a store, model providers and tools as plain values, the kernel as
 * promises and async iterables, the HTTP API when it is asked for. `TestKernel.open` of `colloquy/testing` gives the same type.
 */
import {
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
import { type Ports, type Stores } from "@colloquy/core/adapters"
import type { OutcomeStore } from "@colloquy/core/answers"
import type { BlobStore, DocumentStore } from "@colloquy/core/documents"
import type { MemoryStore } from "@colloquy/core/memory"
import { openKernel, type OpenKernel, type OpenKernelOptions } from "@colloquy/core/promises"
import type { RetentionStore } from "@colloquy/core/retention"
import type { ChunkIndex } from "@colloquy/core/retrieval"
import * as Layer from "effect/Layer"
import { type WithHandler, withHandler } from "./Handler.ts"

/** What `postgres`, `pglite` and `inMemory` give: opened with the kernel and closed with it. */
export type Store = Layer.Layer<Stores | WingStores, unknown>

/** What rooms keep (typed answers, documents, memories), and what deletes by age. */
type WingStores = BlobStore | ChunkIndex | DocumentStore | MemoryStore | OutcomeStore | RetentionStore

export interface ColloquyOptions extends OpenKernelOptions {
  readonly store: Store
  readonly providers: ReadonlyArray<Provider>
  /** Used where neither a message nor its assistant names one. A name alone is a model of the first provider. */
  readonly model: string | { readonly provider: string; readonly model: string }
  /** Tools that run on the server. */
  readonly tools?: ReadonlyArray<HostedTool>
  readonly settings?: Partial<TurnSettings>
  /** What joins the turns: rooms such as `answersPart`, and parts of the host's own (`TurnParts.part(guard)`). */
  readonly parts?: ReadonlyArray<Layer.Layer<never, unknown, Kernel.Kernel | Ports | WingStores>>
  /** What each owner may use. Absent: nothing is limited. */
  readonly quota?: (owner: string) => Partial<Quota>
  /** For hosts with Effect beside it: references of the kernel, such as `Metering` or `TokenCounter`. */
  readonly layers?: ReadonlyArray<Layer.Layer<never, unknown>>
}

export interface Colloquy extends OpenKernel<Kernel.Kernel>, WithHandler {}

const open = async (options: ColloquyOptions): Promise<Colloquy> => {
  const [first, ...others] = options.providers
  if (first === undefined) throw new TypeError("No provider is given. Give one, such as `openai({ apiKey })`.")
  const { model, settings, tools = [] } = options
  const defaults = typeof model === "string" ? { provider: first.id, model } : model
  const { quota } = options
  const references = Layer.mergeAll(
    quota === undefined ? Layer.empty : Layer.succeed(Quotas, (owner) => ({ ...noQuota, ...quota(owner) })),
    Layer.succeed(TurnSettings, Object.assign({}, defaultTurnSettings, settings)),
    ...(options.layers ?? [])
  )
  const joined = Layer.mergeAll(HostedTools.tools(tools), ...(options.parts ?? []))
  const kernel = joined.pipe(
    Layer.provideMerge(Kernel.layer),
    Layer.provide(references),
    Layer.provide(Providers.layer({ providers: [first, ...others], defaults })),
    Layer.provide(options.store)
  )
  return withHandler(await openKernel(kernel, options))
}

export const Colloquy = {
  /** Rejects with what is wrong: a database that cannot be reached (`StoreUnavailable`), a schema that does not fit (`SchemaRefused`). */
  open
}
