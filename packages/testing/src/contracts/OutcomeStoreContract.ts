/** The contract of `OutcomeStore`, as a separate suite: only hosts with the wing `answers` need the store. */
import { AssistantId, ThreadId } from "@colloquy/core"
import { AssistantStore, newId, type OwnerStore, ThreadStore } from "@colloquy/core/adapters"
import { AnswerSetId } from "@colloquy/core/answers"
import { type Outcome, OutcomeStore } from "@colloquy/core/wings"
import { assert } from "@effect/vitest"
import * as Effect from "effect/Effect"
import type * as Layer from "effect/Layer"
import { storeSuite } from "./ContractTest.ts"
import { eraseEverything } from "./Erasing.ts"
import { asNewOwner, awkwardJson, moment } from "./Samples.ts"
import { openThread, refusedWhileErasing } from "./Scenes.ts"

type Needed = AssistantStore | OutcomeStore | OwnerStore | ThreadStore

/** The layer is built once; every test has its own owner. */
export const outcomeStoreSuite = (name: string, stores: Layer.Layer<Needed, unknown>): void =>
  storeSuite(name, stores, (test) => {
    test("MUST store an outcome unchanged, and list the newest first", function* () {
      const store = yield* OutcomeStore
      assert.deepStrictEqual(yield* store.newest(null, 10), [])
      const outcomes = yield* Effect.forEach([1, 2, 3], (second) => sampleOutcome({ recordedAt: moment(second) }))
      for (const outcome of outcomes) assert.isTrue(yield* store.record(outcome))
      assert.deepStrictEqual(yield* store.newest(null, 10), outcomes.toReversed())
      assert.deepStrictEqual(yield* store.newest(null, 2), outcomes.toReversed().slice(0, 2))
    })

    test("MUST keep every text and the order of the options", function* () {
      const store = yield* OutcomeStore
      const texts = [...Object.keys(awkwardJson), "10", "9", "__proto__", "nul \0 and half a pair \ud800"]
      const outcome = yield* sampleOutcome({
        question: texts.join(""),
        outcome: texts.join("|"),
        questionSet: "set \0",
        provider: "p \0",
        model: "m \0",
        distribution: texts.map((text, index) => [text, index / 1000 + 0.1 + 0.2])
      })
      assert.isTrue(yield* store.record(outcome))
      assert.deepStrictEqual(yield* store.newest(null, 10), [outcome])
    })

    test("MUST refuse an outcome while everything of the principal is being erased", function* () {
      const store = yield* OutcomeStore
      const outcome = yield* sampleOutcome()
      yield* refusedWhileErasing(store.record(outcome))
      assert.deepStrictEqual(yield* store.newest(null, 10), [outcome])
    })

    test("MUST be gone when everything of the principal is erased, and stay for other owners", function* () {
      const store = yield* OutcomeStore
      const mine = yield* sampleOutcome()
      assert.isTrue(yield* store.record(mine))
      yield* asNewOwner(
        Effect.gen(function* () {
          const outcome = yield* sampleOutcome()
          assert.isTrue(yield* store.record(outcome))
          yield* eraseEverything
          assert.deepStrictEqual(yield* store.find([outcome]), [])
        })
      )
      assert.deepStrictEqual(yield* store.find([mine]), [mine])
    })

    test("MUST replace the outcome of a question of an answer set, and keep those of others", function* () {
      const store = yield* OutcomeStore
      const first = yield* sampleOutcome({ outcome: "true" })
      const other = { ...first, question: "other" }
      const corrected = { ...first, outcome: "false", recordedAt: moment(9) }
      for (const each of [first, other, corrected]) assert.isTrue(yield* store.record(each))
      assert.deepStrictEqual(yield* store.newest(null, 10), [corrected, other])
    })

    test("MUST give the outcomes of one assistant, or of none", function* () {
      const store = yield* OutcomeStore
      const { assistantId, id: threadId } = yield* openThread
      const { assistantId: another } = yield* openThread
      const inThread = yield* sampleOutcome({ assistantId, threadId })
      const inAnother = yield* sampleOutcome({ assistantId: another })
      const nowhere = yield* sampleOutcome()
      for (const each of [inThread, inAnother, nowhere]) assert.isTrue(yield* store.record(each))
      assert.deepStrictEqual(yield* store.newest(assistantId, 10), [inThread])
      assert.deepStrictEqual(yield* store.newest(another, 10), [inAnother])
      assert.deepStrictEqual(yield* store.newest(null, 10), [nowhere])
    })

    test("MUST list the newest outcomes of a thread, newest first, and none of another or without one", function* () {
      const store = yield* OutcomeStore
      const { assistantId, id: threadId } = yield* openThread
      const { id: another } = yield* openThread
      const first = yield* sampleOutcome({ assistantId, threadId, recordedAt: moment(1) })
      const last = yield* sampleOutcome({ assistantId, threadId, recordedAt: moment(3) })
      const middle = yield* sampleOutcome({ threadId, recordedAt: moment(2) })
      const others = [yield* sampleOutcome({ threadId: another }), yield* sampleOutcome({ assistantId })]
      for (const each of [first, last, middle, ...others]) assert.isTrue(yield* store.record(each))
      assert.deepStrictEqual(yield* store.ofThread(threadId, 10), [last, middle, first])
      assert.deepStrictEqual(yield* store.ofThread(threadId, 2), [last, middle])
      assert.deepStrictEqual(yield* asNewOwner(store.ofThread(threadId, 10)), [])
      assert.deepStrictEqual(yield* store.ofThread(ThreadId.make("no id of ours"), 10), [])
      yield* (yield* ThreadStore).remove(threadId)
      assert.deepStrictEqual(yield* store.ofThread(threadId, 10), [])
    })

    test("MUST find the outcomes of questions by their answer sets, of any assistant, and none for others", function* () {
      const store = yield* OutcomeStore
      const { assistantId, id: threadId } = yield* openThread
      const inThread = yield* sampleOutcome({ assistantId, threadId })
      const nowhere = yield* sampleOutcome({ question: "nul \0 and half a pair \ud800" })
      const unasked = { ...nowhere, question: "other" }
      for (const each of [inThread, nowhere, unasked]) assert.isTrue(yield* store.record(each))
      const unknown = yield* sampleOutcome()
      const found = yield* store.find([inThread, nowhere, inThread, unknown, { ...inThread, question: "other" }])
      assert.sameDeepMembers([...found], [inThread, nowhere])
      assert.deepStrictEqual(yield* store.find([]), [])
      const corrected = { ...nowhere, outcome: "false" }
      yield* store.record(corrected)
      assert.deepStrictEqual(yield* store.find([nowhere]), [corrected])
    })

    test("MUST refuse an outcome of an unknown assistant or thread, or of another owner's", function* () {
      const store = yield* OutcomeStore
      const mine = yield* openThread
      const theirs = yield* asNewOwner(openThread)
      const scopes = [
        { assistantId: yield* newId(AssistantId) },
        { assistantId: AssistantId.make("no id of ours") },
        { assistantId: mine.assistantId, threadId: yield* newId(ThreadId) },
        { assistantId: theirs.assistantId },
        { assistantId: mine.assistantId, threadId: theirs.id },
        { threadId: theirs.id }
      ]
      for (const scope of scopes) assert.isFalse(yield* store.record(yield* sampleOutcome(scope)))
      assert.deepStrictEqual(yield* store.newest(mine.assistantId, 10), [])
      assert.deepStrictEqual(yield* store.newest(null, 10), [])
    })

    test("MUST NOT show or replace another owner's outcomes", function* () {
      const store = yield* OutcomeStore
      const mine = yield* sampleOutcome()
      assert.isTrue(yield* store.record(mine))
      yield* asNewOwner(
        Effect.gen(function* () {
          assert.deepStrictEqual(yield* store.newest(null, 10), [])
          assert.deepStrictEqual(yield* store.find([mine]), [])
          assert.isTrue(yield* store.record({ ...mine, outcome: "false" }))
        })
      )
      assert.deepStrictEqual(yield* store.newest(null, 10), [mine])
      assert.deepStrictEqual(yield* store.find([mine]), [mine])
    })

    test("MUST remove the outcomes of a deleted thread or assistant", function* () {
      const store = yield* OutcomeStore
      const { assistantId, id: threadId } = yield* openThread
      const { assistantId: another } = yield* openThread
      const ofThread = yield* sampleOutcome({ assistantId, threadId })
      const kept = yield* sampleOutcome({ assistantId })
      const foreignOutcome = yield* sampleOutcome({ assistantId: another })
      for (const each of [ofThread, kept, foreignOutcome]) yield* store.record(each)
      yield* (yield* ThreadStore).remove(threadId)
      yield* (yield* AssistantStore).remove(another)
      assert.deepStrictEqual(yield* store.newest(assistantId, 10), [kept])
      assert.deepStrictEqual(yield* store.newest(another, 10), [])
      assert.deepStrictEqual(yield* store.find([ofThread, kept, foreignOutcome]), [kept])
    })
  })

const sampleOutcome = (fields: Partial<Outcome> = {}): Effect.Effect<Outcome> =>
  Effect.map(newId(AnswerSetId), (answerSetId) => ({
    answerSetId,
    questionSet: "a set",
    question: "urgent",
    type: "noul",
    distribution: [
      ["true", 0.7],
      ["false", 0.3]
    ],
    outcome: "true",
    provider: "sample-provider",
    model: "sample-model",
    method: "logprobs",
    assistantId: null,
    threadId: null,
    recordedAt: moment(1),
    ...fields
  }))
