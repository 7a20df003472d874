/** The types of stores and of what rooms may require. */
import type { Kernel, RateLimiter } from "@colloquy/core"
import type { Ports, Stores } from "@colloquy/core/adapters"
import type {
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
import type * as Layer from "effect/Layer"

/** What rooms keep, and what deletes by age. */
type WingStores =
  | BlobStore
  | ChunkIndex
  | DocumentStore
  | EvalStore
  | MemoryStore
  | OutcomeStore
  | RetentionStore
  | ScheduleStore
  | SealedSecretStore
  | SessionStore
  | TicketStore
  | WebhookStore

/** What `postgres`, `pglite` and `inMemory` give: opened with the kernel and closed with it. */
export type Store = Layer.Layer<Stores | WingStores, unknown>

/** What a room may require: the kernel's use cases, its ports, and every store. */
export type RoomNeeds = Kernel.Kernel | Ports | WingStores

/** The services that ports of a host give. Ports that are references are in no type. */
export type PortServices = BlobStore | RateLimiter
