/**
 * All use cases as one layer over the ports. A host provides the storage ports (one adapter gives all of them) and its `Providers`.
 * Everything else has a default, which the host replaces by providing the reference of that name. Effect builds a layer once per program,
 * so two kernels in one program each need `Layer.fresh(Kernel.layer)`.
 *
 * | reference | what it sets |
 * |---|---|
 * | `Metering` | credit and billing |
 * | `Quotas` | what each owner may use |
 * | `AuditStore` | where the audit log is kept; the stores of `@colloquy/adapters` set it |
 * | `ProviderKeys` | customers' own keys for providers |
 * | `TokenCounter` | how tokens are counted |
 * | `TurnSettings` | policies, timeouts and limits of turns |
 * | `DefaultEmbedding` | the embedding model of new assistants |
 * | `HostModels` | models that no provider lists, and corrections of listed ones |
 */
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { AuditLog } from "./access/AuditLog.ts"
import { Keys, type KeyStore } from "./access/Keys.ts"
import type { Assistants } from "./assistants/Assistants.ts"
import { assistantsLayer } from "./assistants/AssistantsLayer.ts"
import type { AssistantStore } from "./assistants/AssistantStore.ts"
import { Copies } from "./assistants/Copies.ts"
import { Catalog } from "./catalog/Catalog.ts"
import { Allowances } from "./metering/Allowances.ts"
import { Billing } from "./metering/Billing.ts"
import { endBegunCharges } from "./metering/ChargeOutside.ts"
import type { QuotaStore } from "./metering/QuotaStore.ts"
import type { UsageLedger } from "./metering/UsageLedger.ts"
import { Erasures } from "./owners/Erasures.ts"
import type { OwnerStore } from "./owners/OwnerStore.ts"
import type { Providers } from "./models/Provider.ts"
import { FollowUps, FollowUpSettings } from "./runs/FollowUps.ts"
import { Inbox } from "./runs/Inbox.ts"
import type { InboxStore } from "./runs/InboxStore.ts"
import type { FollowUpStore } from "./runs/FollowUpStore.ts"
import { OwnerEvents } from "./runs/OwnerEvents.ts"
import type { RunStore } from "./runs/RunStore.ts"
import { RecalledTexts } from "./threads/RecalledTexts.ts"
import { Removals } from "./threads/Removals.ts"
import { removeScratchThreads } from "./turns/ScratchThreads.ts"
import { Threads } from "./threads/Threads.ts"
import type { ThreadStore } from "./threads/ThreadStore.ts"
import { HostedTools } from "./tools/HostedTool.ts"
import { Conversations } from "./turns/Conversations.ts"
import { Rewinds } from "./turns/Rewinds.ts"
import type { TurnParts } from "./turns/TurnParts.ts"
import { turnPartsLayer } from "./turns/TurnPartsLayer.ts"
import { turnsLayer } from "./turns/Turns.ts"
import { TurnSettings } from "./turns/TurnSettings.ts"
import type { Turns } from "./turns/TurnUseCases.ts"

/** Everything that a storage adapter provides. */
export type Stores =
  | AssistantStore
  | ThreadStore
  | RunStore
  | FollowUpStore
  | InboxStore
  | KeyStore
  | OwnerStore
  | QuotaStore
  | UsageLedger

/** What a host must provide. */
export type Ports = Stores | Providers

/**
 * The services that a host gets. `TurnParts`, `HostedTools`, `FollowUps`, `Removals`, `Rewinds`, `RecalledTexts` and `Copies` are registers:
 * rooms and hosts add to them.
 */
export type Kernel =
  | Assistants
  | Threads
  | Turns
  | Conversations
  | TurnParts
  | HostedTools
  | FollowUps
  | Inbox
  | OwnerEvents
  | Removals
  | Rewinds
  | RecalledTexts
  | Copies
  | Keys
  | AuditLog
  | Catalog
  | Billing
  | Allowances
  | Erasures

/** After a death of the process its follow-ups wait as long as its runs, unless the host says otherwise. */
const followUps = Layer.unwrap(
  Effect.gen(function* () {
    const settings = yield* FollowUpSettings
    const { lease } = yield* TurnSettings
    const claim = settings.claim ?? lease
    return Layer.provide(FollowUps.layer, Layer.succeed(FollowUpSettings, Object.assign({}, settings, { claim })))
  })
)

/** Every use case over the ports: a host provides stores and `Providers` to it. */
export const layer: Layer.Layer<Kernel, never, Ports> = Layer.mergeAll(
  Layer.merge(assistantsLayer, removeScratchThreads).pipe(
    Layer.provideMerge(Threads.layer),
    Layer.provideMerge([Removals.layer, Copies.layer])
  ),
  Layer.merge(Erasures.layer, Conversations.layer.pipe(Layer.provideMerge(Rewinds.layer))).pipe(
    Layer.provideMerge(
      turnsLayer.pipe(Layer.provide(Catalog.layer), Layer.provideMerge([turnPartsLayer, HostedTools.layer]))
    )
  ),
  Keys.layer,
  AuditLog.layer,
  Catalog.layer,
  Billing.layer,
  Allowances.layer,
  Inbox.layer,
  OwnerEvents.layer,
  endBegunCharges
).pipe(Layer.provideMerge([followUps, RecalledTexts.layer]))
