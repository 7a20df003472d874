/**
 * Every storage port in memory: the reference implementation of the ports, and the store of tests. Nothing survives the process. Each `layer`
 * has its own state. For two kernels on one "database", create a state and pass it to both: `layerFrom(state)`.
 */
import * as Ports from "@colloquy/core/adapters"
import {
  BlobStore,
  ChunkIndex,
  DocumentStore,
  EvalStore,
  MemoryStore,
  OutcomeStore,
  RetentionStore,
  ScheduleStore,
  SealedSecretStore,
  SessionStore,
  TicketStore,
  WebhookStore
} from "@colloquy/core/wings"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type { Stores } from "../Stores.ts"
import { assistantStore } from "./AssistantStore.ts"
import { chunkIndex } from "./ChunkIndex.ts"
import { followUpStore } from "./FollowUpStore.ts"
import { auditStore } from "./AuditStore.ts"
import { blobStore } from "./BlobStore.ts"
import { documentStore } from "./DocumentStore.ts"
import { evalStore } from "./EvalStore.ts"
import { inboxStore } from "./InboxStore.ts"
import { keyStore } from "./KeyStore.ts"
import { memoryStore } from "./MemoryStore.ts"
import { outcomeStore } from "./OutcomeStore.ts"
import { ownerStore } from "./OwnerStore.ts"
import { quotaStore } from "./QuotaStore.ts"
import { retentionStore } from "./RetentionStore.ts"
import { runStore } from "./RunStore.ts"
import { scheduleStore } from "./ScheduleStore.ts"
import { sealedSecretStore } from "./SealedSecretStore.ts"
import { sessionStore } from "./SessionStore.ts"
import { makeState, type State } from "./State.ts"
import { threadStore } from "./ThreadStore.ts"
import { webhookStore } from "./WebhookStore.ts"
import { ticketStore } from "./TicketStore.ts"
import { usageLedger } from "./UsageLedger.ts"

export type { Stores }
export { makeState, type State }

/** All stores in the memory of this process, over a state that the caller keeps. */
export const layerFrom = (state: State): Layer.Layer<Stores> =>
  Layer.mergeAll(
    Layer.succeed(Ports.AssistantStore, assistantStore(state)),
    Layer.succeed(Ports.AuditStore, auditStore(state)),
    Layer.succeed(BlobStore, blobStore(state)),
    Layer.succeed(ChunkIndex, chunkIndex(state.chunks)),
    Layer.succeed(DocumentStore, documentStore(state)),
    Layer.succeed(EvalStore, evalStore(state)),
    Layer.succeed(Ports.FollowUpStore, followUpStore(state)),
    Layer.succeed(Ports.InboxStore, inboxStore(state)),
    Layer.succeed(Ports.KeyStore, keyStore(state)),
    Layer.succeed(MemoryStore, memoryStore(state)),
    Layer.succeed(OutcomeStore, outcomeStore(state)),
    Layer.succeed(RetentionStore, retentionStore(state)),
    Layer.succeed(Ports.OwnerStore, ownerStore(state)),
    Layer.succeed(Ports.QuotaStore, quotaStore(state)),
    Layer.succeed(Ports.RunStore, runStore(state)),
    Layer.succeed(ScheduleStore, scheduleStore(state)),
    Layer.succeed(SealedSecretStore, sealedSecretStore(state)),
    Layer.succeed(SessionStore, sessionStore(state)),
    Layer.succeed(Ports.ThreadStore, threadStore(state)),
    Layer.succeed(TicketStore, ticketStore(state)),
    Layer.succeed(WebhookStore, webhookStore(state)),
    Layer.succeed(Ports.UsageLedger, usageLedger(state))
  )

/** The stores with a new state each time the layer is built. */
export const layer: Layer.Layer<Stores> = Layer.unwrap(Effect.sync(() => layerFrom(makeState())))

/** Only the index of chunks. */
export { layerChunkIndex } from "./ChunkIndex.ts"
