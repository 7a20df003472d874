/** The services that every storage adapter provides: the stores of the kernel and of its wings. */
import type {
  AssistantStore,
  FollowUpStore,
  InboxStore,
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

/** Everything that a whole store gives: one service for each storage port. */
export type Stores =
  | AssistantStore
  | BlobStore
  | ChunkIndex
  | DocumentStore
  | EvalStore
  | FollowUpStore
  | InboxStore
  | KeyStore
  | MemoryStore
  | OutcomeStore
  | OwnerStore
  | QuotaStore
  | RetentionStore
  | RunStore
  | ScheduleStore
  | SealedSecretStore
  | SessionStore
  | ThreadStore
  | TicketStore
  | WebhookStore
  | UsageLedger
