/** What a process knows of histories against all that is stored, for threads and budgets of any size. */
import { type Message, OwnerId, RunId, ThreadId } from "@colloquy/core"
import type { History, NewMessage } from "@colloquy/core/adapters"
import { sampleBegin, sampleSettlement } from "@colloquy/testing/contracts"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { KnownHistories } from "../../src/postgres/KnownHistories.ts"

const owner = OwnerId.make("an owner")
const thread = ThreadId.make("a thread")

const sampleMessage = (runId: string, role: NewMessage["role"], tokens: number): NewMessage => ({
  ...Effect.runSync(role === "user" ? question : answer),
  runId: RunId.make(runId),
  tokens
})
const question = Effect.map(sampleBegin(thread), ({ message }) => message)
const leg = { runId: RunId.make("a run"), threadId: thread, leg: 0 }
const answer = Effect.flatMap(sampleBegin(thread), ({ run }) =>
  Effect.map(sampleSettlement({ ...leg, answerId: run.answerId }), (settlement) => settlement.answer)
)

/** As the database gives it. */
const expectedHistory = (stored: ReadonlyArray<Message>, runId: string, budget: number): History => {
  const before = (place: number) => stored.slice(0, place).reduce((sum, { tokens }) => sum + tokens, 0)
  const ofRun = stored.findIndex((message) => message.runId === runId)
  const from = stored.findIndex((_, place) => before(place) >= before(ofRun) - budget)
  return { messages: stored.slice(from), older: { messages: from, tokens: before(from) } }
}

describe("KnownHistories", () => {
  const Few = Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 9 }))
  const Budget = Schema.Literals([0, 3, 10, 20, 1_000_000])
  const Turns = Schema.Array(Schema.Struct({ budget: Budget, asked: Few, said: Few })).check(Schema.isMinLength(2))

  it.prop("gives what the database would give, or nothing", { turns: Turns }, ({ turns }) => {
    const histories = new KnownHistories(1_000_000)
    const stored: Array<Message> = []
    const store = (message: NewMessage) => stored.push({ ...message, sequence: stored.length + 1 })
    turns.forEach(({ asked, budget, said }, number) => {
      const runId = RunId.make(`run ${number}`)
      const message = sampleMessage(runId, "user", asked)
      const found = histories.find(owner, thread, budget)
      store(message)
      const expected = expectedHistory(stored, runId, budget)
      if (found === undefined) histories.addRead(owner, runId, expected, budget, 0, 100)
      else assert.deepStrictEqual(histories.addBegun(owner, found, budget, message, 10), expected)
      const reply = sampleMessage(runId, "assistant", said)
      store(reply)
      histories.addAnswer(owner, runId, reply, 10)
      // A settlement may be repeated.
      histories.addAnswer(owner, runId, reply, 10)
      assert.isDefined(histories.find(owner, thread, budget), "the next turn with the same budget")
    })
  })

  const read = (histories: KnownHistories, id: ThreadId, size: number, of = owner) => {
    const message = { ...sampleMessage("a run", "user", 1), threadId: id, sequence: 1 }
    histories.addRead(of, leg.runId, { messages: [message], older: { messages: 0, tokens: 0 } }, 100, 0, size)
  }

  it("keeps the threads that were used last, up to its size", () => {
    const histories = new KnownHistories(30)
    const [first, second, third] = [ThreadId.make("1"), ThreadId.make("2"), ThreadId.make("3")]
    read(histories, first, 10)
    read(histories, second, 15)
    read(histories, third, 10)
    assert.deepStrictEqual(
      [first, second, third].map((id) => histories.find(owner, id, 100) !== undefined),
      [false, true, true]
    )
  })

  it("knows nothing of another owner's thread with the same id", () => {
    const histories = new KnownHistories(1000)
    read(histories, thread, 10)
    assert.isUndefined(histories.find(OwnerId.make("another"), thread, 100))
  })

  it("forgets a thread on which another run has ended", () => {
    const histories = new KnownHistories(1000)
    read(histories, thread, 10)
    histories.addAnswer(owner, RunId.make("another run"), sampleMessage("another run", "assistant", 1), 10)
    assert.isUndefined(histories.find(owner, thread, 100))
  })
})
