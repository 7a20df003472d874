/** What every adapter of storage brings: the stores of the kernel, and those of its wings. */
import type {
  AssistantStore,
  FollowUpStore,
  KeyStore,
  RunStore,
  ThreadStore,
  UsageLedger
} from "@colloquy/core/adapters"
import type { OutcomeStore } from "@colloquy/core/answers"
import type { BlobStore, DocumentStore } from "@colloquy/core/documents"
import type { MemoryStore } from "@colloquy/core/memory"
import type { SessionStore, TicketStore } from "@colloquy/core/realtime"
import type { RetentionStore } from "@colloquy/core/retention"
import type { ChunkIndex } from "@colloquy/core/retrieval"

export type Stores =
  | AssistantStore
  | BlobStore
  | ChunkIndex
  | DocumentStore
  | FollowUpStore
  | KeyStore
  | MemoryStore
  | OutcomeStore
  | RetentionStore
  | RunStore
  | SessionStore
  | ThreadStore
  | TicketStore
  | UsageLedger
