/** The contract of the operations of `RunStore` that make threads from messages: import, fork, rewind, and a run that begins with a rewind. */
import { type Message, MessageId, type Thread, ThreadId } from "@colloquy/core"
import {
  AssistantStore,
  type BranchOutcome,
  type Cut,
  FollowUpStore,
  newId,
  type NewMessage,
  RunStore,
  ThreadStore
} from "@colloquy/core/adapters"
import { assert } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import type { ContractTest } from "./ContractTest.ts"
import { sampleFollowUp } from "./FollowUpStoreContract.ts"
import { asNewOwner, awkwardJson, moment, sampleBegin, sampleCall, sampleResult, sampleThread } from "./Samples.ts"
import {
  continueTurn,
  expectTag,
  openThread,
  refusedWhileErasing,
  settleTurn,
  startTurn,
  storedMessages,
  storedRun,
  tally,
  tenTimes,
  waitingTurn
} from "./Scenes.ts"

export const branchContract = (test: ContractTest): void => {
  test("MUST find a message with its question, and nothing of another owner", function* () {
    const runs = yield* RunStore
    const { id } = yield* spokenThread
    const messages = yield* storedMessages(id)
    const [question, , , , , answer] = messages
    if (question === undefined || answer === undefined) throw new Error("The thread is too short.")
    const newest = answer.id
    const found = Option.getOrThrow(yield* runs.locate(id, answer.id))
    assert.deepStrictEqual(found, { message: answer, question: messages[4] ?? null, count: 6, newest })
    assert.deepStrictEqual(Option.getOrThrow(yield* runs.locate(id, null)), found)
    const first = { message: question, question, count: 6, newest }
    assert.deepStrictEqual(Option.getOrThrow(yield* runs.locate(id, question.id)), first)
    assert.isTrue(Option.isNone(yield* runs.locate(id, yield* newId(MessageId))))
    assert.isTrue(Option.isNone(yield* runs.locate((yield* openThread).id, null)))
    assert.isTrue(Option.isNone(yield* asNewOwner(runs.locate(id, answer.id))))
  })

  test("MUST import every message equal, in order, for an assistant of the principal, once for a key", function* () {
    const runs = yield* RunStore
    const { assistantId } = yield* openThread
    const thread = yield* sampleThread(assistantId, { metadata: awkwardJson })
    const messages = yield* importedMessages(thread.id, 1_203)
    const once = { key: "import", fingerprint: "f", answer: { of: "the first" } }
    const outcomes = yield* Effect.all(
      [thread, yield* sampleThread(assistantId)].map((each) =>
        runs.importThread({ thread: each, messages: messages.map((one) => ({ ...one, threadId: each.id })), once })
      ),
      { concurrency: 1 }
    )
    assert.deepStrictEqual(outcomes[0], done)
    assert.deepStrictEqual(outcomes[1], { _tag: "Answered", fingerprint: "f", answer: { of: "the first" } })
    assert.deepStrictEqual(
      yield* storedMessages(thread.id),
      messages.map((message, index) => ({ ...message, sequence: index + 1 }))
    )
    const found = Option.getOrThrow(yield* (yield* ThreadStore).get(thread.id))
    assert.deepStrictEqual(found, { ...thread, updatedAt: moment(2) })
    for (const index of [0, 1, 202, 203, 204, 1_202]) {
      const { count, message } = Option.getOrThrow(yield* runs.locate(thread.id, messages[index]?.id ?? null))
      assert.deepStrictEqual([message, count], [{ ...messages[index], sequence: index + 1 }, 1_203])
    }
    assert.isTrue(Option.isNone(yield* runs.locate(thread.id, yield* newId(MessageId))))
    const answered = Option.getOrThrow(yield* runs.findAnswered("import"))
    assert.deepStrictEqual([answered.fingerprint, answered.answer], ["f", { of: "the first" }])
    assert.isTrue(Option.isNone(yield* asNewOwner(runs.findAnswered("import"))))
    const { history } = yield* startTurn(thread.id, { historyTokens: 100 })
    assert.deepStrictEqual([history.messages.length, history.older.messages], [11, 1_193])
    const foreign = asNewOwner(runs.importThread({ thread, messages: [], once: null }))
    assert.deepStrictEqual(yield* foreign, { _tag: "ThreadMissing" })
  })

  test("MUST fork at every message: equal copies with new ids, and the thread stays as it is", function* () {
    const [runs, threads] = [yield* RunStore, yield* ThreadStore]
    const source = yield* spokenThread
    const before = yield* storedMessages(source.id)
    yield* threads.setSummary(source.id, { text: "Tea.", throughSequence: 2, tokens: 1 })
    for (let keeps = 0; keeps <= before.length; keeps++) {
      const thread = yield* forkRequest(source, before[keeps - 1]?.id ?? null)
      const cut = { ...(yield* readCut(source.id)), keeps }
      assert.deepStrictEqual(yield* runs.forkThread({ from: cut, thread, once: null }), done)
      const copies = yield* storedMessages(thread.id)
      assert.deepStrictEqual(copies.map(withoutIds), before.slice(0, keeps).map(withoutIds))
      assert.strictEqual(new Set([...copies, ...before].map(({ id }) => id)).size, keeps + before.length)
      assert.deepStrictEqual(Option.getOrThrow(yield* threads.get(thread.id)), thread)
      const { summary } = Option.getOrThrow(yield* (yield* AssistantStore).ofThread(thread.id))
      assert.strictEqual(summary?.throughSequence, keeps < 2 ? undefined : 2)
      // A thread without runs of its own that goes takes nothing with it.
      if (keeps % 2 === 0) assert.isTrue(yield* threads.remove(thread.id))
    }
    assert.deepStrictEqual(yield* storedMessages(source.id), before)
    const runId = before[0]?.runId ?? null
    assert.strictEqual(runId === null ? null : (yield* storedRun(runId)).threadId, source.id)
  })

  test("MUST continue a fork as a thread of its own, after the source has gone", function* () {
    const [runs, threads] = [yield* RunStore, yield* ThreadStore]
    const source = yield* spokenThread
    const thread = yield* forkRequest(source, null)
    yield* runs.forkThread({ from: yield* readCut(source.id), thread, once: null })
    yield* threads.remove(source.id)
    const turn = yield* startTurn(thread.id)
    assert.strictEqual(turn.history.messages.length, 7)
    assert.isTrue(yield* settleTurn(turn))
    assert.strictEqual((yield* storedMessages(thread.id)).length, 8)
    assert.strictEqual((yield* runs.list(thread.id, { limit: 10 })).runs.length, 1)
  })

  test("MUST close a waiting call in a copy, and leave the run waiting", function* () {
    const runs = yield* RunStore
    const source = yield* openThread
    const turn = yield* waitingTurn(source.id)
    const thread = yield* forkRequest(source, null)
    yield* runs.forkThread({ from: yield* readCut(source.id), thread, once: null })
    assert.deepStrictEqual(
      (yield* storedMessages(thread.id)).map(({ status }) => status),
      ["COMPLETED", "CANCELLED"]
    )
    assert.isTrue(Option.isNone(yield* runs.waitingOn(thread.id)))
    yield* continueTurn(turn)
  })

  test("MUST rewind to every message and keep the conversation as it was: its ids, runs and logs behind the cut", function* () {
    const [runs, threads] = [yield* RunStore, yield* ThreadStore]
    for (let keeps = 0; keeps < 6; keeps++) {
      const thread = yield* spokenThread
      const before = yield* storedMessages(thread.id)
      yield* threads.setSummary(thread.id, { text: "Tea.", throughSequence: 3, tokens: 1 })
      const keptAs = yield* newId(ThreadId)
      const order = { ...(yield* readCut(thread.id)), keeps, keptAs, at: moment(9), followUps: [], once: null }
      const listed = yield* runs.list(thread.id, { limit: 10 })
      assert.deepStrictEqual(yield* runs.rewindThread(order), done)
      assert.deepStrictEqual(yield* storedMessages(thread.id), before.slice(0, keeps))
      const kept = yield* storedMessages(keptAs)
      assert.deepStrictEqual(kept.map(withoutIds), before.map(withoutIds))
      assert.deepStrictEqual(
        kept.slice(keeps).map(({ id }) => id),
        before.slice(keeps).map(({ id }) => id)
      )
      assert.isTrue(kept.slice(0, keeps).every(({ id }) => !before.some((each) => each.id === id)))
      assert.deepStrictEqual(Option.getOrThrow(yield* threads.get(keptAs)), { ...thread, id: keptAs })
      const context = yield* AssistantStore
      const summaries = [thread.id, keptAs].map((id) => Effect.map(context.ofThread(id), Option.getOrThrow))
      const [left, all] = yield* Effect.all(summaries)
      assert.deepStrictEqual([left?.summary === null, all?.summary?.text], [keeps < 3, "Tea."])
      const moved = yield* runs.list(keptAs, { limit: 10 })
      const stayed = yield* runs.list(thread.id, { limit: 10 })
      assert.strictEqual(moved.runs.length + stayed.runs.length, listed.runs.length)
      for (const run of moved.runs) {
        assert.strictEqual(run.threadId, keptAs)
        assert.isAbove((yield* runs.read(run.id, 0)).length, 0)
        const ofRun = yield* runs.messages(run.id)
        assert.strictEqual(ofRun[0]?.id, run.userMessageId)
        assert.isTrue(ofRun.every(({ threadId }) => threadId === keptAs))
      }
      // Both go on, each for itself.
      for (const [id, length] of [
        [thread.id, keeps],
        [keptAs, 6]
      ] as const) {
        const turn = yield* startTurn(id)
        assert.strictEqual(turn.history.messages.length, length + 1)
        assert.strictEqual(turn.history.messages.at(-1)?.sequence, length + 1)
        assert.isTrue(yield* settleTurn(turn))
      }
      yield* threads.remove(thread.id)
      assert.strictEqual((yield* storedMessages(keptAs)).length, 8)
      yield* threads.remove(keptAs)
    }
  })

  test("MUST rewind a thread of many messages as one of few, with a run that waits at its end", function* () {
    const [runs, threads] = [yield* RunStore, yield* ThreadStore]
    const { assistantId } = yield* openThread
    for (const keeps of [0, 1, 150, 399, 400]) {
      const thread = yield* sampleThread(assistantId)
      const messages = yield* importedMessages(thread.id, 400)
      assert.deepStrictEqual(yield* runs.importThread({ thread, messages, once: null }), done)
      const { runId } = yield* waitingTurn(thread.id)
      const before = yield* storedMessages(thread.id)
      const keptAs = yield* newId(ThreadId)
      const order = { ...(yield* readCut(thread.id)), keeps, keptAs, at: moment(9), followUps: [], once: null }
      assert.deepStrictEqual(yield* runs.rewindThread(order), done)
      assert.deepStrictEqual(yield* storedMessages(thread.id), before.slice(0, keeps))
      const kept = yield* storedMessages(keptAs)
      const cancelled = before.map((each): Message =>
        each.status === "REQUIRES_ACTION" ? { ...each, status: "CANCELLED" } : each
      )
      assert.deepStrictEqual(kept.map(withoutIds), cancelled.map(withoutIds))
      assert.deepStrictEqual(
        kept.slice(keeps).map(({ id }) => id),
        before.slice(keeps).map(({ id }) => id)
      )
      assert.strictEqual((yield* storedRun(runId)).threadId, keptAs)
      const turn = yield* startTurn(thread.id)
      assert.strictEqual(turn.history.messages.at(-1)?.sequence, keeps + 1)
      yield* threads.remove(thread.id)
      yield* threads.remove(keptAs)
    }
  })

  test("MUST delete what is taken back with its runs and logs when it is not kept", function* () {
    const runs = yield* RunStore
    const thread = yield* spokenThread
    const before = yield* storedMessages(thread.id)
    const [first, , third] = before.flatMap(({ runId }) => runId ?? [])
    if (first === undefined || third === undefined) throw new Error("The thread has no runs.")
    const work = yield* sampleFollowUp("contract.rewind", { delayMillis: 3_600_000 })
    const order = {
      ...(yield* readCut(thread.id)),
      keeps: 1,
      keptAs: null,
      at: moment(9),
      followUps: [work],
      once: null
    }
    assert.deepStrictEqual(yield* runs.rewindThread(order), done)
    const stored = yield* (yield* FollowUpStore).find(work.kind, work.key)
    assert.strictEqual(Option.getOrThrow(stored).id, work.id)
    assert.deepStrictEqual(yield* storedMessages(thread.id), before.slice(0, 1))
    assert.isTrue(Option.isNone(yield* runs.get(third)))
    assert.deepStrictEqual(yield* runs.messages(first), before.slice(0, 1))
    assert.deepStrictEqual(yield* runs.read(first, 0), [])
  })

  test("MUST NOT list what a rewind of a scratch thread keeps", function* () {
    const [runs, threads] = [yield* RunStore, yield* ThreadStore]
    const { assistantId } = yield* openThread
    const scratch = yield* sampleThread(assistantId, { scratch: true })
    yield* threads.insert(scratch)
    yield* settleTurn(yield* startTurn(scratch.id))
    const keptAs = yield* newId(ThreadId)
    const cut = { ...(yield* readCut(scratch.id)), keeps: 1, keptAs, at: moment(50), followUps: [], once: null }
    assert.deepStrictEqual(yield* runs.rewindThread(cut), done)
    assert.isTrue(Option.getOrThrow(yield* threads.get(keptAs)).scratch)
    const listed = yield* threads.list({ skip: 0, limit: 100 })
    assert.isFalse(listed.some(({ id }) => id === keptAs))
  })

  test("MUST cancel a run that waits behind the cut", function* () {
    const runs = yield* RunStore
    const thread = yield* openThread
    const { runId } = yield* waitingTurn(thread.id)
    const keptAs = yield* newId(ThreadId)
    const order = { ...(yield* readCut(thread.id)), keeps: 1, keptAs, at: moment(9), followUps: [], once: null }
    assert.deepStrictEqual(yield* runs.rewindThread(order), done)
    const run = yield* storedRun(runId)
    assert.deepStrictEqual([run.status, run.threadId, run.endedAt], ["CANCELLED", keptAs, moment(9)])
    assert.strictEqual((yield* storedMessages(keptAs))[1]?.status, "CANCELLED")
    assert.isTrue(Option.isNone(yield* runs.waitingOn(thread.id)))
  })

  test("MUST store nothing when a run is active, the newest message is another one, or the thread is another owner's", function* () {
    const [runs, threads] = [yield* RunStore, yield* ThreadStore]
    const thread = yield* spokenThread
    const cut = yield* readCut(thread.id)
    const copy = yield* forkRequest(thread, null)
    const keptAs = yield* newId(ThreadId)
    const once = { key: "refused", fingerprint: "f", answer: null }
    const work = yield* sampleFollowUp("contract.rewind", { delayMillis: 3_600_000 })
    const rewind = { ...cut, keeps: 2, keptAs, at: moment(9), followUps: [work], once }
    const both = Effect.all([
      runs.forkThread({ from: { ...cut, keeps: 2 }, thread: copy, once }),
      runs.rewindThread(rewind)
    ])
    const changed = yield* Effect.all([
      runs.forkThread({ from: { ...cut, newest: yield* newId(MessageId) }, thread: copy, once }),
      runs.rewindThread({ ...rewind, newest: null })
    ])
    const foreign = yield* asNewOwner(both)
    const turn = yield* startTurn(thread.id)
    const busy = yield* both
    assert.deepStrictEqual(tags(changed), ["Changed", "Changed"])
    assert.deepStrictEqual(tags(foreign), ["ThreadMissing", "ThreadMissing"])
    assert.deepStrictEqual(busy, [
      { _tag: "Busy", runId: turn.runId, expired: false },
      { _tag: "Busy", runId: turn.runId, expired: false }
    ])
    assert.strictEqual((yield* storedMessages(thread.id)).length, 8)
    assert.deepStrictEqual(yield* storedMessages(copy.id), [])
    assert.deepStrictEqual(yield* storedMessages(keptAs), [])
    assert.isTrue(Option.isNone(yield* threads.get(copy.id)))
    assert.isTrue(Option.isNone(yield* runs.findAnswered("refused")))
    assert.isTrue(Option.isNone(yield* (yield* FollowUpStore).find(work.kind, work.key)))
  })

  test("MUST give one answer to concurrent callers with one key", function* () {
    const runs = yield* RunStore
    const thread = yield* spokenThread
    const cut = yield* readCut(thread.id)
    const rewind = Effect.gen(function* () {
      const keptAs = yield* newId(ThreadId)
      const once = { key: "rewind", fingerprint: "f", answer: keptAs }
      const outcome = yield* runs.rewindThread({ ...cut, keeps: 2, keptAs, at: moment(9), followUps: [], once })
      return { outcome, keptAs }
    })
    const all = yield* tenTimes(rewind)
    assert.deepStrictEqual(tally(all.map(({ outcome }) => outcome)), { Done: 1, Answered: 9 })
    const kept = all.find(({ outcome }) => outcome._tag === "Done")?.keptAs
    for (const { outcome } of all) if (outcome._tag === "Answered") assert.strictEqual(outcome.answer, kept)
    const forks = yield* tenTimes(
      Effect.gen(function* () {
        const copy = yield* sampleThread(thread.assistantId)
        const once = { key: "fork", fingerprint: "f", answer: copy.id }
        const from = { ...(yield* readCut(thread.id)), keeps: 1 }
        return { copy, outcome: yield* runs.forkThread({ from, thread: copy, once }) }
      })
    )
    assert.deepStrictEqual(tally(forks.map(({ outcome }) => outcome)), { Done: 1, Answered: 9 })
    const fork = forks.find(({ outcome }) => outcome._tag === "Done")?.copy.id
    for (const { copy, outcome } of forks) {
      if (outcome._tag === "Answered") assert.strictEqual(outcome.answer, fork)
      assert.strictEqual(Option.isSome(yield* (yield* ThreadStore).get(copy.id)), copy.id === fork)
    }
    const begun = yield* sampleBegin(thread.id, { idempotency: { key: "rewind", fingerprint: "another" } })
    assert.strictEqual(expectTag(yield* runs.begin(begun), "Repeated").fingerprint, "f")
  })

  test("MUST begin a run with a rewind in one step, also when the call is repeated, and refuse both together", function* () {
    const runs = yield* RunStore
    const thread = yield* spokenThread
    const before = yield* storedMessages(thread.id)
    const keptAs = yield* newId(ThreadId)
    const takesBack = { ...(yield* readCut(thread.id)), keeps: 4, keptAs }
    const stale = { ...takesBack, newest: yield* newId(MessageId) }
    const refused = yield* sampleBegin(thread.id, { mode: "reject", takesBack: stale })
    assert.deepStrictEqual(yield* runs.begin(refused), { _tag: "Changed" })
    assert.deepStrictEqual(yield* storedMessages(thread.id), before)
    const begin = yield* sampleBegin(thread.id, { mode: "reject", takesBack })
    const started = expectTag(yield* runs.begin(begin), "Started")
    assert.deepStrictEqual(
      started.history.messages.map(({ id }) => id),
      [...before.slice(0, 4).map(({ id }) => id), begin.message.id]
    )
    assert.deepStrictEqual(started.history.older, { messages: 0, tokens: 0 })
    expectTag(yield* runs.begin(begin), "Started")
    assert.deepStrictEqual((yield* storedMessages(keptAs)).map(withoutIds), before.map(withoutIds))
    assert.strictEqual((yield* storedRun(before[5]?.runId ?? begin.run.id)).threadId, keptAs)
  })

  test("MUST give another revision after a rewind, also when a summary covers as many messages again", function* () {
    const [runs, threads, assistants] = [yield* RunStore, yield* ThreadStore, yield* AssistantStore]
    const thread = yield* spokenThread
    const summary = { text: "Tea.", throughSequence: 4, tokens: 1 }
    const [, , , before4] = yield* storedMessages(thread.id)
    if (before4 === undefined) throw new Error("The thread is too short.")
    yield* threads.setSummary(thread.id, summary)
    const before = Option.getOrThrow(yield* assistants.ofThread(thread.id)).revision
    const keptAs = yield* newId(ThreadId)
    const cut = yield* readCut(thread.id)
    yield* runs.rewindThread({ ...cut, keeps: 2, keptAs, at: moment(9), followUps: [], once: null })
    yield* settleTurn(yield* startTurn(thread.id))
    assert.isFalse(yield* threads.setSummary(thread.id, { ...summary, text: "Late.", throughId: before4.id }))
    const [, , , now4] = yield* storedMessages(thread.id)
    assert.isTrue(
      yield* threads.setSummary(thread.id, { ...summary, text: "Coffee.", throughId: now4?.id ?? before4.id })
    )
    assert.notStrictEqual(Option.getOrThrow(yield* assistants.ofThread(thread.id)).revision, before)
  })

  test("MUST store nothing while everything of the owner is erased", function* () {
    const runs = yield* RunStore
    const thread = yield* spokenThread
    const from = yield* readCut(thread.id)
    const fork = Effect.flatMap(forkRequest(thread, null), (copy) =>
      runs.forkThread({ from, thread: copy, once: null })
    )
    const bring = Effect.flatMap(sampleThread(thread.assistantId), (made) =>
      runs.importThread({ thread: made, messages: [], once: null })
    )
    yield* refusedWhileErasing(fork, bring)
  })
}

const done: BranchOutcome = { _tag: "Done" }

const tags = (outcomes: ReadonlyArray<BranchOutcome>) => outcomes.map(({ _tag }) => _tag)

/** Three turns: six messages. The first has metadata and a supplement. */
const spokenThread = Effect.gen(function* () {
  const thread = yield* openThread
  yield* settleTurn(yield* startTurn(thread.id, { message: { metadata: awkwardJson, supplements: { part: {} } } }))
  yield* settleTurn(yield* startTurn(thread.id))
  yield* settleTurn(yield* startTurn(thread.id))
  return Option.getOrThrow(yield* (yield* ThreadStore).get(thread.id))
})

const readCut = Effect.fnUntraced(function* (threadId: ThreadId): Effect.fn.Return<Cut, unknown, RunStoreNeeded> {
  const { count, newest } = Option.getOrThrow(yield* (yield* RunStore).locate(threadId, null))
  return { threadId, keeps: count, newest }
})
type RunStoreNeeded = Effect.Services<typeof openThread> | RunStore

const forkRequest = (source: Thread, messageId: MessageId | null) =>
  Effect.map(
    sampleThread(source.assistantId, { metadata: awkwardJson, createdAt: moment(40), updatedAt: moment(40) }),
    (thread) => ({
      ...thread,
      ...(messageId === null ? {} : { forkedFrom: { threadId: source.id, messageId } })
    })
  )

/** What a copy has in common with its original. */
const withoutIds = ({ id: _id, threadId: _thread, ...message }: Message) => message

const importedMessages = (threadId: ThreadId, count: number): Effect.Effect<ReadonlyArray<NewMessage>> =>
  Effect.forEach(Array.from({ length: count }), (_, index) =>
    Effect.map(newId(MessageId), (id): NewMessage => {
      const isCall = index % 10 === 1
      return {
        id,
        threadId,
        runId: null,
        role: index % 2 === 0 ? "user" : "assistant",
        content: `Said \0\ud800 "${index}"`,
        status: "COMPLETED",
        fault: null,
        stopReason: index % 2 === 0 ? null : isCall ? "tools" : "stop",
        toolCalls: isCall ? [sampleCall] : [],
        toolResults: isCall ? [sampleResult] : [],
        steps: isCall ? [{ text: "", toolCalls: [sampleCall], hostedResults: [], providerData: null }] : [],
        provider: null,
        model: null,
        assistant: null,
        usage: null,
        metadata: index === 0 ? awkwardJson : null,
        supplements: null,
        imported: true,
        tokens: 10,
        createdAt: moment(index % 60)
      }
    })
  )
