/** Every statement of every port, asked on a filled database. Those that write do it on records of their own, or on the long thread. */
import { KeyId, OwnerId, Principal } from "@colloquy/core"
import {
  AssistantStore,
  AuditEntryId,
  AuditStore,
  FollowUpId,
  FollowUpStore,
  KeyStore,
  newId,
  RunStore,
  ThreadStore,
  UsageLedger
} from "@colloquy/core/adapters"
import {
  anHour,
  appendTo,
  changeAssistant,
  expectTag,
  moment,
  sampleAssistant,
  sampleBegin,
  sampleCall,
  sampleContinue,
  sampleEvent,
  sampleKey,
  sampleSettlement,
  sampleThread,
  sampleUsage
} from "@colloquy/testing/contracts"
import * as Effect from "effect/Effect"
import type { Filled } from "./FilledDatabase.ts"

type Stores = AssistantStore | FollowUpStore | KeyStore | RunStore | ThreadStore | UsageLedger
type Questions = { readonly [name: string]: Effect.Effect<unknown, unknown, Stores> }

const page = { skip: 0, limit: 100 }

export const everyQuestion = (filled: Filled): Questions => {
  const ownerId = OwnerId.make(filled.owner)
  const questions: Record<string, Effect.Effect<unknown, unknown, Stores | Principal>> = {
    ...ofRecords(filled),
    ...ofRuns(filled),
    ...ofFollowUps
  }
  return Object.fromEntries(
    Object.entries(questions).map(([name, question]) => [name, Effect.provideService(question, Principal, { ownerId })])
  )
}

const ofRecords = ({ assistantId, longThread, owner, runId, threads: ids }: Filled) => {
  const assistants = AssistantStore.use.bind(AssistantStore)
  const threads = ThreadStore.use.bind(ThreadStore)
  const keys = KeyStore.use.bind(KeyStore)
  return {
    "AssistantStore.get": assistants((store) => store.get(assistantId)),
    "AssistantStore.ofThread": assistants((store) => Effect.forEach(ids, (id) => store.ofThread(id))),
    "AssistantStore.list": assistants((store) => store.list(page)),
    "AssistantStore.list by name": assistants((store) => store.list(page, "assistant 3")),
    "AssistantStore.update": changeAssistant(assistantId, { name: "assistant 3" }),
    "AssistantStore.versions": assistants((store) => store.versions(assistantId, { limit: 10 })),
    "AssistantStore.version": assistants((store) => store.version(assistantId, 1)),
    "AssistantStore.insert, remove, with a thread": Effect.gen(function* () {
      const assistant = yield* sampleAssistant()
      yield* assistants((store) => store.insert(assistant))
      const thread = yield* sampleThread(assistant.id)
      yield* threads((store) => store.insert(thread))
      yield* RunStore.use((store) => Effect.flatMap(sampleBegin(thread.id, { saves: true }), store.begin))
      yield* assistants((store) => store.remove(assistant.id))
    }),
    "ThreadStore.get": threads((store) => store.get(longThread)),
    "ThreadStore.list": threads((store) => store.list(page)),
    "ThreadStore.list of an assistant": threads((store) => store.list(page, assistantId)),
    "ThreadStore.messages": threads((store) => store.messages(ids.slice(1))),
    "ThreadStore.messages of a long thread": threads((store) => store.messages(ids)),
    "ThreadStore.messagesBefore": threads((store) => store.messagesBefore(longThread, 900, 6)),
    "ThreadStore.insert, remove": Effect.gen(function* () {
      const thread = yield* sampleThread(assistantId)
      yield* threads((store) => store.insert(thread))
      yield* threads((store) => store.remove(thread.id))
    }),
    "KeyStore.insert, find, revoke": Effect.gen(function* () {
      const key = yield* sampleKey(OwnerId.make(owner))
      yield* keys((store) => store.insert(key))
      yield* keys((store) => store.findByHashPrefix(key.hash.slice(0, 32)))
      yield* keys((store) => store.revoke(key.id, moment(1)))
    }),
    "AuditStore.append, list": Effect.gen(function* () {
      const { append, list } = yield* AuditStore
      const entry = { id: yield* newId(AuditEntryId), ownerId: OwnerId.make(owner), at: moment(0), subject: "key" }
      yield* append({ ...entry, action: "key_made", fields: [], keyId: null })
      yield* list({ limit: 100 })
      yield* list({ limit: 100, before: entry.id })
    }),
    "KeyStore.list": keys((store) => store.list),
    "KeyStore.revoke, unknown": Effect.flatMap(newId(KeyId), (id) => keys((store) => store.revoke(id, moment(1)))),
    "UsageLedger.recent": UsageLedger.use((ledger) => ledger.recent(page)),
    "RunStore.get": RunStore.use((store) => store.get(runId)),
    "RunStore.list": RunStore.use((store) => store.list(longThread, { limit: 20 })),
    "RunStore.messages": RunStore.use((store) => store.messages(runId)),
    "RunStore.read": RunStore.use((store) => store.read(runId, 0)),
    "RunStore.findRepeated": RunStore.use((store) => store.findRepeated(`key ${runId}`)),
    "RunStore.expired": RunStore.use((store) => store.expired(100))
  }
}

const ofFollowUps = {
  "FollowUpStore, one piece of work": Effect.gen(function* () {
    const store = yield* FollowUpStore
    const id = yield* newId(FollowUpId)
    const work = { id, kind: "kind 1", key: id, payload: {}, sequence: id, delayMillis: 0, createdAt: moment(0) }
    yield* store.add([work])
    const claims = yield* store.claim(["kind 1"], 10, anHour)
    yield* store.renew(claims, anHour)
    for (const claim of claims) yield* store.fail(claim, { error: "no", pause: null, isCounted: true })
    yield* store.find("kind 1", id)
    yield* store.revive(id)
    for (const claim of yield* store.claim(["kind 1"], 10, anHour)) yield* store.complete(claim)
  }),
  "FollowUpStore.prune": FollowUpStore.use((store) => store.prune(new Date(0), 100))
}

const ofRuns = ({ longThread }: Filled) => {
  const beginRun = Effect.gen(function* () {
    const runs = yield* RunStore
    const begin = yield* sampleBegin(longThread, {
      historyTokens: 200,
      idempotency: { key: yield* newId(OwnerId), fingerprint: "" }
    })
    const begun = yield* runs.begin(begin)
    const leg = { runId: begin.run.id, threadId: longThread, answerId: begin.run.answerId, leg: 0 }
    return { begun, leg }
  })
  const settleRun = (begun: Effect.Success<typeof beginRun>) =>
    Effect.gen(function* () {
      const runs = yield* RunStore
      const { lease } = expectTag(begun.begun, "Started")
      yield* runs.settle(lease, yield* sampleSettlement(begun.leg, { usage: sampleUsage(1, 1) }))
    })
  return {
    "a turn with tools": Effect.gen(function* () {
      const runs = yield* RunStore
      const { begun, leg } = yield* beginRun
      const { lease } = expectTag(begun, "Started")
      yield* appendTo(lease, [sampleEvent(2)])
      yield* runs.renew([lease], anHour)
      yield* runs.settle(
        lease,
        yield* sampleSettlement(leg, { status: "REQUIRES_ACTION", answer: { toolCalls: [sampleCall] } })
      )
      yield* runs.waitingOn(longThread)
      const next = yield* sampleContinue(leg, { historyTokens: 200 })
      const second = expectTag(yield* runs.continue(next), "Started")
      yield* runs.requestCancel(leg.runId, moment(2))
      yield* runs.settle(second.lease, yield* sampleSettlement({ ...leg, leg: 1, answerId: next.answerId }))
    }),
    "a turn that replaces one with open calls": Effect.gen(function* () {
      const runs = yield* RunStore
      const { begun, leg } = yield* beginRun
      yield* runs.settle(expectTag(begun, "Started").lease, yield* sampleSettlement(leg, { status: "REQUIRES_ACTION" }))
      yield* settleRun(yield* beginRun)
    }),
    "a queue": Effect.gen(function* () {
      const runs = yield* RunStore
      const first = yield* beginRun
      const second = expectTag((yield* beginRun).begun, "Queued")
      const third = yield* beginRun
      yield* runs.activate(second.lease, anHour, 200)
      yield* runs.withdraw(second.lease)
      yield* settleRun(first)
      const { lease } = expectTag(third.begun, "Queued")
      yield* runs.activate(lease, anHour, 200)
      const fourth = yield* beginRun
      yield* runs.settle(
        expectTag(fourth.begun, "Queued").lease,
        yield* sampleSettlement(fourth.leg, { status: "FAILED" })
      )
      yield* runs.takeOver(lease.runId, anHour, { onlyExpired: true })
      yield* runs.settle(lease, yield* sampleSettlement(third.leg))
    })
  }
}
