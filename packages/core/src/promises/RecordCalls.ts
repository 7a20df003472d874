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
  type NewAssistant,
  type VersionList
} from "../assistants/Assistants.ts"
import type { VersionedAssistant } from "../assistants/AssistantVersions.ts"
import { Catalog, type CatalogEntry, type CatalogFilter } from "../catalog/Catalog.ts"
import { Billing } from "../metering/Billing.ts"
import type { UsageOfDay } from "../metering/UsageLedger.ts"
import { AssistantId, AuditEntryId, KeyId, MessageId, ThreadId } from "../primitives/Ids.ts"
import { firstPage, type Page } from "../primitives/Page.ts"
import type { IdempotencyKey } from "../runs/Idempotency.ts"
import type { Metadata, Thread } from "../threads/Thread.ts"
import { Threads, type ThreadWithMessages } from "../threads/Threads.ts"
import {
  Conversations,
  type ForkRequest,
  type ImportRequest,
  type RewindRequest,
  type Rewound
} from "../turns/Conversations.ts"
import type { ImportedMessage } from "../turns/Import.ts"
import type { CallOptions, Calls } from "./Calls.ts"
import { readId } from "./PlainIds.ts"
import { checkAssistant, checkThread } from "./PlainFields.ts"
import { readCount, readPage } from "./PlainPages.ts"

export interface VersionCalls {
  /** Newest first. `before` is `next` of the page before. */
  readonly list: (
    id: string,
    page?: { readonly limit?: number; readonly before?: number },
    options?: CallOptions
  ) => Promise<VersionList>
  /** The assistant as it was in this version. `assistantDiff` compares two. */
  readonly get: (id: string, version: number, options?: CallOptions) => Promise<VersionedAssistant>
  /** Makes an earlier version the next one. */
  readonly restore: (
    id: string,
    version: number,
    options?: ChangeOptions & { readonly idempotency?: IdempotencyKey }
  ) => Promise<Assistant>
}

/** With `ifVersion`, the change is refused (`AssistantChanged`) if the assistant has another version. */
export type ChangeOptions = CallOptions & { readonly ifVersion?: number }

/** `colloquy.assistants`: creates, reads, lists, updates, clones and removes assistants; `versions` reads and restores earlier ones. */
export interface AssistantCalls {
  readonly versions: VersionCalls
  readonly create: (assistant: NewAssistant, options?: CallOptions) => Promise<Assistant>
  readonly get: (id: string, options?: CallOptions) => Promise<Assistant>
  readonly list: (
    filter?: Partial<Page> & { readonly name?: string },
    options?: CallOptions
  ) => Promise<ReadonlyArray<Assistant>>
  /** Makes the next version; an update that changes nothing makes none. */
  readonly update: (id: string, update: AssistantUpdate, options?: ChangeOptions) => Promise<Assistant>
  /** Copies the configuration to a new id, with documents and memories if there are any. Threads stay with the source. */
  readonly clone: (id: string, request?: CloneRequest, options?: CallOptions) => Promise<ClonedAssistant>
  /** Deletes the assistant with all its threads. */
  readonly remove: (id: string, options?: CallOptions) => Promise<void>
}

/** `colloquy.threads`: creates, reads, lists, updates, imports and removes conversations, and pins them to a version. */
export interface ThreadCalls {
  readonly create: (
    thread: {
      readonly assistantId: string
      readonly metadata?: Metadata | null
      /** The version of the assistant that answers. Absent: the present one. */
      readonly assistantVersion?: number | null
    },
    options?: CallOptions
  ) => Promise<Thread>
  /** From now on this version of the assistant answers in the thread. Null: the present one. */
  readonly pin: (id: string, assistantVersion: number | null, options?: CallOptions) => Promise<Thread>
  readonly get: (id: string, options?: CallOptions) => Promise<ThreadWithMessages>
  readonly list: (
    filter?: Partial<Page> & { readonly assistantId?: string; readonly includeMessages?: boolean },
    options?: CallOptions
  ) => Promise<ReadonlyArray<ThreadWithMessages>>
  readonly remove: (id: string, options?: CallOptions) => Promise<void>
  /** Makes a thread of messages that were said elsewhere: without runs and without usage. Nothing, when one of them is wrong. */
  readonly import: (
    request: Omit<ImportRequest, "assistantId" | "messages"> & {
      readonly assistantId: string
      readonly messages: ReadonlyArray<ImportedMessage>
    },
    options?: CallOptions
  ) => Promise<Thread>
}

export interface ConversationCalls {
  /** A new thread with the messages up to and with one of this thread; without `messageId`, with all of them. */
  readonly fork: (request: PlainIds<ForkRequest>, options?: CallOptions) => Promise<Thread>
  /** Takes back everything after a message. The whole conversation as it was is the thread `keptAs`. */
  readonly rewind: (request: PlainIds<RewindRequest>, options?: CallOptions) => Promise<Rewound>
}

type PlainIds<Request> = {
  readonly [Field in keyof Request]: Request[Field] extends string | undefined ? string : Request[Field]
}

/** The API keys of an owner. */
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

/** `colloquy.models`: which models and providers there are, with their limits and prices. */
export interface ModelCalls {
  readonly list: (
    filter?: CatalogFilter & Partial<Page>,
    options?: Pick<CallOptions, "signal">
  ) => Promise<{ readonly models: ReadonlyArray<CatalogEntry>; readonly total: number }>
  readonly find: (name: string, options?: Pick<CallOptions, "signal">) => Promise<CatalogEntry>
}

/** The balance of an owner, and what was used. */
export interface BillingCalls {
  /** US dollars; null when the host keeps no balances. */
  readonly balance: (options?: CallOptions) => Promise<number | null>
  /** By day and model, newest day first; `total` counts all rows. */
  readonly recentUsage: (
    page?: Partial<Page>,
    options?: CallOptions
  ) => Promise<{ readonly days: ReadonlyArray<UsageOfDay>; readonly total: number }>
}

export interface RecordCalls extends ConversationCalls {
  readonly assistants: AssistantCalls
  readonly threads: ThreadCalls
  readonly keys: KeyCalls
  readonly audit: AuditCalls
  readonly models: ModelCalls
  readonly billing: BillingCalls
}

const readGrant = ({ expiresAt, scope }: KeyGrant = {}): KeyGrant => ({
  ...(expiresAt === undefined ? {} : { expiresAt }),
  ...(scope === undefined ? {} : { scope })
})

const wantedVersions = ({ ifVersion }: ChangeOptions = {}) => (ifVersion === undefined ? undefined : [ifVersion])

export const recordCalls = <Services>(
  calls: Calls<Services | Assistants | Threads | Conversations | Keys | AuditLog | Catalog | Billing>,
  bound: CallOptions
): RecordCalls => {
  const asked = (options: CallOptions | undefined): CallOptions => ({ ...bound, ...options })
  const assistants = calls.service(Assistants)
  const threads = calls.service(Threads)
  const conversations = calls.service(Conversations)
  const keys = calls.service(Keys)
  const audit = calls.service(AuditLog)
  const catalog = calls.service(Catalog)
  const billing = calls.service(Billing)
  return {
    assistants: {
      create: (assistant, options) =>
        calls.run(() => {
          checkAssistant(assistant)
          return assistants.create(assistant)
        }, asked(options)),
      get: (id, options) => calls.run(() => assistants.get(readId(AssistantId, id)), asked(options)),
      list: ({ name, ...page } = {}, options) => calls.run(() => assistants.list(readPage(page), name), asked(options)),
      update: (id, update, options) =>
        calls.run(() => {
          checkAssistant(update)
          return assistants.update(readId(AssistantId, id), update, wantedVersions(options))
        }, asked(options)),
      versions: {
        list: (id, { before, limit = firstPage.limit } = {}, options) =>
          calls.run(
            () =>
              assistants.versions(readId(AssistantId, id), {
                limit: readCount("limit", limit),
                ...(before === undefined ? {} : { before: readCount("before", before) })
              }),
            asked(options)
          ),
        get: (id, version, options) =>
          calls.run(() => assistants.version(readId(AssistantId, id), readCount("version", version)), asked(options)),
        restore: (id, version, options) =>
          calls.run(
            () =>
              assistants.restore(
                readId(AssistantId, id),
                readCount("version", version),
                wantedVersions(options),
                options?.idempotency
              ),
            asked(options)
          )
      },
      clone: (id, request = {}, options) =>
        calls.run(() => assistants.clone(readId(AssistantId, id), request), asked(options)),
      remove: (id, options) => calls.run(() => assistants.remove(readId(AssistantId, id)), asked(options))
    },
    threads: {
      create: ({ assistantId, assistantVersion = null, metadata = null }, options) =>
        calls.run(() => {
          checkThread({ metadata })
          return assistants.createThread(readId(AssistantId, assistantId), metadata, assistantVersion)
        }, asked(options)),
      pin: (id, version, options) =>
        calls.run(() => assistants.pinThread(readId(ThreadId, id), version), asked(options)),
      get: (id, options) => calls.run(() => threads.get(readId(ThreadId, id)), asked(options)),
      list: ({ assistantId, includeMessages = false, ...page } = {}, options) =>
        calls.run(
          () =>
            threads.list({
              page: readPage(page),
              includeMessages,
              ...(assistantId === undefined ? {} : { assistantId: readId(AssistantId, assistantId) })
            }),
          asked(options)
        ),
      remove: (id, options) => calls.run(() => threads.remove(readId(ThreadId, id)), asked(options)),
      import: ({ assistantId, ...request }, options) =>
        calls.run(
          () => conversations.import({ ...request, assistantId: readId(AssistantId, assistantId) }),
          asked(options)
        )
    },
    fork: async ({ messageId, threadId, ...request }, options) => {
      const at = messageId === undefined ? {} : { messageId: readId(MessageId, messageId) }
      return calls.run(
        () => conversations.fork({ ...request, ...at, threadId: readId(ThreadId, threadId) }),
        asked(options)
      )
    },
    rewind: async ({ messageId, threadId, ...request }, options) => {
      const to = { threadId: readId(ThreadId, threadId), messageId: readId(MessageId, messageId) }
      return calls.run(() => conversations.rewind({ ...request, ...to }), asked(options))
    },
    keys: {
      make: async (name, options) => {
        const { key, summary } = await calls.run(() => keys.make(name, readGrant(options)), asked(options))
        return { key: Redacted.value(key), summary }
      },
      register: (name, key, options) =>
        calls.run(() => keys.register(name, Redacted.make(key), readGrant(options)), asked(options)),
      list: (options) => calls.run(() => keys.list, asked(options)),
      revoke: (id, options) => calls.run(() => keys.revoke(readId(KeyId, id)), asked(options))
    },
    audit: {
      list: ({ before, limit = firstPage.limit } = {}, options) =>
        calls.run(
          () =>
            audit.list({
              limit: readCount("limit", limit),
              ...(before === undefined ? {} : { before: readId(AuditEntryId, before) })
            }),
          asked(options)
        )
    },
    models: {
      list: async ({ limit, skip, ...filter } = {}, options) =>
        calls.runForAll(catalog.list(filter, readPage({ limit, skip })), options?.signal),
      find: (name, options) => calls.runForAll(catalog.find(name), options?.signal)
    },
    billing: {
      balance: (options) => calls.run(() => billing.balance, asked(options)),
      recentUsage: (page = {}, options) => calls.run(() => billing.recentUsage(readPage(page)), asked(options))
    }
  }
}
