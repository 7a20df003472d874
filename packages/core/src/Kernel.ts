/**
 * All use cases as one Layer over the ports. A host provides the storage ports (one adapter gives them all) and its `Providers`, and gets
 * the use cases; everything else has a default that can be replaced by providing the reference of that name. Effect builds one layer once:
 * two kernels in one program need `Layer.fresh(Kernel.layer)` each.
 *
 * | reference | what it sets |
 * |---|---|
 * | `Metering` | credit and billing |
 * | `ProviderKeys` | customers' own keys for providers |
 * | `TokenCounter` | how tokens are counted |
 * | `TurnSettings` | policies, timeouts and limits of turns |
 * | `DefaultEmbedding` | what new assistants embed with |
 * | `HostModels` | models that no provider lists, and corrections to those that one does |
 */
import * as Layer from "effect/Layer"
import { Keys, type KeyStore } from "./access/Keys.ts"
import type { Assistants } from "./assistants/Assistants.ts"
import { assistantsLayer } from "./assistants/AssistantsLayer.ts"
import type { AssistantStore } from "./assistants/AssistantStore.ts"
import { Copies } from "./assistants/Copies.ts"
import { Catalog } from "./catalog/Catalog.ts"
import { Billing } from "./metering/Billing.ts"
import type { UsageLedger } from "./metering/UsageLedger.ts"
import type { Providers } from "./models/Provider.ts"
import { EmbeddingModel } from "./models/EmbeddingModel.ts"
import { FollowUps } from "./runs/FollowUps.ts"
import type { FollowUpStore } from "./runs/FollowUpStore.ts"
import type { RunStore } from "./runs/RunStore.ts"
import { Removals } from "./threads/Removals.ts"
import { Threads } from "./threads/Threads.ts"
import type { ThreadStore } from "./threads/ThreadStore.ts"
import { HostedTools } from "./tools/HostedTool.ts"
import type { TurnParts } from "./turns/TurnParts.ts"
import { turnPartsLayer } from "./turns/TurnPartsLayer.ts"
import { turnsLayer } from "./turns/Turns.ts"
import type { Turns } from "./turns/TurnUseCases.ts"

/** Everything that a storage adapter provides. */
export type Stores = AssistantStore | ThreadStore | RunStore | FollowUpStore | KeyStore | UsageLedger

/** What a host must provide. */
export type Ports = Stores | Providers

/** What a host gets. `TurnParts`, `HostedTools`, `FollowUps`, `Removals` and `Copies` are where rooms and hosts register what joins. */
export type Kernel =
  | Assistants
  | Threads
  | Turns
  | TurnParts
  | HostedTools
  | FollowUps
  | Removals
  | Copies
  | Keys
  | Catalog
  | Billing
  | EmbeddingModel

export const layer: Layer.Layer<Kernel, never, Ports> = Layer.mergeAll(
  assistantsLayer.pipe(Layer.provideMerge(Threads.layer), Layer.provideMerge([Removals.layer, Copies.layer])),
  turnsLayer.pipe(Layer.provide(Catalog.layer), Layer.provideMerge([turnPartsLayer, HostedTools.layer])),
  Keys.layer,
  Catalog.layer,
  Billing.layer,
  EmbeddingModel.layer
).pipe(Layer.provideMerge(FollowUps.layer))
