/** The services that every storage adapter provides: the stores of the kernel and of its wings. */
import type {
  AssistantStore,
  FollowUpStore,
  KeyStore,
  OwnerStore,
  QuotaStore,
  RunStore,
  ThreadStore,
  UsageLedger
} from "@colloquy/core/adapters"
import type {
  BlobStore,
  ChunkIndex,
  DocumentStore,
  MemoryStore,
  OutcomeStore,
  RetentionStore,
  SessionStore,
  TicketStore
} from "@colloquy/core/wings"

export type Stores =
  | AssistantStore
  | BlobStore
  | ChunkIndex
  | DocumentStore
  | FollowUpStore
  | KeyStore
  | MemoryStore
  | OutcomeStore
  | OwnerStore
  | QuotaStore
  | RetentionStore
  | RunStore
  | SessionStore
  | ThreadStore
  | TicketStore
  | UsageLedger
