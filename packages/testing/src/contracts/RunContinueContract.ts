/** The contract of `RunStore.answer`, `continue`, `waiting` and `waitingOn`: a run that waits accepts the answer to each call once. */
import { MessageId, Principal, RunId, ThreadId } from "@colloquy/core"
import { newId, RunStore, type ToolResult } from "@colloquy/core/adapters"
import { assert } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Ref from "effect/Ref"
import type { ContractTest } from "./ContractTest.ts"
import {
  asNewOwner,
  awkwardJson,
  longText,
  newOwner,
  sampleAnswers,
  sampleBegin,
  sampleCall,
  sampleContinue,
  sampleEvent,
  sampleResult
} from "./Samples.ts"
import {
  anHour,
  appendTo,
  continueTurn,
  expectTag,
  noTime,
  openThread,
  pauseTurn,
  queueTurn,
  settleTurn,
  startTurn,
  storedMessages,
  storedRun,
  tally,
  tenTimes,
  waitingTurn
} from "./Scenes.ts"

/** A run that waits for two calls. */
const waitingForTwo = Effect.fnUntraced(function* (threadId: ThreadId) {
  const calls = [sampleCall, { ...sampleCall, id: "call_2", approval: { expiresAt: "2030-01-01T00:00:00.000Z" } }]
  return yield* pauseTurn(yield* startTurn(threadId), { answer: { toolCalls: calls } })
})

const askingMessage = Effect.fnUntraced(function* (threadId: ThreadId) {
  return yield* Effect.fromNullishOr((yield* storedMessages(threadId))[1])
})

const approvedCall: ToolResult = {
  ...sampleResult,
  toolCallId: "call_2",
  hosted: true,
  output: "",
  isPending: true,
  decided: { decision: "approve", arguments: '{"q":"\\u0000"}', reason: longText, at: "2029-01-01T00:00:00.000Z" }
}

const answering = (test: ContractTest): void => {
  test("MUST store an answer of a run that waits on, with its key and its plan", function* () {
    const runs = yield* RunStore
    const { id } = yield* openThread
    const waiting = yield* waitingForTwo(id)
    const before = yield* storedRun(waiting.runId)
    const asking = yield* askingMessage(id)
    const idempotency = { key: yield* newId(RunId), fingerprint: "1" }
    const answers = sampleAnswers(waiting, { plan: awkwardJson, idempotency })
    assert.deepStrictEqual(yield* runs.answer(answers), { _tag: "Stored" })
    assert.deepStrictEqual(yield* storedRun(waiting.runId), { ...before, plan: awkwardJson })
    const answered = { ...asking, toolResults: [sampleResult], tokens: asking.tokens + 5 }
    assert.deepStrictEqual((yield* storedMessages(id))[1], answered)
    const repeated = {
      _tag: "Repeated",
      runId: waiting.runId,
      legStart: before.lastSequence + 1,
      fingerprint: "1"
    } as const
    assert.deepStrictEqual(yield* runs.answer(answers), repeated)
    assert.deepStrictEqual(Option.getOrThrow(yield* runs.findRepeated(idempotency.key)), {
      ...repeated,
      threadId: id
    })
    const results = [sampleResult, approvedCall]
    const { history } = expectTag(
      yield* runs.continue(yield* sampleContinue(waiting, { answered: 1, results, tokens: 7 })),
      "Started"
    )
    assert.deepStrictEqual(history.messages[1], {
      ...answered,
      status: "COMPLETED",
      toolResults: results,
      tokens: answered.tokens + 7
    })
  })

  test("MUST let one of ten callers that saw the same answers win, in answer and continue, and answer NotOpen to the others", function* () {
    const runs = yield* RunStore
    const waiting = yield* waitingForTwo((yield* openThread).id)
    const at = (moment: number): ToolResult => ({ ...approvedCall, output: `${moment}` })
    const place = yield* Ref.make(0)
    const some = Effect.flatMap(
      Ref.getAndUpdate(place, (n) => n + 1),
      (n) => runs.answer(sampleAnswers(waiting, { results: [at(n)] }))
    )
    assert.deepStrictEqual(tally(yield* tenTimes(some)), { Stored: 1, NotOpen: 9 })
    const late = yield* sampleContinue(waiting, { results: [sampleResult, approvedCall] })
    assert.deepStrictEqual(yield* runs.continue(late), { _tag: "NotOpen" })
    const last = Effect.flatMap(sampleContinue(waiting, { answered: 1 }), runs.continue)
    assert.deepStrictEqual(tally(yield* tenTimes(last)), { Started: 1, NotOpen: 9 })
    assert.deepStrictEqual(yield* runs.answer(sampleAnswers(waiting, { answered: 1 })), { _tag: "NotOpen" })
  })

  test("MUST answer Stored to an answer that is repeated with equal results, and store nothing again", function* () {
    const runs = yield* RunStore
    const { id } = yield* openThread
    const answers = sampleAnswers(yield* waitingForTwo(id), { results: [approvedCall] })
    yield* runs.answer(answers)
    const before = [yield* storedRun(answers.runId), yield* storedMessages(id)]
    for (const outcome of yield* tenTimes(runs.answer(answers))) assert.deepStrictEqual(outcome, { _tag: "Stored" })
    assert.deepStrictEqual([yield* storedRun(answers.runId), yield* storedMessages(id)], before)
  })

  test("MUST answer NotOpen, and change nothing, to an answer for a run that does not wait, of another owner, or with another message", function* () {
    const runs = yield* RunStore
    const { id } = yield* openThread
    const waiting = yield* waitingForTwo(id)
    const answers = sampleAnswers(waiting)
    assert.deepStrictEqual(yield* asNewOwner(runs.answer(answers)), { _tag: "NotOpen" })
    assert.deepStrictEqual(yield* runs.answer({ ...answers, runId: yield* newId(RunId) }), { _tag: "NotOpen" })
    assert.deepStrictEqual(yield* runs.answer({ ...answers, messageId: yield* newId(MessageId) }), {
      _tag: "NotOpen"
    })
    yield* runs.requestCancel(waiting.runId, new Date(0))
    assert.deepStrictEqual(yield* runs.answer(answers), { _tag: "NotOpen" })
    assert.deepStrictEqual((yield* storedMessages(id))[1]?.toolResults, [])
  })

  test("MUST replace the results of the message before with those of a settlement, in the history of the next turn too", function* () {
    const { id } = yield* openThread
    const waiting = yield* waitingForTwo(id)
    const next = yield* continueTurn(waiting, { results: [sampleResult, approvedCall] })
    const { isPending: _, ...ran } = { ...approvedCall, output: longText }
    const before = yield* askingMessage(id)
    assert.isTrue(yield* settleTurn(next, { approved: { results: [sampleResult, ran], tokens: 100 } }))
    const after = { ...before, toolResults: [sampleResult, ran], tokens: before.tokens + 100 }
    assert.deepStrictEqual((yield* storedMessages(id))[1], after)
    const { history } = yield* startTurn(id)
    assert.deepStrictEqual(history.messages[1], after)
  })

  test("MUST list the runs of the principal that wait, the newest first, page by page, each once", function* () {
    const runs = yield* RunStore
    const owner = { ownerId: yield* newOwner }
    const list = Effect.gen(function* () {
      const waiting: Array<RunId> = []
      for (let made = 0; made < 5; made++) waiting.unshift((yield* waitingTurn((yield* openThread).id)).runId)
      const [answered, ...open] = waiting
      if (answered === undefined) return
      yield* runs.requestCancel(answered, new Date(0))
      yield* startTurn((yield* openThread).id)
      const found: Array<RunId> = []
      for (let after: number | null | undefined; after !== null;) {
        const page = yield* runs.waiting({ limit: 3, ...(after === undefined ? {} : { after }) })
        assert.isAtMost(page.runs.length, 3)
        found.push(...page.runs.map(({ id }) => id))
        after = page.next
      }
      assert.deepStrictEqual(found, open)
      assert.deepStrictEqual((yield* runs.waiting({ limit: 1 })).runs, [yield* storedRun(open[0] ?? answered)])
      assert.isNull((yield* runs.waiting({ limit: open.length })).next)
    })
    yield* Effect.provideService(list, Principal, owner)
    assert.deepStrictEqual(yield* asNewOwner(runs.waiting({ limit: 10 })), { runs: [], next: null })
  })
}

export const runContinueContract = (test: ContractTest): void => {
  answering(test)

  test("MUST store the results, complete the answered message, and start the next leg", function* () {
    const runs = yield* RunStore
    const { id } = yield* openThread
    const waiting = yield* waitingTurn(id)
    const before = yield* storedRun(waiting.runId)
    const results = [
      { ...sampleResult, output: longText },
      { ...sampleResult, toolCallId: "call_2", output: "" }
    ]
    const next = yield* sampleContinue(waiting, {
      results,
      stream: true,
      plan: awkwardJson,
      events: [sampleEvent(10, awkwardJson), sampleEvent(12)]
    })
    const { lease } = expectTag(yield* runs.continue(next), "Started")
    assert.deepStrictEqual(yield* storedRun(waiting.runId), {
      ...before,
      status: "IN_PROGRESS",
      leg: 1,
      legStart: 10,
      lastSequence: 12,
      answerId: next.answerId,
      stream: true,
      plan: awkwardJson
    })
    const answered = (yield* runs.messages(waiting.runId))[1]
    assert.deepInclude(answered, { status: "COMPLETED", toolResults: results, tokens: 15 })
    assert.deepStrictEqual(yield* runs.read(waiting.runId, 9), next.events)
    assert.deepStrictEqual(yield* runs.read(waiting.runId, 2 ** 31), [])
    assert.isTrue(yield* appendTo(lease, [sampleEvent(13)]))
  })

  test("MUST let one of ten concurrent callers win, and answer NotOpen to the others", function* () {
    const runs = yield* RunStore
    const waiting = yield* waitingTurn((yield* openThread).id)
    const outcomes = yield* tenTimes(Effect.flatMap(sampleContinue(waiting), runs.continue))
    assert.deepStrictEqual(tally(outcomes), { Started: 1, NotOpen: 9 })
    assert.deepInclude(yield* storedRun(waiting.runId), { leg: 1, lastSequence: 11 })
  })

  test("MUST answer Repeated to concurrent callers of one idempotency key, with the leg that it started", function* () {
    const runs = yield* RunStore
    const { id } = yield* openThread
    const waiting = yield* pauseTurn(yield* startTurn(id, { idempotency: { key: "leg 0", fingerprint: "0" } }))
    const idempotency = { key: "leg 1", fingerprint: "1" }
    const outcomes = yield* tenTimes(Effect.flatMap(sampleContinue(waiting, { idempotency }), runs.continue))
    assert.deepStrictEqual(tally(outcomes), { Started: 1, Repeated: 9 })
    const { runId } = waiting
    const repeated = { _tag: "Repeated", runId, legStart: 11, fingerprint: "1" } as const
    for (const each of outcomes) if (each._tag === "Repeated") assert.deepStrictEqual(each, repeated)
    assert.deepStrictEqual(Option.getOrThrow(yield* runs.findRepeated("leg 1")), { ...repeated, threadId: id })
    assert.strictEqual(Option.getOrThrow(yield* runs.findRepeated("leg 0")).legStart, 1)
  })

  test("MUST answer outputs that are repeated with the same answer id like the first time, and store nothing again", function* () {
    const runs = yield* RunStore
    const { id } = yield* openThread
    const idempotency = { key: yield* newId(RunId), fingerprint: "1" }
    const next = yield* sampleContinue(yield* waitingTurn(id), { idempotency, lease: noTime })
    const started = expectTag(yield* runs.continue(next), "Started")
    const before = [yield* storedRun(next.runId), yield* storedMessages(id)]
    const outcomes = yield* tenTimes(runs.continue({ ...next, lease: anHour }))
    for (const outcome of outcomes) assert.deepStrictEqual(outcome, started)
    assert.deepStrictEqual([yield* storedRun(next.runId), yield* storedMessages(id)], before)
    assert.deepStrictEqual(yield* runs.read(next.runId, 10), next.events)
    assert.isTrue(Option.isNone(yield* runs.takeOver(next.runId, anHour, { onlyExpired: true })))
    assert.isTrue(yield* appendTo(started.lease, [sampleEvent(12)]))
  })

  test("MUST answer Repeated, with this leg, to repeated outputs whose leg was taken over or has ended", function* () {
    const runs = yield* RunStore
    const { id } = yield* openThread
    const waiting = yield* waitingTurn(id)
    const next = yield* sampleContinue(waiting)
    const { lease } = expectTag(yield* runs.continue(next), "Started")
    const repeated = { _tag: "Repeated", runId: next.runId, legStart: 11, fingerprint: "" } as const
    const taken = Option.getOrThrow(yield* runs.takeOver(next.runId, anHour, { onlyExpired: false }))
    assert.deepStrictEqual(yield* runs.continue(next), repeated)
    assert.isFalse(yield* appendTo(lease, [sampleEvent(12)]))
    yield* settleTurn({ ...waiting, lease: taken.lease, leg: 1, answerId: next.answerId }, { status: "FAILED" })
    assert.deepStrictEqual(yield* runs.continue(next), repeated)

    const other = yield* waitingTurn(id)
    const last = yield* sampleContinue(other)
    const held = expectTag(yield* runs.continue(last), "Started").lease
    yield* settleTurn({ ...other, lease: held, leg: 1, answerId: last.answerId })
    assert.deepStrictEqual(yield* runs.continue(last), { ...repeated, runId: other.runId })
  })

  test("MUST go on for many rounds", function* () {
    const { id } = yield* openThread
    let turn = yield* waitingTurn(id)
    for (let round = 1; round <= 12; round++) turn = yield* pauseTurn(yield* continueTurn(turn))
    assert.isTrue(yield* settleTurn(yield* continueTurn(turn)))
    assert.deepInclude(yield* storedRun(turn.runId), {
      leg: 13,
      legStart: 131,
      lastSequence: 139,
      status: "COMPLETED"
    })
    const messages = yield* storedMessages(id)
    assert.deepStrictEqual(
      messages.map(({ sequence }) => sequence),
      messages.map((_, index) => index + 1)
    )
    assert.strictEqual(messages.length, 15)
  })

  test("MUST answer lost to the writes of an earlier leg", function* () {
    const runs = yield* RunStore
    const waiting = yield* waitingTurn((yield* openThread).id)
    yield* continueTurn(waiting)
    assert.isFalse(yield* appendTo(waiting.lease, [sampleEvent(12)]))
    assert.isFalse(yield* settleTurn(waiting, { status: "CANCELLED" }))
    assert.deepStrictEqual((yield* runs.renew([waiting.lease], anHour)).lost, [waiting.runId])
    assert.strictEqual((yield* storedRun(waiting.runId)).status, "IN_PROGRESS")
  })

  test("MUST answer NotOpen, and change nothing, to a run that does not wait for outputs", function* () {
    const runs = yield* RunStore
    const { id } = yield* openThread
    const turn = yield* startTurn(id)
    const queued = yield* queueTurn(id)
    const refuse = Effect.fnUntraced(function* (leg: typeof queued) {
      const idempotency = { key: "k", fingerprint: "1" }
      const before = yield* storedRun(leg.runId)
      const messages = yield* storedMessages(id)
      assert.deepStrictEqual(yield* runs.continue(yield* sampleContinue(leg, { idempotency })), { _tag: "NotOpen" })
      assert.deepStrictEqual(yield* storedRun(leg.runId), before)
      assert.deepStrictEqual(yield* storedMessages(id), messages)
      assert.isTrue(Option.isNone(yield* runs.findRepeated("k")))
    })
    yield* refuse(turn)
    yield* refuse(queued)
    yield* settleTurn(turn)
    yield* refuse(turn)
    yield* settleTurn(queued, { status: "CANCELLED" })
    yield* refuse(queued)
  })

  test("MUST answer NotOpen to outputs for a message whose calls are not open", function* () {
    const runs = yield* RunStore
    const first = yield* waitingTurn((yield* openThread).id)
    const second = yield* pauseTurn(yield* continueTurn(first))
    const late = yield* sampleContinue(first, { events: [sampleEvent(21)] })
    const unknown = yield* sampleContinue(second, { messageId: yield* newId(MessageId) })
    assert.deepStrictEqual(yield* runs.continue(late), { _tag: "NotOpen" })
    assert.deepStrictEqual(yield* runs.continue(unknown), { _tag: "NotOpen" })
    yield* continueTurn(second)
  })

  test("MUST answer NotOpen both for an unknown run and for another owner's run", function* () {
    const runs = yield* RunStore
    const waiting = yield* waitingTurn((yield* openThread).id)
    const unknown = yield* sampleContinue({ ...waiting, runId: yield* newId(RunId) })
    assert.deepStrictEqual(yield* runs.continue(unknown), { _tag: "NotOpen" })
    const theirs = yield* asNewOwner(Effect.flatMap(sampleContinue(waiting), runs.continue))
    assert.deepStrictEqual(theirs, { _tag: "NotOpen" })
    assert.strictEqual((yield* storedRun(waiting.runId)).status, "REQUIRES_ACTION")
  })

  test("MUST let either the outputs or a new message go on, when both come at once", function* () {
    const runs = yield* RunStore
    const { id } = yield* openThread
    const waiting = yield* waitingTurn(id)
    const [continued, begun] = yield* Effect.all(
      [
        Effect.flatMap(sampleContinue(waiting), runs.continue),
        Effect.flatMap(sampleBegin(id, { mode: "reject" }), runs.begin)
      ],
      { concurrency: "unbounded" }
    )
    const outputsWon = continued._tag === "Started"
    assert.deepStrictEqual([continued._tag, begun._tag], outputsWon ? ["Started", "Busy"] : ["NotOpen", "Started"])
    assert.strictEqual((yield* storedRun(waiting.runId)).status, outputsWon ? "IN_PROGRESS" : "CANCELLED")
  })

  test("MUST accept outputs before runs that wait in the queue", function* () {
    const runs = yield* RunStore
    const { id } = yield* openThread
    const first = yield* startTurn(id)
    const queued = yield* queueTurn(id)
    const next = yield* continueTurn(yield* pauseTurn(first))
    assert.strictEqual(expectTag(yield* runs.activate(queued.lease, anHour, 0), "Waiting").runId, first.runId)
    yield* settleTurn(next)
    expectTag(yield* runs.activate(queued.lease, anHour, 0), "Started")
  })

  test("MUST find the thread's run that requires action, while it does", function* () {
    const runs = yield* RunStore
    const { id } = yield* openThread
    const waiting = yield* waitingTurn(id)
    yield* waitingTurn((yield* openThread).id)
    assert.deepStrictEqual(Option.getOrThrow(yield* runs.waitingOn(id)), yield* storedRun(waiting.runId))
    yield* continueTurn(waiting)
    assert.isTrue(Option.isNone(yield* runs.waitingOn(id)))
  })

  test("MUST NOT find a waiting run of an unknown thread or of another owner's thread", function* () {
    const runs = yield* RunStore
    const { id } = yield* openThread
    yield* waitingTurn(id)
    assert.isTrue(Option.isNone(yield* asNewOwner(runs.waitingOn(id))))
    assert.isTrue(Option.isNone(yield* runs.waitingOn(yield* newId(ThreadId))))
  })
}
