/** Assistants, threads, keys, the audit log, models and billing as promises: the use cases, with ids as plain text. */
import * as Redacted from "effect/Redacted"
import { type AuditEntry, AuditLog } from "../access/AuditLog.ts"
import { type KeyGrant, Keys, type KeySummary } from "../access/Keys.ts"
import type { Assistant } from "../assistants/Assistant.ts"
import {
  Assistants,
  type AssistantUpdate,
  type ClonedAssistant,
  type CloneRequest,
  type NewAssistant
} from "../assistants/Assistants.ts"
import { Catalog, type CatalogEntry, type CatalogFilter } from "../catalog/Catalog.ts"
import { Billing } from "../metering/Billing.ts"
import type { UsageOfDay } from "../metering/UsageLedger.ts"
import { AssistantId, AuditEntryId, KeyId, ThreadId } from "../primitives/Ids.ts"
import { firstPage, type Page } from "../primitives/Page.ts"
import type { Metadata, Thread } from "../threads/Thread.ts"
import { Threads, type ThreadWithMessages } from "../threads/Threads.ts"
import type { CallOptions, Calls } from "./Calls.ts"
import { readId } from "./PlainIds.ts"

export interface AssistantCalls {
  readonly create: (assistant: NewAssistant, options?: CallOptions) => Promise<Assistant>
  readonly get: (id: string, options?: CallOptions) => Promise<Assistant>
  readonly list: (
    filter?: Partial<Page> & { readonly name?: string },
    options?: CallOptions
  ) => Promise<ReadonlyArray<Assistant>>
  readonly update: (id: string, update: AssistantUpdate, options?: CallOptions) => Promise<Assistant>
  /** Copies the configuration to a new id, with documents and memories if there are any. Threads stay with the source. */
  readonly clone: (id: string, request?: CloneRequest, options?: CallOptions) => Promise<ClonedAssistant>
  /** Deletes the assistant with all its threads. */
  readonly remove: (id: string, options?: CallOptions) => Promise<void>
}

export interface ThreadCalls {
  readonly create: (
    thread: { readonly assistantId: string; readonly metadata?: Metadata | null },
    options?: CallOptions
  ) => Promise<Thread>
  readonly get: (id: string, options?: CallOptions) => Promise<ThreadWithMessages>
  readonly list: (
    filter?: Partial<Page> & { readonly assistantId?: string; readonly includeMessages?: boolean },
    options?: CallOptions
  ) => Promise<ReadonlyArray<ThreadWithMessages>>
  readonly remove: (id: string, options?: CallOptions) => Promise<void>
}

export interface KeyCalls {
  /** Makes a key for the HTTP API. The key is returned once and stored nowhere. */
  readonly make: (
    name: string,
    options?: CallOptions & KeyGrant
  ) => Promise<{ readonly key: string; readonly summary: KeySummary }>
  /** Registers a key that the host chose. */
  readonly register: (name: string, key: string, options?: CallOptions & KeyGrant) => Promise<KeySummary>
  readonly list: (options?: CallOptions) => Promise<ReadonlyArray<KeySummary>>
  readonly revoke: (id: string, options?: CallOptions) => Promise<void>
}

export interface AuditCalls {
  /** Who made and revoked keys, changed assistants and the like, newest first. `before` is the id of an entry. */
  readonly list: (
    page?: { readonly limit?: number; readonly before?: string },
    options?: CallOptions
  ) => Promise<ReadonlyArray<AuditEntry>>
}

export interface ModelCalls {
  readonly list: (
    filter?: CatalogFilter & Partial<Page>,
    options?: Pick<CallOptions, "signal">
  ) => Promise<{ readonly models: ReadonlyArray<CatalogEntry>; readonly total: number }>
  readonly find: (name: string, options?: Pick<CallOptions, "signal">) => Promise<CatalogEntry>
}

export interface BillingCalls {
  /** US dollars; null when the host keeps no balances. */
  readonly balance: (options?: CallOptions) => Promise<number | null>
  /** By day and model, newest day first; `total` counts all rows. */
  readonly recentUsage: (
    page?: Partial<Page>,
    options?: CallOptions
  ) => Promise<{ readonly days: ReadonlyArray<UsageOfDay>; readonly total: number }>
}

export interface RecordCalls {
  readonly assistants: AssistantCalls
  readonly threads: ThreadCalls
  readonly keys: KeyCalls
  readonly audit: AuditCalls
  readonly models: ModelCalls
  readonly billing: BillingCalls
}

const pageOf = ({ limit = firstPage.limit, skip = firstPage.skip }: Partial<Page>): Page => ({ skip, limit })

const grantOf = ({ expiresAt, scope }: KeyGrant = {}): KeyGrant => ({
  ...(expiresAt === undefined ? {} : { expiresAt }),
  ...(scope === undefined ? {} : { scope })
})

export const recordCalls = <Services>(
  calls: Calls<Services | Assistants | Threads | Keys | AuditLog | Catalog | Billing>,
  bound: CallOptions
): RecordCalls => {
  const asked = (options: CallOptions | undefined): CallOptions => ({ ...bound, ...options })
  const assistants = calls.service(Assistants)
  const threads = calls.service(Threads)
  const keys = calls.service(Keys)
  const audit = calls.service(AuditLog)
  const catalog = calls.service(Catalog)
  const billing = calls.service(Billing)
  return {
    assistants: {
      create: (assistant, options) => calls.run(() => assistants.create(assistant), asked(options)),
      get: (id, options) => calls.run(() => assistants.get(readId(AssistantId, id)), asked(options)),
      list: ({ name, ...page } = {}, options) => calls.run(() => assistants.list(pageOf(page), name), asked(options)),
      update: (id, update, options) =>
        calls.run(() => assistants.update(readId(AssistantId, id), update), asked(options)),
      clone: (id, request = {}, options) =>
        calls.run(() => assistants.clone(readId(AssistantId, id), request), asked(options)),
      remove: (id, options) => calls.run(() => assistants.remove(readId(AssistantId, id)), asked(options))
    },
    threads: {
      create: ({ assistantId, metadata = null }, options) =>
        calls.run(() => assistants.createThread(readId(AssistantId, assistantId), metadata), asked(options)),
      get: (id, options) => calls.run(() => threads.get(readId(ThreadId, id)), asked(options)),
      list: ({ assistantId, includeMessages = false, ...page } = {}, options) => {
        const listing = { page: pageOf(page), includeMessages }
        const under = (id: string) => ({ ...listing, assistantId: readId(AssistantId, id) })
        return calls.run(() => threads.list(assistantId === undefined ? listing : under(assistantId)), asked(options))
      },
      remove: (id, options) => calls.run(() => threads.remove(readId(ThreadId, id)), asked(options))
    },
    keys: {
      make: async (name, options) => {
        const { key, summary } = await calls.run(() => keys.make(name, grantOf(options)), asked(options))
        return { key: Redacted.value(key), summary }
      },
      register: (name, key, options) =>
        calls.run(() => keys.register(name, Redacted.make(key), grantOf(options)), asked(options)),
      list: (options) => calls.run(() => keys.list, asked(options)),
      revoke: (id, options) => calls.run(() => keys.revoke(readId(KeyId, id)), asked(options))
    },
    audit: {
      list: ({ before, limit = firstPage.limit } = {}, options) => {
        const page = before === undefined ? { limit } : { limit, before: readId(AuditEntryId, before) }
        return calls.run(() => audit.list(page), asked(options))
      }
    },
    models: {
      list: ({ limit, skip, ...filter } = {}, options) => {
        const page = pageOf({ ...(limit === undefined ? {} : { limit }), ...(skip === undefined ? {} : { skip }) })
        return calls.runForAll(catalog.list(filter, page), options?.signal)
      },
      find: (name, options) => calls.runForAll(catalog.find(name), options?.signal)
    },
    billing: {
      balance: (options) => calls.run(() => billing.balance, asked(options)),
      recentUsage: (page = {}, options) => calls.run(() => billing.recentUsage(pageOf(page)), asked(options))
    }
  }
}
