/**
 * Stores conversation and usage of a session turn by turn while it goes on, and reports charges to the meter. While the store is
 * unavailable, it tries again. The rest that is not stored at the end is stored later, as long as no other session has taken the thread.
 */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Latch from "effect/Latch"
import type { Principal } from "../access/Principal.ts"
import type { Charge } from "../metering/Charge.ts"
import type { MeteringPort, UsageReport } from "../metering/Metering.ts"
import type { UsageLedger } from "../metering/UsageLedger.ts"
import type { TokenCounterPort } from "../models/TokenCounter.ts"
import { inTime } from "../primitives/Deadlines.ts"
import { ChargeId, MessageId, newId, RunId } from "../primitives/Ids.ts"
import { keyedId } from "../primitives/KeyedId.ts"
import type { StoreUnavailable } from "../primitives/StoreUnavailable.ts"
import type { Usage } from "../primitives/Usage.ts"
import type { Metadata } from "../threads/Thread.ts"
import type { FollowUpOrder, NewFollowUp } from "../runs/FollowUp.ts"
import type { AnsweringAssistant, NewMessage } from "../threads/Message.ts"
import { makeSupplements } from "../threads/Supplement.ts"
import { ordered } from "../turns/PartFollowUps.ts"
import { repeatWhileUnavailable } from "../primitives/StoreRetry.ts"
import { type Entry, isCutShort, entryText } from "./Conversation.ts"
import type { SessionSettings } from "./Frames.ts"
import type { VoiceTimes } from "./RealtimeModel.ts"
import type { SessionCharge, SessionLease, SessionStore } from "./SessionStore.ts"

/** The source of the entries: the relay. */
export interface Unsaved {
  readonly unsaved: () => ReadonlyArray<Entry>
  readonly saved: (entries: ReadonlyArray<Entry>) => void
}

export interface SessionKeeper {
  /** There may be something to store. */
  readonly wake: () => void
  /** The usage of the vendor's model. */
  readonly charge: (usage: Usage) => void
  /** The cost of something else, such as a hosted tool. */
  readonly spend: (charge: Charge) => void
  /** Stores the client's settings for the next session of the thread. */
  readonly keepSettings: (settings: SessionSettings) => void
  /** Stores while the session is open; ends when the lease is lost. */
  readonly keep: Effect.Effect<void, never, Principal>
  /** Stores what is left, once. */
  readonly flush: Effect.Effect<"saved" | "lost", StoreUnavailable, Principal>
  /** Whether there are stored charges that the meter has not accepted. */
  readonly owes: () => boolean
}

/** The purpose of these charges in the ledger. */
export const audioPurpose = "realtime"

/** Each charge of a session is reported like a leg of a run. */
export const sessionReport = (
  { sessionId, threadId }: Pick<SessionLease, "sessionId" | "threadId">,
  number: number,
  { model, provider, purpose, usage }: Charge
): UsageReport => ({
  runId: sessionId,
  leg: number,
  threadId,
  provider,
  model,
  usage,
  charges: [{ provider, model, purpose, usage }]
})

/** Reports a charge. A meter that does not answer must not hold the session, nor the charges of others. */
export const reportCharge = (
  metering: MeteringPort,
  session: Pick<SessionLease, "sessionId" | "threadId">,
  charge: SessionCharge
): Effect.Effect<void, StoreUnavailable, Principal> =>
  metering
    .record(sessionReport(session, charge.number, charge))
    .pipe(inTime("10 seconds", () => Effect.die(new Error("The host's meter did not answer within 10 seconds"))))

export interface KeeperSetup {
  readonly store: typeof SessionStore.Service
  /** Gets the charges of a session that has lost its thread. */
  readonly ledger: Pick<typeof UsageLedger.Service, "add">
  readonly metering: MeteringPort
  readonly counter: TokenCounterPort
  readonly lease: SessionLease
  readonly provider: string
  readonly model: string
  /** The assistant that speaks. */
  readonly assistant: AnsweringAssistant
  readonly source: Unsaved
  /** The follow-ups of an exchange that ends with these messages. */
  readonly orderFollowUps: (
    exchangeId: RunId,
    messageIds: ReadonlyArray<MessageId>
  ) => Effect.Effect<ReadonlyArray<FollowUpOrder>>
  /** Stores what the client has set. */
  readonly storeSettings: (settings: SessionSettings) => Effect.Effect<void, StoreUnavailable, Principal>
  /** Called for each change of the settings after it was stored. */
  readonly onSettings: () => void
  /** Called after follow-ups were stored. */
  readonly onFollowUps: () => void
  /** After charges were stored. */
  readonly onCharged: Effect.Effect<void, never, Principal>
}

export const makeSessionKeeper = (setup: KeeperSetup): SessionKeeper => {
  const { lease, metering, model, provider, source, store } = setup
  const latch = Latch.makeUnsafe(false)
  const ids = new Map<string, MessageId>()
  let unsaved: ReadonlyArray<SessionCharge> = []
  let unmetered: ReadonlyArray<SessionCharge> = []
  let charges = 0
  /** Messages that are stored, but not yet part of an exchange with follow-ups. */
  let unfinished: ReadonlyArray<MessageId> = []
  /** Messages that are part of an exchange, or will be. */
  const exchanged = new Set<MessageId>()
  let followUps: ReadonlyArray<NewFollowUp> = []
  let changes: ReadonlyArray<SessionSettings> = []

  const storedMessage = Effect.fnUntraced(function* (entry: Entry) {
    const id = ids.get(entry.key) ?? (yield* newId(MessageId))
    ids.set(entry.key, id)
    return toMessage(entry, id, setup)
  })

  /** An exchange ends with an answer in words. Its follow-ups are made once, also when the write is repeated. */
  const orderFollowUps = Effect.fnUntraced(function* (entries: ReadonlyArray<Entry>) {
    for (const entry of entries) {
      const id = ids.get(entry.key)
      if (id === undefined || !entry.isDone || exchanged.has(id)) continue
      exchanged.add(id)
      unfinished = [...unfinished, id]
      if (entry.role === "user" || entryText(entry) === "") continue
      const exchange = unfinished
      unfinished = []
      const orders = yield* setup.orderFollowUps(yield* newId(RunId), exchange)
      followUps = [...followUps, ...(yield* ordered(orders))]
    }
  })

  const chargeLost = Effect.fnUntraced(function* (charge: SessionCharge) {
    const id = yield* keyedId(ChargeId, ["session", lease.sessionId, charge.number])
    yield* setup.ledger.add(id, sessionReport(lease, charge.number, charge).charges, setup.assistant.id)
  })

  const flush = Effect.gen(function* () {
    const entries = source.unsaved()
    const written = unsaved
    const changed = changes
    if (entries.length === 0 && written.length === 0 && changed.length === 0) return "saved" as const
    const messages = yield* Effect.forEach(entries, storedMessage)
    yield* orderFollowUps(entries)
    const ordering = followUps
    const at = new Date(yield* Clock.currentTimeMillis)
    const isOurs = yield* store.write(lease, { messages, charges: written, followUps: ordering }, at)
    // What was used is paid for, also where another session has the thread.
    if (!isOurs) for (const charge of written) yield* chargeLost(charge)
    unsaved = unsaved.filter((charge) => !written.includes(charge))
    unmetered = [...unmetered, ...written]
    if (!isOurs) return "lost" as const
    source.saved(entries)
    followUps = followUps.filter((followUp) => !ordering.includes(followUp))
    if (ordering.length > 0) setup.onFollowUps()
    if (written.length > 0) yield* setup.onCharged
    const settings = changed.at(-1)
    if (settings !== undefined) {
      yield* setup.storeSettings(settings)
      changes = changes.slice(changed.length)
      for (const _ of changed) setup.onSettings()
    }
    return "saved" as const
  })

  /** If the meter fails, the search over the store reports the charges later. */
  const meter = Effect.gen(function* () {
    const told = unmetered
    if (told.length === 0) return
    for (const charge of told) yield* reportCharge(metering, lease, charge)
    yield* store.reported(told)
    unmetered = unmetered.filter((charge) => !told.includes(charge))
  }).pipe(
    Effect.catchCause((cause) => Effect.logWarning("The charges of a voice session could not be reported yet", cause))
  )

  const all = Effect.tap(flush, () => meter)

  const spend = ({ model: charged, provider: by, purpose, usage }: Charge): void => {
    charges += 1
    const { ownerId, sessionId, threadId } = lease
    const charge = { sessionId, number: charges, ownerId, threadId, provider: by, model: charged, purpose, usage }
    unsaved = [...unsaved, charge]
    latch.openUnsafe()
  }

  return {
    spend,
    wake: () => {
      latch.openUnsafe()
    },
    keepSettings: (settings) => {
      changes = [...changes, settings]
      latch.openUnsafe()
    },
    charge: (usage) => spend({ provider, model, purpose: audioPurpose, usage }),
    keep: Effect.gen(function* () {
      while (true) {
        yield* latch.await
        latch.closeUnsafe()
        if ((yield* repeatWhileUnavailable(all, "1 hour")) === "lost") return
      }
    }).pipe(Effect.orDie),
    flush: all,
    owes: () => unmetered.length > 0
  }
}

const metadataWith = (fields: Metadata): Metadata | null => (Object.keys(fields).length === 0 ? null : fields)

const timesToMetadata = (times: VoiceTimes): Metadata => ({
  pause_ms: times.pauseMillis,
  transcript_ms: times.transcriptMillis,
  first_token_ms: times.firstTokenMillis,
  first_sentence_ms: times.firstSentenceMillis,
  first_sound_ms: times.firstSoundMillis,
  live: times.isLive
})

const toMessage = (entry: Entry, id: MessageId, setup: KeeperSetup): NewMessage => {
  const { assistant, counter, lease, model, provider } = setup
  const text = entryText(entry)
  const isUser = entry.role === "user"
  const hostedIds = new Set(entry.results.flatMap(({ hosted, toolCallId }) => (hosted ? [toolCallId] : [])))
  const sized = text + entry.calls.map(({ arguments: given, name }) => name + given).join("")
  const output = entry.results.map((result) => result.output).join("")
  return {
    id,
    threadId: lease.threadId,
    runId: null,
    role: entry.role,
    content: text === "" ? null : text,
    status: "COMPLETED",
    fault: null,
    stopReason: isUser ? null : "stop",
    toolCalls: entry.calls.filter((call) => !hostedIds.has(call.id)),
    toolResults: entry.results.filter(({ hosted }) => !hosted),
    steps:
      entry.calls.length === 0
        ? []
        : [
            {
              text,
              toolCalls: entry.calls,
              hostedResults: entry.results.filter(({ hosted }) => hosted),
              providerData: null
            }
          ],
    provider: isUser ? null : provider,
    model: isUser ? null : model,
    assistant: isUser ? null : assistant,
    usage: entry.usage,
    // An unfinished answer is stored as an interrupted one, because it stays so if the process dies.
    metadata: metadataWith({
      ...(isCutShort(entry) || !entry.isDone ? { interrupted: true } : {}),
      ...(entry.times === null ? {} : { voice_times: timesToMetadata(entry.times) })
    }),
    supplements: makeSupplements(Object.entries(entry.kept).map(([part, value]) => [part, { value }] as const)),
    tokens: counter.count(sized + output),
    createdAt: new Date(entry.at)
  }
}
