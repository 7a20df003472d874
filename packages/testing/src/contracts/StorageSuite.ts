/**
 * The contract of all storage ports, run over one adapter. The layer is built once for the whole suite. Every test has its own owner, so
 * the database may be shared and need not be empty.
 */
import type { FollowUpStore } from "@colloquy/core/adapters"
import type { ChunkIndex, SessionStore, TicketStore } from "@colloquy/core/wings"
import { describe, layer } from "@effect/vitest"
import type * as Layer from "effect/Layer"
import { assistantStoreContract } from "./AssistantStoreContract.ts"
import { chunkIndexContract } from "./ChunkIndexContract.ts"
import { contractTest, type Capabilities, type Stores } from "./ContractTest.ts"
import { followUpStoreContract } from "./FollowUpStoreContract.ts"
import { inboxStoreContract } from "./InboxStoreContract.ts"
import { keyStoreContract } from "./KeyStoreContract.ts"
import { ownerStoreContract } from "./OwnerStoreContract.ts"
import { quotaContract } from "./QuotaContract.ts"
import { runStoreContract } from "./RunStoreContract.ts"
import { sessionStoreContract } from "./SessionStoreContract.ts"
import { threadStoreContract } from "./ThreadStoreContract.ts"
import { ticketStoreContract } from "./TicketStoreContract.ts"
import { usageLedgerContract } from "./UsageLedgerContract.ts"

export const storageSuite = (name: string, stores: Layer.Layer<Stores, unknown>, capabilities: Capabilities): void =>
  layer(stores, { excludeTestServices: !capabilities.testClock, timeout: "2 minutes" })(name, (it) => {
    const test = contractTest(it, capabilities)
    describe("AssistantStore", () => assistantStoreContract(test))
    describe("ThreadStore", () => threadStoreContract(test))
    describe("RunStore", () => runStoreContract(test))
    describe("InboxStore", () => inboxStoreContract(test))
    describe("KeyStore", () => keyStoreContract(test))
    describe("UsageLedger", () => usageLedgerContract(test))
    describe("QuotaStore", () => quotaContract(test))
    describe("OwnerStore", () => ownerStoreContract(test))
  })

/** The contract of follow-ups. Their settlements write them through `RunStore`. */
export const followUpStoreSuite = (
  name: string,
  store: Layer.Layer<FollowUpStore | Stores, unknown>,
  capabilities: Capabilities
): void =>
  layer(store, { excludeTestServices: !capabilities.testClock, timeout: "2 minutes" })(name, (it) =>
    describe("FollowUpStore", () => followUpStoreContract(contractTest(it, capabilities)))
  )

/** The contract of the index of chunks. Without `keepsVectors`, only the search by terms is tested. */
export const chunkIndexSuite = (
  name: string,
  index: Layer.Layer<ChunkIndex, unknown>,
  { keepsVectors }: { readonly keepsVectors: boolean }
): void =>
  layer(index, { excludeTestServices: true, timeout: "2 minutes" })(name, (it) =>
    describe("ChunkIndex", () =>
      chunkIndexContract(contractTest(it, { testClock: false, signals: false }), keepsVectors))
  )

/** The contracts of voice sessions, which share their threads with runs. */
export const realtimeSuite = (
  name: string,
  stores: Layer.Layer<SessionStore | TicketStore | Stores, unknown>,
  capabilities: Capabilities
): void =>
  layer(stores, { excludeTestServices: !capabilities.testClock, timeout: "2 minutes" })(name, (it) => {
    const test = contractTest(it, capabilities)
    describe("SessionStore", () => sessionStoreContract(test))
    describe("TicketStore", () => ticketStoreContract(test))
  })
