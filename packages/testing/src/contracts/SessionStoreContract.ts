/** The contract of `SessionStore`, also together with `RunStore`: a thread has one writer. */
import { MessageId, Principal, RunId, ThreadId } from "@colloquy/core"
import {
  AssistantStore,
  firstPage,
  FollowUpStore,
  type NewFollowUp,
  newId,
  type NewMessage,
  noUsage,
  RunStore,
  ThreadStore,
  UsageLedger
} from "@colloquy/core/adapters"
import { type SessionCharge, type SessionLease, SessionStore } from "@colloquy/core/wings"
import { assert } from "@effect/vitest"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import { sampleFollowUp } from "./FollowUpStoreContract.ts"
import type { ContractTest, Stores } from "./ContractTest.ts"
import { asNewOwner, awkwardJson, moment, sampleBegin, sampleCall, sampleResult, sampleUsage } from "./Samples.ts"
import {
  anHour,
  expectTag,
  noTime,
  openThread,
  refusedWhileErasing,
  queueTurn,
  settleTurn,
  startTurn,
  storedMessages,
  storedRun,
  tally,
  tenTimes,
  waitingTurn
} from "./Scenes.ts"

const openSession = Effect.fnUntraced(function* (
  threadId: ThreadId,
  { lease = anHour, messages = 10 }: { readonly lease?: Duration.Duration; readonly messages?: number } = {}
) {
  const sessionId = yield* newId(RunId)
  return yield* (yield* SessionStore).open(threadId, sessionId, { lease, messages, at: moment(3) })
})

const heldSession = Effect.fnUntraced(function* (threadId: ThreadId, lease = anHour) {
  return expectTag(yield* openSession(threadId, { lease }), "Opened").lease
})

const spoken = (threadId: ThreadId, fields: Partial<NewMessage> = {}): Effect.Effect<NewMessage> =>
  Effect.map(newId(MessageId), (id) => ({
    id,
    threadId,
    runId: null,
    role: "assistant",
    content: "Gesagt: 你好 🎙️",
    status: "COMPLETED",
    fault: null,
    stopReason: "stop",
    toolCalls: [],
    toolResults: [],
    steps: [],
    provider: "voice",
    model: "voice-model",
    assistant: null,
    usage: null,
    metadata: null,
    supplements: null,
    tokens: 7,
    createdAt: moment(4),
    ...fields
  }))

const charge = (lease: SessionLease, number: number): SessionCharge => ({
  ...lease,
  number,
  provider: "voice",
  model: "voice-model",
  purpose: "realtime",
  usage: sampleUsage(100 * number, 10 * number, 0.5)
})

const write = Effect.fnUntraced(function* (
  lease: SessionLease,
  messages: ReadonlyArray<NewMessage>,
  charges: ReadonlyArray<SessionCharge> = [],
  followUps: ReadonlyArray<NewFollowUp> = []
) {
  return yield* (yield* SessionStore).write(lease, { messages, charges, followUps }, moment(5))
})

export const sessionStoreContract = (test: ContractTest<SessionStore | Stores>): void => {
  test("MUST open no more than `sessionsAtOnce` sessions of the principal, of ten at the same time, and count open ones only", function* () {
    const store = yield* SessionStore
    // A limit need not be a whole number.
    const options = { lease: anHour, messages: 1, at: moment(3), sessionsAtOnce: 2.5 }
    yield* asNewOwner(Effect.flatMap(openThread, ({ id }) => heldSession(id)))
    const threads = yield* Effect.all(Array.from({ length: 10 }, () => openThread))
    const outcomes = yield* Effect.forEach(
      threads,
      ({ id }) => Effect.flatMap(newId(RunId), (sessionId) => store.open(id, sessionId, options)),
      { concurrency: "unbounded" }
    )
    assert.deepStrictEqual(tally(outcomes), { Opened: 3, OverLimit: 7 })
    const open = outcomes.flatMap((each) => (each._tag === "Opened" ? [each.lease] : []))
    const last = threads.find(({ id }) => !open.some(({ threadId }) => threadId === id)) ?? assert.fail()
    const refused = expectTag(yield* store.open(last.id, yield* newId(RunId), options), "OverLimit")
    assert.deepStrictEqual([refused.refusal.limit, refused.refusal.left], ["sessionsAtOnce", 0])
    yield* store.close(open[0] ?? assert.fail())
    expectTag(yield* store.open(last.id, yield* newId(RunId), options), "Opened")
    const another = (yield* openThread).id
    const whole = { ...options, sessionsAtOnce: 3 }
    expectTag(yield* store.open(another, yield* newId(RunId), whole), "OverLimit")
  })

  test("MUST give the newest messages, oldest first, and say how many the thread has", function* () {
    const { id } = yield* openThread
    yield* settleTurn(yield* startTurn(id))
    yield* settleTurn(yield* startTurn(id))
    const opened = expectTag(yield* openSession(id, { messages: 3 }), "Opened")
    assert.strictEqual(opened.total, 4)
    assert.deepStrictEqual(opened.messages, (yield* storedMessages(id)).slice(1))
    yield* (yield* SessionStore).close(opened.lease)
    const { messages, total } = expectTag(yield* openSession(id, { messages: 0 }), "Opened")
    assert.deepStrictEqual([messages, total], [[], 4])
  })

  test("MUST return the messages and changes of the session to a run that begins after it", function* () {
    const { id } = yield* openThread
    yield* settleTurn(yield* startTurn(id))
    const lease = yield* heldSession(id)
    const message = yield* spoken(id)
    yield* write(lease, [message])
    yield* (yield* SessionStore).close(lease)
    yield* settleTurn(yield* startTurn(id))
    const next = yield* heldSession(id)
    yield* write(next, [{ ...message, content: "Said otherwise" }])
    yield* (yield* SessionStore).close(next)
    const { history } = yield* startTurn(id)
    assert.deepStrictEqual(history.messages, (yield* storedMessages(id)).slice(0, 6))
  })

  test("MUST let one of ten sessions have a thread, and answer Conflict to the others", function* () {
    const { id } = yield* openThread
    assert.deepStrictEqual(tally(yield* tenTimes(openSession(id))), { Opened: 1, Conflict: 9 })
  })

  test("MUST give a session that opens its thread again the same lease, and count no charge again", function* () {
    const { id } = yield* openThread
    const lease = yield* heldSession(id)
    yield* write(lease, [], [charge(lease, 1)])
    const options = { lease: anHour, messages: 1, at: moment(3), sessionsAtOnce: 1 }
    const again = expectTag(yield* (yield* SessionStore).open(id, lease.sessionId, options), "Opened")
    assert.deepStrictEqual(again.lease, lease)
    yield* write(lease, [], [charge(lease, 1)])
    const { days } = yield* (yield* UsageLedger).recent(firstPage)
    assert.deepStrictEqual(
      days.map(({ usage }) => usage.inputTokens),
      [100]
    )
  })

  test("MUST NOT open a session on a thread with a run in progress or queued", function* () {
    const { id } = yield* openThread
    const turn = yield* startTurn(id)
    assert.deepStrictEqual(yield* openSession(id), { _tag: "Conflict", by: "run" })
    yield* queueTurn(id)
    yield* settleTurn(turn)
    assert.deepStrictEqual(yield* openSession(id), { _tag: "Conflict", by: "run" })
  })

  test("MUST supersede a run that waits for its client", function* () {
    const { id } = yield* openThread
    const turn = yield* waitingTurn(id)
    expectTag(yield* openSession(id), "Opened")
    const { endedAt, status } = yield* storedRun(turn.runId)
    assert.deepStrictEqual([status, endedAt], ["CANCELLED", moment(3)])
    assert.strictEqual((yield* storedMessages(id)).at(-1)?.status, "CANCELLED")
  })

  test("MUST let RunStore.begin answer InSession while it is open, in every mode", function* () {
    const { id } = yield* openThread
    const lease = yield* heldSession(id)
    const runs = yield* RunStore
    for (const fields of [{ mode: "enqueue" }, { mode: "reject" }, { saves: true }] as const) {
      const outcome = yield* runs.begin(yield* sampleBegin(id, fields))
      assert.deepStrictEqual(outcome, { _tag: "InSession" })
    }
    assert.deepStrictEqual(yield* storedMessages(id), [])
    yield* (yield* SessionStore).close(lease)
    expectTag(yield* runs.begin(yield* sampleBegin(id)), "Started")
  })

  test("MUST let a run begin, and another session open, when the lease has run out", function* () {
    const { id } = yield* openThread
    yield* heldSession(id, noTime)
    expectTag(yield* openSession(id, { lease: noTime }), "Opened")
    yield* startTurn(id)
  })

  test("MUST NOT leave a session and a run with one thread: whoever takes it from an expired session has it alone", function* () {
    const { id } = yield* openThread
    const store = yield* SessionStore
    const lease = yield* heldSession(id, noTime)
    const turn = yield* startTurn(id)
    assert.deepStrictEqual(yield* store.renew([lease], anHour), [lease.sessionId])
    assert.isFalse(yield* write(lease, [yield* spoken(id)]))
    yield* settleTurn(turn)
    expectTag(yield* openSession(id), "Opened")
    expectTag(yield* (yield* RunStore).begin(yield* sampleBegin(id)), "InSession")
  })

  test("MUST NOT open a session while everything of the principal is being erased", function* () {
    const { id } = yield* openThread
    yield* refusedWhileErasing(openSession(id))
  })

  test("MUST NOT open a thread of another owner, or one that does not exist", function* () {
    const { id } = yield* asNewOwner(openThread)
    expectTag(yield* openSession(id), "ThreadMissing")
    expectTag(yield* openSession(yield* newId(ThreadId)), "ThreadMissing")
    expectTag(yield* openSession(ThreadId.make("no such form of an id")), "ThreadMissing")
  })

  test("MUST store messages behind those that are there, in the given order and equal in every field", function* () {
    const { id } = yield* openThread
    yield* settleTurn(yield* startTurn(id))
    const lease = yield* heldSession(id)
    const said = yield* spoken(id, { role: "user", content: "a \0 b" })
    const answered = yield* spoken(id, {
      toolCalls: [sampleCall],
      toolResults: [sampleResult],
      steps: [{ text: "", toolCalls: [sampleCall], hostedResults: [], providerData: null }],
      usage: sampleUsage(3, 4, 0.25),
      metadata: awkwardJson
    })
    assert.isTrue(yield* write(lease, [said, answered]))
    assert.deepStrictEqual((yield* storedMessages(id)).slice(2), [
      { ...said, sequence: 3 },
      { ...answered, sequence: 4 }
    ])
  })

  test("MUST replace a message whose id is stored already", function* () {
    const { id } = yield* openThread
    const lease = yield* heldSession(id)
    const [first, second] = [yield* spoken(id), yield* spoken(id, { content: "second" })]
    yield* write(lease, [first, second])
    const cut = {
      ...first,
      content: "Gesagt",
      createdAt: moment(6),
      tokens: 2,
      toolResults: [sampleResult],
      metadata: { interrupted: true }
    }
    assert.isTrue(yield* write(lease, [cut]))
    assert.deepStrictEqual(yield* storedMessages(id), [
      { ...cut, sequence: 1 },
      { ...second, sequence: 2 }
    ])
  })

  test("MUST NOT write under the lease of a session that was replaced by another one", function* () {
    const { id } = yield* openThread
    const first = yield* heldSession(id, noTime)
    const second = yield* heldSession(id)
    assert.isFalse(yield* write(first, [yield* spoken(id)], [charge(first, 1)]))
    assert.deepStrictEqual(yield* storedMessages(id), [])
    assert.deepStrictEqual(yield* (yield* SessionStore).renew([first, second], anHour), [first.sessionId])
    yield* (yield* SessionStore).close(first)
    expectTag(yield* openSession(id), "Conflict")
  })

  test("MUST write under an expired lease while no other session has the thread", function* () {
    const { id } = yield* openThread
    const lease = yield* heldSession(id, noTime)
    assert.isTrue(yield* write(lease, [yield* spoken(id)]))
    assert.lengthOf(yield* storedMessages(id), 1)
  })

  test("MUST prevent the removal of a thread only while a session holds it", function* () {
    const { id } = yield* openThread
    const lease = yield* heldSession(id)
    const threads = yield* ThreadStore
    yield* write(lease, [yield* spoken(id)])
    assert.strictEqual((yield* Effect.flip(threads.remove(id)))._tag, "ThreadInSession")
    assert.isFalse(yield* asNewOwner(threads.remove(id)))
    assert.lengthOf(yield* storedMessages(id), 1)
    yield* (yield* SessionStore).close(lease)
    assert.isTrue(yield* threads.remove(id))
    const other = yield* openThread
    yield* heldSession(other.id, noTime)
    assert.isTrue(yield* threads.remove(other.id))
  })

  test("MUST prevent the removal of an assistant only while a session holds one of its threads", function* () {
    const { assistantId, id } = yield* openThread
    const lease = yield* heldSession(id)
    const assistants = yield* AssistantStore
    yield* write(lease, [yield* spoken(id)])
    assert.strictEqual((yield* Effect.flip(assistants.remove(assistantId)))._tag, "AssistantInSession")
    assert.isFalse(yield* asNewOwner(assistants.remove(assistantId)))
    assert.lengthOf(yield* storedMessages(id), 1)
    yield* (yield* SessionStore).close(lease)
    assert.isTrue(yield* assistants.remove(assistantId))
    const other = yield* openThread
    yield* heldSession(other.id, noTime)
    assert.isTrue(yield* assistants.remove(other.assistantId))
  })

  test("MUST answer false for a thread that was deleted, and report it when renewing", function* () {
    const { id } = yield* openThread
    const lease = yield* heldSession(id, noTime)
    yield* (yield* ThreadStore).remove(id)
    assert.isFalse(yield* write(lease, [yield* spoken(id)]))
    assert.deepStrictEqual(yield* (yield* SessionStore).renew([lease], anHour), [lease.sessionId])
  })

  test("MUST name every session that is lost when several are renewed", function* () {
    const leases = []
    for (let n = 0; n < 4; n++) leases.push(yield* heldSession((yield* openThread).id))
    const lost = leases.filter((_, index) => index % 2 === 1)
    for (const lease of lost) yield* (yield* SessionStore).close(lease)
    assert.sameMembers(
      [...(yield* (yield* SessionStore).renew(leases, anHour))],
      lost.map(({ sessionId }) => sessionId)
    )
  })

  test("MUST keep a thread by renewing", function* () {
    const { id } = yield* openThread
    const lease = yield* heldSession(id, noTime)
    assert.deepStrictEqual(yield* (yield* SessionStore).renew([lease], anHour), [])
    expectTag(yield* openSession(id), "Conflict")
  })

  test("MUST store follow-ups in the same step, once, and none of a lost lease", function* () {
    const { id } = yield* openThread
    const lease = yield* heldSession(id, noTime)
    const kind: string = yield* newId(RunId)
    const followUp = yield* sampleFollowUp(kind, { key: "early" })
    const followUps = yield* FollowUpStore
    const found = (key: string) => Effect.map(followUps.find(kind, key), Option.isSome)
    assert.isTrue(yield* write(lease, [yield* spoken(id)], [], [followUp]))
    assert.isTrue(yield* write(lease, [], [], [followUp]))
    assert.isTrue(yield* found(followUp.key))
    const claimed = yield* followUps.claim([kind], 10, anHour)
    assert.lengthOf(claimed, 1)
    yield* heldSession(id)
    const late = yield* sampleFollowUp(kind, { key: "late" })
    assert.isFalse(yield* write(lease, [], [], [late]))
    assert.isFalse(yield* found(late.key))
  })

  test("MUST NOT write for another owner", function* () {
    const { id } = yield* openThread
    const lease = yield* heldSession(id)
    const { ownerId } = yield* Principal
    const message = yield* spoken(id)
    assert.isFalse(yield* asNewOwner(write(lease, [message])))
    yield* asNewOwner(Effect.flatMap(SessionStore, (store) => store.close(lease)))
    assert.strictEqual(lease.ownerId, ownerId)
    expectTag(yield* openSession(id), "Conflict")
  })

  test("MUST count each charge once in the ledger, however often it is written", function* () {
    const { id } = yield* openThread
    const lease = yield* heldSession(id)
    yield* write(lease, [], [charge(lease, 1)])
    yield* write(lease, [], [charge(lease, 1), charge(lease, 2)])
    const { days } = yield* (yield* UsageLedger).recent(firstPage)
    assert.deepStrictEqual(
      days.map(({ date, model, purpose, usage }) => ({ date, model, purpose, usage })),
      [
        {
          date: "2026-01-31",
          model: "voice-model",
          purpose: "realtime",
          usage: { ...noUsage, ...sampleUsage(300, 30, 1) }
        }
      ]
    )
  })

  test("MUST keep charges until they are reported, and find them again when the thread is gone", function* () {
    const { id } = yield* openThread
    const lease = yield* heldSession(id, noTime)
    const store = yield* SessionStore
    yield* write(lease, [], [charge(lease, 1), charge(lease, 2)])
    const mine = (charges: ReadonlyArray<SessionCharge>) => charges.filter((each) => each.sessionId === lease.sessionId)
    assert.deepStrictEqual(mine(yield* store.unreported(moment(5), 1000)), [])
    yield* (yield* ThreadStore).remove(id)
    assert.deepStrictEqual(mine(yield* store.unreported(moment(6), 1000)), [charge(lease, 1), charge(lease, 2)])
    const later = yield* heldSession((yield* openThread).id)
    yield* store.write(later, { messages: [], charges: [charge(later, 1)], followUps: [] }, moment(4))
    assert.deepStrictEqual(
      (yield* store.unreported(moment(6), 1000)).filter(({ ownerId }) => ownerId === lease.ownerId),
      [charge(later, 1), charge(lease, 1), charge(lease, 2)]
    )
    yield* store.reported([charge(lease, 1)])
    assert.deepStrictEqual(mine(yield* store.unreported(moment(6), 1000)), [charge(lease, 2)])
  })
}
