/**
 * The state of all in-memory stores in one object, like a database. Two kernels with the same `State` behave like two processes with the same
 * database. Records are immutable and are replaced. The rows that contain them change only inside of `step`: each operation is one synchronous
 * function, so every operation is atomic.
 */
import type {
  Assistant,
  AssistantId,
  Charge,
  FollowUp,
  Message,
  OwnerId,
  Run,
  RunId,
  Thread,
  ThreadId,
  MessageId
} from "@colloquy/core"
import type {
  Amount,
  Answered,
  Erasure,
  ErasureId,
  AuditEntry,
  FollowUpId,
  BlobId,
  DocumentId,
  KeyRecord,
  Lease,
  LogEvent,
  NewMessage,
  FoundRepeat,
  RunSignal,
  RunStatus,
  CaseId,
  ExperimentId,
  ScheduleId,
  WebhookId,
  DeliveryId,
  UsageOfDay,
  VersionedAssistant
} from "@colloquy/core/adapters"
import { Principal, StoreUnavailable } from "@colloquy/core"
import { isAtRest, type ThreadSummary } from "@colloquy/core/adapters"
import type {
  Document,
  MemoryId,
  MemoryOutcome,
  MemoryRecord,
  MemoryVersion,
  Outcome,
  EvalCase,
  OnlineScore,
  Feedback,
  ExperimentResult,
  ExperimentState,
  Schedule,
  SessionCharge,
  TicketRecord,
  Delivery,
  Webhook
} from "@colloquy/core/wings"
import type { EntriesOfOwner, Entry } from "./ChunkIndex.ts"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"

export interface AssistantRow {
  readonly ownerId: OwnerId
  /** Whether the assistant is a clone that is not complete yet and is not returned. */
  isDraft: boolean
  assistant: Assistant
  /** The author of the present version, and its differences from the version before. */
  by: string
  changes: VersionedAssistant["changes"]
  /** The versions before, the oldest first. */
  readonly older: Array<VersionedAssistant>
}

export interface ThreadRow {
  readonly ownerId: OwnerId
  thread: Thread
  summary: ThreadSummary | null
  /** The set of documents to which a new document is added, and the sets that other threads have too. */
  shelf: ThreadId
  shelves: ReadonlyArray<ThreadId>
  rewinds: number
  /** The message with the sequence n has the index n - 1. */
  readonly messages: Array<Message>
  /** The sum of the tokens of all messages. */
  tokens: number
  readonly runs: Set<RunRow>
  inProgress: RunRow | null
  requiresAction: RunRow | null
  readonly queued: Array<RunRow>
  /** The voice session that writes to the thread, or the last one if its lease has expired. */
  session: { readonly id: RunId; expiresAt: number; lastCharge: number } | null
}

/** The request that an idempotency key was used for. */
export type UsedKey = FoundRepeat | ({ readonly _tag: "Answered" } & Answered)

export interface RunRow {
  thread: ThreadRow
  /** Grows with each run of the store. */
  readonly ordinal: number
  run: Run
  token: number
  /** The token under which the current leg began. If `token` is newer, another process has taken the run over. */
  legToken: number
  expiresAt: number
  readonly log: Array<LogEvent>
  /** Whether the log was deleted by its age or by a rewind. */
  isLogDeleted: boolean
  /** The sequences of the run's messages in its thread, the user's message first. */
  readonly messages: Array<number>
  /** The message and events of a queued run, which are stored when the run starts or is settled. */
  pending: {
    readonly message: NewMessage
    readonly events: ReadonlyArray<LogEvent>
    readonly queuePosition: number
  } | null
  /** The run's entries in `State.repeated`. */
  readonly idempotencyKeys: Array<string>
  /** What the run has reserved of its owner's limits while it is active; null: it was admitted without limits. */
  reserved: Amount | null
}

export interface FollowUpRow {
  followUp: FollowUp
  /** The fencing token of the newest claim. */
  token: number
  dueAt: number
  claimExpiresAt: number
}

export interface DocumentRow {
  readonly ownerId: OwnerId
  document: Document
  /** How many attempts to index the document have begun. */
  attempts: number
  /** When its addresses were revoked last. */
  revokedAt: Date | null
}

export interface BlobRow {
  readonly ownerId: OwnerId
  readonly pieces: ReadonlyArray<Uint8Array>
  readonly size: number
  readonly storedAt: number
}

export interface MemoryRow {
  memory: MemoryRecord
  /** The earlier versions, the oldest first. */
  readonly versions: Array<MemoryVersion>
  /** The memory's entry for searches. */
  entry: Entry
  /** The number of the assistant's `puts` at which the entry was stored. A search returns memories of equal rank in this order. */
  put: number
}

/** The memories of one assistant. */
export interface MemoriesOfAssistant {
  readonly rows: Map<MemoryId, MemoryRow>
  /** How often a memory was stored or changed. */
  puts: number
  /** When all memories were last removed. */
  forgottenAt: number
}

export interface AppliedRow {
  readonly ownerId: OwnerId
  readonly assistantId: AssistantId
  readonly outcomes: ReadonlyArray<MemoryOutcome>
  readonly appliedAt: Date
}

/** The current minute of a rate: how much of it is used, and when it ends. */
export interface Minute {
  used: number
  readonly endsAt: number
}

export interface Hold {
  readonly ownerId: OwnerId
  readonly assistantId: AssistantId | null
  readonly amount: Amount
  readonly endsAt: number
}

/** The records of all stores in memory, as plain maps. */
export interface State {
  readonly assistants: Map<AssistantId, AssistantRow>
  readonly threads: Map<ThreadId, ThreadRow>
  readonly runs: Map<RunId, RunRow>
  lastOrdinal: number
  readonly keys: Map<string, KeyRecord>
  readonly documents: Map<DocumentId, DocumentRow>
  readonly blobs: Map<BlobId, BlobRow>
  readonly repeated: Map<string, { readonly at: number; readonly value: UsedKey }>
  readonly ledger: Map<string, UsageOfDay & { readonly ownerId: OwnerId; readonly assistantId: AssistantId | null }>
  readonly followUps: Map<FollowUpId, FollowUpRow>
  /** The owner whose follow-up was claimed last, among the urgent ones (true) and among the others. */
  readonly lastClaims: Map<boolean, OwnerId>
  /** Runs that were deleted while they were active: the lease that may still store their charges, and whether it has done so. */
  readonly deletedRuns: Map<
    RunId,
    {
      readonly ownerId: OwnerId
      readonly assistantId: AssistantId
      readonly token: number
      readonly at: number
      isCharged: boolean
    }
  >
  /** By owner, answer set and question. */
  readonly outcomes: Map<string, { readonly ownerId: OwnerId; readonly outcome: Outcome }>
  /** An entry stays when its assistant is deleted, but is no longer used. */
  readonly memories: Map<AssistantId, MemoriesOfAssistant>
  readonly appliedRuns: Map<RunId, AppliedRow>
  /** The index of chunks. */
  readonly chunks: Map<OwnerId, EntriesOfOwner>
  /** When charges outside of a settlement were begun or counted, by owner and id. `begun` is null once they are counted. */
  readonly charges: Map<
    string,
    {
      readonly ownerId: OwnerId
      readonly assistantId: AssistantId | null
      readonly at: number
      begun: ReadonlyArray<Charge> | null
    }
  >
  /** What work that is no run has reserved of the day's budget, by owner and id. */
  readonly holds: Map<string, Hold>
  readonly erasures: Map<ErasureId, { readonly ownerId: OwnerId; erasure: Erasure }>
  /** The rates of owners, by owner and name. */
  readonly rates: Map<string, Minute>
  /** Encrypted secrets, by owner and name. */
  readonly sealedSecrets: Map<string, Uint8Array>
  /** The tickets by their hash. */
  readonly tickets: Map<string, TicketRecord>
  /** The charges of voice sessions that have not been reported yet, by session and number. */
  readonly sessionCharges: Map<string, { readonly charge: SessionCharge; readonly at: number }>
  /** In the order in which the entries were appended. */
  readonly auditLog: Array<AuditEntry>
  /** The time until which the changes of an owner's runs are recorded, by owner. */
  readonly followed: Map<OwnerId, number>
  /** In the order of their marks. */
  readonly runChanges: Array<{
    readonly ownerId: OwnerId
    readonly mark: number
    readonly runId: RunId
    readonly at: number
  }>
  lastChangeMark: number
  readonly schedules: Map<ScheduleId, { readonly ownerId: OwnerId; schedule: Schedule }>
  readonly feedback: Map<MessageId, { readonly ownerId: OwnerId; feedback: Feedback }>
  readonly onlineScores: Map<RunId, { readonly ownerId: OwnerId; score: OnlineScore }>
  readonly experiments: Map<
    ExperimentId,
    { readonly ownerId: OwnerId; state: ExperimentState; readonly results: Map<number, ExperimentResult> }
  >
  readonly evalCases: Map<CaseId, { readonly ownerId: OwnerId; evalCase: EvalCase }>
  readonly webhooks: Map<WebhookId, { readonly ownerId: OwnerId; readonly mark: number; webhook: Webhook }>
  webhookMark: number
  readonly deliveries: Map<DeliveryId, { readonly ownerId: OwnerId; delivery: Delivery }>
  readonly listeners: Set<(signal: RunSignal) => void>
}

/** An empty state for the stores of `layerFrom`. */
export const makeState = (): State => ({
  sealedSecrets: new Map(),
  tickets: new Map(),
  sessionCharges: new Map(),
  assistants: new Map(),
  threads: new Map(),
  runs: new Map(),
  lastOrdinal: 0,
  keys: new Map(),
  documents: new Map(),
  blobs: new Map(),
  repeated: new Map(),
  ledger: new Map(),
  followUps: new Map(),
  lastClaims: new Map(),
  deletedRuns: new Map(),
  outcomes: new Map(),
  memories: new Map(),
  appliedRuns: new Map(),
  chunks: new Map(),
  charges: new Map(),
  holds: new Map(),
  erasures: new Map(),
  rates: new Map(),
  auditLog: [],
  followed: new Map(),
  runChanges: [],
  lastChangeMark: 0,
  schedules: new Map(),
  feedback: new Map(),
  onlineScores: new Map(),
  experiments: new Map(),
  evalCases: new Map(),
  webhooks: new Map(),
  webhookMark: 0,
  deliveries: new Map(),
  listeners: new Set()
})

export const emptyThread = (ownerId: OwnerId, thread: Thread): ThreadRow => ({
  ownerId,
  thread,
  summary: null,
  shelf: thread.id,
  shelves: [],
  rewinds: 0,
  messages: [],
  tokens: 0,
  runs: new Set(),
  inProgress: null,
  requiresAction: null,
  queued: [],
  session: null
})

/** Runs one operation on the state. */
export const step = <A>(operation: (now: number) => A): Effect.Effect<A> =>
  Clock.clockWith((clock) => Effect.sync(() => operation(clock.currentTimeMillisUnsafe())))

/** Runs one operation for the principal. */
export const ownedStep = <A>(operation: (ownerId: OwnerId, now: number) => A): Effect.Effect<A, never, Principal> =>
  Principal.use(({ ownerId }) => step((now) => operation(ownerId, now)))

/** Runs one operation that adds something for the principal. */
export const ownedWrite = <A>(
  state: State,
  operation: string,
  write: (ownerId: OwnerId, now: number) => A
): Effect.Effect<A, StoreUnavailable, Principal> =>
  Effect.flatten(
    ownedStep((ownerId, now) =>
      erasureInProgress(state, ownerId) === undefined
        ? Effect.succeed(write(ownerId, now))
        : Effect.fail(new StoreUnavailable({ operation, isErasing: true }))
    )
  )

export const erasureInProgress = (state: State, ownerId: OwnerId): Erasure | undefined =>
  [...state.erasures.values()].find((row) => row.ownerId === ownerId && row.erasure.status === "IN_PROGRESS")?.erasure

/** Inserts a row with a new id. An id that exists already is a mistake of the caller, and its row may belong to another owner, so this throws. */
export const insertNew = <Id, Row>(rows: Map<Id, Row>, id: Id, row: Row): Row => {
  if (rows.has(id)) throw new Error(`A row with the id "${String(id)}" exists already.`)
  rows.set(id, row)
  return row
}

/** The order of texts in PostgreSQL: by code points. JavaScript's own order puts a character of two units before some of one. */
export const byCodePoints = (one: string, other: string): number => {
  const [ours, theirs] = [Array.from(one), Array.from(other)]
  const at = ours.findIndex((character, index) => character !== theirs[index])
  return at === -1 ? ours.length - theirs.length : (ours[at]?.codePointAt(0) ?? 0) - (theirs[at]?.codePointAt(0) ?? -1)
}

/** A page of a list, newest first: rows are in the order of their insertion. If no row has the id `after`, the page is empty. */
export const pageBehind = <Row extends { readonly id: string }>(
  rows: ReadonlyArray<Row>,
  limit: number,
  after?: Row["id"]
): ReadonlyArray<Row> => {
  const newestFirst = rows.toReversed()
  const from = after === undefined ? 0 : newestFirst.findIndex(({ id }) => id === after) + 1
  return after !== undefined && from === 0 ? [] : newestFirst.slice(from, from + limit)
}

export const findAssistant = (state: State, ownerId: OwnerId, id: AssistantId): AssistantRow | undefined => {
  const row = state.assistants.get(id)
  return row?.ownerId === ownerId ? row : undefined
}

export const findThread = (state: State, ownerId: OwnerId, id: ThreadId): ThreadRow | undefined => {
  const row = state.threads.get(id)
  return row?.ownerId === ownerId ? row : undefined
}

export const findRun = (state: State, ownerId: OwnerId, id: RunId): RunRow | undefined => {
  const row = state.runs.get(id)
  return row?.thread.ownerId === ownerId ? row : undefined
}

/** The run of a lease, if the lease is the newest one of the run. The run itself may have ended. */
export const leasedRun = (state: State, ownerId: OwnerId, lease: Lease): RunRow | undefined => {
  const row = findRun(state, ownerId, lease.runId)
  return row?.token === lease.token ? row : undefined
}

export const isActive = (row: RunRow): boolean => !isAtRest(row.run.status)

/** With `<=`, a lease of length zero has expired as soon as it is granted. */
export const isExpired = (row: RunRow, now: number): boolean => row.expiresAt <= now

/** Whether a voice session is writing to the thread. */
export const isInSession = (
  row: ThreadRow,
  now: number
): row is ThreadRow & { readonly session: NonNullable<ThreadRow["session"]> } =>
  row.session !== null && row.session.expiresAt > now

export const signal = (state: State, { run }: RunRow, cancel = false): void => {
  for (const listener of state.listeners) listener({ runId: run.id, threadId: run.threadId, cancel })
}

/** Appends a message of a run to its thread. */
export const appendToThread = (row: RunRow, message: NewMessage): void => {
  row.messages.push(addMessage(row.thread, message))
}

/** Appends a message to a thread and returns its sequence. */
export const addMessage = (row: ThreadRow, message: NewMessage): number => {
  const sequence = row.messages.length + 1
  row.messages.push({ ...message, sequence })
  row.tokens += message.tokens
  if (message.createdAt > row.thread.updatedAt) row.thread = { ...row.thread, updatedAt: message.createdAt }
  return sequence
}

/** Replaces the run's newest message. In REQUIRES_ACTION this is the message whose calls are open. */
export const changeNewest = (row: RunRow, change: (message: Message) => Message): void => {
  const index = (row.messages.at(-1) ?? 0) - 1
  const before = row.thread.messages[index]
  if (before === undefined) return
  const after = change(before)
  row.thread.messages[index] = after
  row.thread.tokens += after.tokens - before.tokens
}

/** Appends the events that are not in the log yet. */
export const record = (row: RunRow, events: ReadonlyArray<LogEvent>): void => {
  let lastSequence = row.run.lastSequence
  for (const event of events) {
    if (event.sequence <= lastSequence) continue
    row.log.push(event)
    lastSequence = event.sequence
  }
  if (lastSequence !== row.run.lastSequence) row.run = { ...row.run, lastSequence }
}

/** Changes a run's status, and with it the place of the run in its thread. For an owner who is followed the change is recorded. */
export const move = (state: State, row: RunRow, now: number, status: RunStatus, change: Partial<Run> = {}): void => {
  leaveStatus(row)
  const { ownerId } = row.thread
  if ((state.followed.get(ownerId) ?? 0) > now) {
    state.runChanges.push({ ownerId, mark: ++state.lastChangeMark, runId: row.run.id, at: now })
  }
  row.run = { ...row.run, ...change, status }
  if (status === "QUEUED") row.thread.queued.push(row)
  else if (status === "IN_PROGRESS") row.thread.inProgress = row
  else if (status === "REQUIRES_ACTION") row.thread.requiresAction = row
}

const leaveStatus = (row: RunRow): void => {
  const { thread } = row
  if (thread.inProgress === row) thread.inProgress = null
  if (thread.requiresAction === row) thread.requiresAction = null
  const waiting = thread.queued.indexOf(row)
  if (waiting !== -1) thread.queued.splice(waiting, 1)
}

/** Ends a run that waits for its client, because it was cancelled or superseded by a newer run. */
export const closeWaiting = (state: State, row: RunRow, now: number, at: Date, change: Partial<Run> = {}): void => {
  move(state, row, now, "CANCELLED", { ...change, endedAt: at })
  changeNewest(row, (message) => ({ ...message, status: "CANCELLED" }))
  signal(state, row)
}

/** Removes a run with its log; its messages belong to the thread. Its idempotency keys stay, so that no repeat begins it again. */
export const forgetRun = (state: State, row: RunRow): void => {
  leaveStatus(row)
  row.thread.runs.delete(row)
  state.runs.delete(row.run.id)

  signal(state, row)
}

/** Removes an assistant with its threads and documents. */
export const forgetAssistant = (state: State, id: AssistantId, now: number): void => {
  state.assistants.delete(id)
  for (const thread of state.threads.values()) {
    if (thread.thread.assistantId === id) forgetThread(state, thread, now)
    else if (thread.thread.actingAssistantId === id) {
      const { actingAssistantId: _, ...own } = thread.thread
      thread.thread = own
    }
  }
  for (const [documentId, { document }] of state.documents) {
    if (document.scope._tag === "Assistant" && document.scope.assistantId === id) state.documents.delete(documentId)
  }
}

/** The sets of documents that a thread has. */
export const allShelves = ({ shelf, shelves }: ThreadRow): ReadonlyArray<ThreadId> => [...shelves, shelf]

/** Another thread that has the documents of this set. */
const findHeir = (state: State, shelf: ThreadId, but: ThreadId): ThreadRow | undefined =>
  [...state.threads.values()].find((row) => row.thread.id !== but && row.shelves.includes(shelf))

export const forgetThread = (state: State, row: ThreadRow, now: number): void => {
  state.threads.delete(row.thread.id)
  for (const [id, each] of state.documents) {
    const { scope } = each.document
    if (scope._tag === "Assistant" || scope.threadId !== row.thread.id) continue
    const shelf = scope.shelf ?? scope.threadId
    const heir = findHeir(state, shelf, row.thread.id)
    if (heir === undefined) state.documents.delete(id)
    else each.document = { ...each.document, scope: { ...scope, threadId: heir.thread.id, shelf } }
  }
  for (const run of row.runs) {
    if (isActive(run)) {
      const { assistantId } = row.thread
      state.deletedRuns.set(run.run.id, {
        ownerId: row.ownerId,
        assistantId,
        token: run.token,
        at: now,
        isCharged: false
      })
    }
    forgetRun(state, run)
  }
}
