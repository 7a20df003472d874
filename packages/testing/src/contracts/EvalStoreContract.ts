/** The contract of `EvalStore`, as a separate suite: only hosts with the wing `evals` need the store. */
import { AssistantId, MessageId, RunId, type Thread, ThreadId } from "@colloquy/core"
import {
  type AssistantStore,
  CaseId,
  ExperimentId,
  FollowUpId,
  FollowUpStore,
  newId,
  type OwnerStore,
  RunStore,
  ThreadStore
} from "@colloquy/core/adapters"
import {
  attemptsIn,
  type EvalCase,
  EvalStore,
  type Experiment,
  type ExperimentResult,
  type Feedback,
  type OnlinePage,
  type OnlineScore
} from "@colloquy/core/wings"
import { assert } from "@effect/vitest"
import * as Effect from "effect/Effect"
import type * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import { storeSuite } from "./ContractTest.ts"
import { eraseEverything } from "./Erasing.ts"
import { asNewOwner, awkwardJson, moment } from "./Samples.ts"
import { openThread, refusedWhileErasing, settleTurn, startTurn, storedMessages, tenTimes } from "./Scenes.ts"

type Needed = AssistantStore | EvalStore | FollowUpStore | ThreadStore | OwnerStore | RunStore

const sample = Effect.fnUntraced(function* (fields: Partial<EvalCase> = {}) {
  const made: EvalCase = {
    id: yield* newId(CaseId),
    name: null,
    assistantId: null,
    messages: [],
    question: "What is the capital of France?",
    expectations: [],
    tags: [],
    tools: [],
    source: null,
    createdAt: moment(1),
    updatedAt: moment(1),
    ...fields
  }
  return made
})

const awkward = "nul \0 and half a pair \ud800"

const feedback = Effect.fnUntraced(function* (thread: Thread, fields: Partial<Feedback> = {}) {
  const made: Feedback = {
    threadId: thread.id,
    messageId: yield* newId(MessageId),
    runId: null,
    assistantId: thread.assistantId,
    assistantVersion: 3,
    model: "m",
    score: 1,
    comment: null,
    tags: [],
    createdAt: moment(1),
    ...fields
  }
  return made
})

const onlineScore = Effect.fnUntraced(function* (thread: Thread, fields: Partial<OnlineScore> = {}) {
  const made: OnlineScore = {
    runId: yield* newId(RunId),
    threadId: thread.id,
    messageIds: [yield* newId(MessageId), yield* newId(MessageId)],
    assistantId: thread.assistantId,
    passed: true,
    scores: [],
    error: null,
    provider: null,
    model: null,
    assistantVersion: null,
    promptHash: null,
    costUsd: null,
    millis: 0,
    tokens: 0,
    judgesCostUsd: null,
    endedAt: moment(5),
    ...fields
  }
  return made
})

/** The second one shows that what belongs to the first stays apart. */
const twoThreads = Effect.gen(function* () {
  return { store: yield* EvalStore, thread: yield* openThread, other: yield* openThread }
})

/** Two turns, of which each has feedback and an online score; the second one is taken back. */
const afterRewind = Effect.fnUntraced(function* (keptAs: ThreadId | null) {
  const [store, runs, thread] = [yield* EvalStore, yield* RunStore, yield* openThread]
  for (let turn = 0; turn < 2; turn++) yield* settleTurn(yield* startTurn(thread.id))
  const messages = yield* storedMessages(thread.id)
  for (const { id: messageId, role, runId } of messages) {
    if (role !== "assistant" || runId === null) continue
    yield* store.putFeedback(yield* feedback(thread, { messageId, runId, comment: `"threadId":"${thread.id}"` }), null)
    yield* store.putOnlineScore(yield* onlineScore(thread, { runId, messageIds: [messageId] }))
  }
  const newest = messages.at(-1)?.id ?? null
  const cut = { threadId: thread.id, keeps: 2, newest, keptAs, at: moment(9), followUps: [], once: null }
  assert.deepStrictEqual(yield* runs.rewindThread(cut), { _tag: "Done" })
  const given = yield* store.listFeedback({ limit: 10 })
  const scores = yield* store.listOnlineScores({ limit: 10 })
  assert.isTrue(given.every(({ comment }) => comment === `"threadId":"${thread.id}"`))
  const ofThread = (id: ThreadId) => Effect.map(store.listFeedback({ limit: 10, threadId: id }), ({ length }) => length)
  return {
    messages: messages.filter(({ role }) => role === "assistant").map(({ id }) => id),
    threadId: thread.id,
    feedback: given.map(({ messageId, threadId }) => [messageId, threadId]),
    scores: scores.map(({ feedback: found, score }) => [score.messageIds[0], score.threadId, found]),
    listed: yield* Effect.all([ofThread(thread.id), keptAs === null ? Effect.succeed(0) : ofThread(keptAs)])
  }
})

const stored = Effect.fnUntraced(function* (fields: Partial<EvalCase> = {}) {
  const made = yield* sample(fields)
  assert.strictEqual(yield* (yield* EvalStore).insertCases([made], 100, null), "stored")
  return made
})

const experiment = Effect.fnUntraced(function* (fields: Partial<Experiment> = {}) {
  const made: Experiment = {
    id: yield* newId(ExperimentId),
    name: null,
    caseIds: [yield* newId(CaseId)],
    variants: [{ name: "a" }, { name: "b" }],
    repeats: 1,
    tools: "recorded",
    concurrency: 2,
    budgetUsd: null,
    expectations: [],
    createdAt: moment(1),
    ...fields
  }
  return made
})

const result = (number: number, fields: Partial<ExperimentResult> = {}): ExperimentResult => ({
  number,
  caseId: "case",
  caseName: "Case",
  tags: [],
  variant: "a",
  repeat: 0,
  passed: true,
  scores: [],
  error: null,
  content: "",
  provider: null,
  model: null,
  assistantVersion: null,
  promptHash: null,
  costUsd: null,
  millis: 0,
  tokens: 0,
  toolCalls: [],
  judgesCostUsd: 0,
  endedAt: moment(3),
  ...fields
})

const toWork = (key: string) =>
  Effect.map(newId(FollowUpId), (id) => ({
    id,
    kind: "evals.sample",
    key,
    payload: null,
    sequence: null,
    delayMillis: 3_600_000,
    createdAt: moment(9)
  }))

/** The layer is built once; every test has its own owner. */
export const evalStoreSuite = (name: string, stores: Layer.Layer<Needed, unknown>): void =>
  storeSuite(name, stores, (test) => {
    const find = (id: CaseId) => EvalStore.use((store) => Effect.map(store.getCase(id), Option.getOrUndefined))
    const toIds = (cases: ReadonlyArray<EvalCase>) => cases.map(({ id }) => id)

    test("MUST store cases equal in every field, and list them newest first, page by page and by tag", function* () {
      const store = yield* EvalStore
      const one = yield* stored({
        name: awkward,
        question: awkward,
        assistantId: yield* newId(AssistantId),
        messages: [
          { role: "user", content: awkward },
          { role: "assistant", content: null, toolCalls: [{ id: "1", name: "look", arguments: "{}" }] },
          { role: "tool", content: awkward, toolCallId: "1" }
        ],
        expectations: [
          { kind: "contains", text: awkward, ignore_case: true },
          { kind: "calls", tool: "look", arguments: { place: awkward } },
          { kind: "judge", question: "Is it polite?" }
        ],
        tags: ["a", awkward],
        tools: [{ name: "look", arguments: "{}", output: awkward }],
        toolDefinitions: [{ name: "look", description: awkward, parameters: { type: "object" }, strict: true }],
        source: { threadId: yield* newId(ThreadId), messageId: yield* newId(MessageId) },
        updatedAt: moment(2)
      })
      assert.deepStrictEqual(yield* find(one.id), one)
      const two = yield* sample({ tags: ["a b"] })
      const three = yield* sample({ tags: ["b", "a"] })
      assert.strictEqual(yield* store.insertCases([two, three], 100, null), "stored")
      assert.deepStrictEqual(yield* store.listCases({ limit: 10 }), [three, two, one])
      assert.deepStrictEqual(toIds(yield* store.listCases({ limit: 1, after: three.id })), [two.id])
      assert.deepStrictEqual(toIds(yield* store.listCases({ limit: 5, after: one.id })), [])
      assert.deepStrictEqual(toIds(yield* store.listCases({ limit: 5, after: CaseId.make("no id of ours") })), [])
      assert.deepStrictEqual(toIds(yield* store.listCases({ limit: 5, tag: "a" })), [three.id, one.id])
      assert.deepStrictEqual(toIds(yield* store.listCases({ limit: 5, tag: "a", after: three.id })), [one.id])
      assert.deepStrictEqual(toIds(yield* store.listCases({ limit: 5, tag: awkward })), [one.id])
      assert.deepStrictEqual(toIds(yield* store.listCases({ limit: 5, tag: "A" })), [])
    })

    test("MUST store all cases of one call or none, and no more than `most`, also of ten at a time", function* () {
      const store = yield* EvalStore
      const pairs = Effect.flatMap(Effect.all([sample(), sample()]), (pair) => store.insertCases(pair, 5, null))
      const outcomes = (yield* tenTimes(pairs)).toSorted()
      assert.deepStrictEqual(outcomes, ["stored", "stored", ...Array.from({ length: 8 }, () => "too_many")])
      assert.strictEqual((yield* store.listCases({ limit: 100 })).length, 4)
      // More than a store may count in 32 bits.
      assert.strictEqual(yield* store.insertCases([yield* sample()], 2 ** 40, null), "stored")
    })

    test("MUST store one case for a key, with the answer that a repeat finds, and none when it is refused", function* () {
      const store = yield* EvalStore
      const { findAnswered } = yield* RunStore
      const once = { key: "case", fingerprint: "f", answer: awkwardJson }
      assert.strictEqual(yield* store.insertCases([yield* sample()], 0, once), "too_many")
      assert.strictEqual(yield* store.insertCases([], 0, { ...once, key: "no case" }), "stored")
      assert.isTrue(Option.isNone(yield* findAnswered(once.key)))
      const create = Effect.flatMap(sample(), (made) => store.insertCases([made], 1, once))
      const outcomes = (yield* tenTimes(create)).toSorted()
      assert.deepStrictEqual(outcomes, [...Array.from({ length: 9 }, () => "repeated"), "stored"])
      assert.strictEqual((yield* store.listCases({ limit: 10 })).length, 1)
      const { answer, fingerprint } = Option.getOrThrow(yield* findAnswered(once.key))
      assert.deepStrictEqual({ answer, fingerprint }, { answer: awkwardJson, fingerprint: "f" })
    })

    test("MUST replace and remove a case of the principal, and nothing else", function* () {
      const store = yield* EvalStore
      const made = yield* stored({ tags: ["old"] })
      const other = yield* stored()
      const change: EvalCase = { ...made, name: "New", tags: ["new"], updatedAt: moment(3) }
      assert.isTrue(yield* store.replaceCase(change))
      assert.deepStrictEqual(yield* find(made.id), change)
      assert.deepStrictEqual(toIds(yield* store.listCases({ limit: 5, tag: "old" })), [])
      assert.deepStrictEqual(toIds(yield* store.listCases({ limit: 5, tag: "new" })), [made.id])
      assert.isTrue(yield* store.removeCase(made.id))
      assert.isFalse(yield* store.removeCase(made.id))
      assert.isFalse(yield* store.replaceCase(change))
      assert.isUndefined(yield* find(made.id))
      assert.deepStrictEqual(yield* store.listCases({ limit: 5 }), [other])
    })

    const begun = Effect.fnUntraced(function* (fields: Partial<Experiment> = {}) {
      const made = yield* experiment(fields)
      assert.strictEqual(yield* (yield* EvalStore).insertExperiment(made, [], 100, null), "stored")
      return made
    })
    const progress = (id: ExperimentId) =>
      EvalStore.use((store) => Effect.map(store.getExperiment(id), Option.getOrUndefined))
    const openWork = Effect.gen(function* () {
      const found = yield* (yield* FollowUpStore).list("evals.sample", { skip: 0, limit: 100 })
      return found.map(({ key }) => key).toSorted()
    })

    test("MUST store an experiment equal in every field with its follow-ups, once for a key, and list the newest first", function* () {
      const store = yield* EvalStore
      const one = yield* experiment({
        name: awkward,
        variants: [
          {
            name: awkward,
            assistantId: yield* newId(AssistantId),
            assistantVersion: 2,
            provider: "p",
            model: "m",
            modelOptions: { temperature: 0 },
            instructions: awkward
          }
        ],
        repeats: 3,
        tools: "live",
        budgetUsd: 1.5,
        expectations: [{ kind: "contains", text: awkward }]
      })
      const once = { key: "experiment", fingerprint: "f", answer: awkwardJson }
      const full = yield* store.insertExperiment(yield* experiment(), [yield* toWork("none")], 0, once)
      assert.deepStrictEqual([full, yield* openWork], ["too_many", []])
      const create = Effect.flatMap(Effect.all([experiment(), toWork("first")]), ([made, work]) =>
        store.insertExperiment(made, [work], 1, once)
      )
      const outcomes = (yield* tenTimes(create)).toSorted()
      assert.deepStrictEqual(outcomes, [...Array.from({ length: 9 }, () => "repeated"), "stored"])
      assert.deepStrictEqual(yield* openWork, ["first"])
      const before = (yield* store.listExperiments({ limit: 10 }))[0]!
      yield* store.insertExperiment(one, [], 2 ** 40, null)
      const state = { experiment: one, status: "running", reason: null, done: 0, costUsd: 0, endedAt: null } as const
      assert.deepStrictEqual(yield* progress(one.id), state)
      assert.deepStrictEqual(yield* store.listExperiments({ limit: 10 }), [state, before])
      assert.deepStrictEqual(yield* store.listExperiments({ limit: 1 }), [state])
      assert.deepStrictEqual(yield* store.listExperiments({ limit: 10, after: one.id }), [before])
      assert.deepStrictEqual(yield* store.listExperiments({ limit: 10, after: ExperimentId.make("no id of ours") }), [])
    })

    test("MUST store a result once with its cost and the next work, complete the experiment with the last one, and list by number", function* () {
      const store = yield* EvalStore
      const { id } = yield* begun({ repeats: 2 })
      const third = result(2, {
        content: awkward,
        costUsd: 0.25,
        judgesCostUsd: 0.5,
        scores: [{ scorer: "judge", expected: "x", value: 0.5, passed: false, reason: awkward, detail: awkwardJson }],
        toolCalls: [{ name: "look", arguments: "{}", result: awkward }]
      })
      const record = Effect.flatMap(toWork("next"), (work) => store.recordResult(id, third, work))
      assert.strictEqual((yield* tenTimes(record)).filter(Boolean).length, 1)
      assert.deepStrictEqual(yield* openWork, ["next"])
      assert.deepInclude(yield* progress(id), { status: "running", done: 1, costUsd: 0.75, endedAt: null })
      assert.isTrue(yield* store.recordResult(id, result(0, { judgesCostUsd: null }), null))
      assert.deepStrictEqual(yield* store.listResults({ experimentId: id, limit: 10 }), [
        result(0, { judgesCostUsd: null }),
        third
      ])
      assert.deepStrictEqual(yield* store.listResults({ experimentId: id, limit: 1 }), [
        result(0, { judgesCostUsd: null })
      ])
      assert.deepStrictEqual(yield* store.listResults({ experimentId: id, limit: 1, after: 0 }), [third])
      const both = yield* Effect.all(
        [1, 3].map((number) => store.recordResult(id, result(number), null)),
        { concurrency: 2 }
      )
      assert.deepStrictEqual(both, [true, true])
      // A cost that is not known adds nothing.
      assert.deepInclude(yield* progress(id), { status: "completed", done: 4, costUsd: 0.75, endedAt: moment(3) })
      assert.isFalse(yield* store.recordResult(id, result(4), yield* toWork("late")))
      assert.deepStrictEqual(yield* openWork, ["next"])
      assert.isFalse(yield* store.endExperiment({ id, status: "cancelled", reason: null, at: moment(5) }))
    })

    test("MUST add the cost of a try without a result, and nothing else", function* () {
      const store = yield* EvalStore
      const { id } = yield* begun()
      const other = yield* begun()
      yield* store.addCost(id, 0.25)
      yield* store.recordResult(id, result(0, { costUsd: 0.5 }), null)
      yield* asNewOwner(store.addCost(id, 8))
      yield* store.endExperiment({ id, status: "stopped", reason: null, at: moment(4) })
      const before = yield* progress(id)
      yield* store.addCost(id, 1)
      assert.deepStrictEqual(before?.costUsd, 0.75)
      assert.deepStrictEqual(yield* progress(id), { ...before, costUsd: 1.75 })
      assert.deepInclude(yield* progress(other.id), { costUsd: 0, done: 0 })
    })

    test("MUST end a running experiment once, take no result after it, and remove it with its results", function* () {
      const store = yield* EvalStore
      const made = yield* begun()
      const { id } = made
      yield* store.recordResult(id, result(0), null)
      const end = { id, status: "stopped", reason: "It cost \0 much.", at: moment(4) } as const
      assert.isTrue(yield* store.endExperiment(end))
      assert.isFalse(yield* store.endExperiment({ ...end, status: "cancelled" }))
      assert.deepInclude(yield* progress(id), {
        status: "stopped",
        reason: "It cost \0 much.",
        endedAt: moment(4),
        done: 1
      })
      assert.isFalse(yield* store.recordResult(id, result(1), null))
      assert.isTrue(yield* store.removeExperiment(id))
      assert.isFalse(yield* store.removeExperiment(id))
      assert.isFalse(yield* store.recordResult(id, result(1), null))
      assert.isUndefined(yield* progress(id))
      assert.deepStrictEqual(yield* store.listResults({ experimentId: id, limit: 10 }), [])
      assert.strictEqual(attemptsIn(made), 2)
    })

    test("MUST resume an experiment that was stopped or cancelled as it is given, once, with its follow-ups and results", function* () {
      const store = yield* EvalStore
      const made = yield* begun({ budgetUsd: 1 })
      const { id } = made
      yield* store.recordResult(id, result(0, { costUsd: 1 }), null)
      const more = { ...made, budgetUsd: 2 }
      const resume = Effect.flatMap(toWork("again"), (work) => store.resumeExperiment(more, [work], null))
      assert.strictEqual(yield* resume, "kept")
      assert.deepStrictEqual(yield* openWork, [])
      yield* store.endExperiment({ id, status: "stopped", reason: "Spent.", at: moment(4) })
      yield* asNewOwner(Effect.map(resume, (outcome) => assert.strictEqual(outcome, "kept")))
      const outcomes = (yield* tenTimes(resume)).toSorted()
      assert.deepStrictEqual(outcomes, [...Array.from({ length: 9 }, () => "kept"), "resumed"])
      assert.deepStrictEqual(yield* openWork, ["again"])
      const running = {
        experiment: more,
        status: "running",
        reason: null,
        done: 1,
        costUsd: 1,
        endedAt: null
      } as const
      assert.deepStrictEqual(yield* progress(id), running)
      yield* store.endExperiment({ id, status: "cancelled", reason: null, at: moment(5) })
      const once = { key: "resume", fingerprint: "f", answer: awkwardJson }
      assert.strictEqual(yield* store.resumeExperiment(made, [], once), "resumed")
      yield* store.endExperiment({ id, status: "cancelled", reason: null, at: moment(5) })
      assert.strictEqual(yield* store.resumeExperiment(made, [], once), "repeated")
      assert.deepInclude(yield* progress(id), { status: "cancelled", experiment: made })
      yield* store.resumeExperiment(made, [], null)
      yield* store.recordResult(id, result(1), null)
      assert.strictEqual(yield* store.resumeExperiment(made, [], null), "kept")
      assert.deepInclude(yield* progress(id), { status: "completed", done: 2 })
    })

    test("MUST NOT show or change another owner's experiments", function* () {
      const store = yield* EvalStore
      const { id } = yield* begun()
      yield* store.recordResult(id, result(0), null)
      yield* asNewOwner(
        Effect.gen(function* () {
          assert.isUndefined(yield* progress(id))
          assert.deepStrictEqual(yield* store.listExperiments({ limit: 10 }), [])
          assert.deepStrictEqual(yield* store.listResults({ experimentId: id, limit: 10 }), [])
          assert.isFalse(yield* store.recordResult(id, result(1), null))
          assert.isFalse(yield* store.endExperiment({ id, status: "cancelled", reason: null, at: moment(4) }))
          assert.isFalse(yield* store.removeExperiment(id))
        })
      )
      assert.deepInclude(yield* progress(id), { status: "running", done: 1 })
      const ended = yield* experiment()
      yield* store.insertExperiment(ended, [], 100, null)
      yield* store.endExperiment({ id: ended.id, status: "cancelled", reason: null, at: moment(2) })
      yield* refusedWhileErasing(
        store.insertExperiment(yield* experiment(), [], 100, null),
        store.resumeExperiment(ended, [], null)
      )
    })

    test("MUST keep the last feedback of each message until its thread goes, once for a key, and list the newest first", function* () {
      const { other, store, thread } = yield* twoThreads
      const one = yield* feedback(thread, { comment: awkward, tags: [awkward], score: -0.5 })
      const two = yield* feedback(other)
      const once = { key: "feedback", fingerprint: "f", answer: awkwardJson }
      const outcomes = yield* tenTimes(store.putFeedback(one, once))
      assert.strictEqual(outcomes.filter((outcome) => outcome === "stored").length, 1)
      assert.strictEqual(yield* store.putFeedback(two, null), "stored")
      assert.deepStrictEqual(yield* store.listFeedback({ limit: 10 }), [two, one])
      assert.deepStrictEqual(yield* store.listFeedback({ limit: 1 }), [two])
      assert.deepStrictEqual(yield* store.listFeedback({ limit: 10, after: two.messageId }), [one])
      assert.deepStrictEqual(yield* store.listFeedback({ limit: 10, threadId: other.id }), [two])
      assert.deepStrictEqual(yield* store.listFeedback({ limit: 10, assistantId: thread.assistantId }), [one])
      const changed = { ...one, score: 1, comment: null }
      assert.strictEqual(yield* store.putFeedback(changed, null), "stored")
      assert.deepStrictEqual(yield* store.listFeedback({ limit: 10 }), [changed, two])
      const nowhere = yield* feedback({ ...thread, id: yield* newId(ThreadId) })
      assert.strictEqual(yield* store.putFeedback(nowhere, { ...once, key: "other" }), "missing")
      assert.strictEqual(yield* store.putFeedback(two, { ...once, key: "other" }), "stored")
      yield* asNewOwner(
        Effect.gen(function* () {
          assert.deepStrictEqual(yield* store.listFeedback({ limit: 10 }), [])
          assert.strictEqual(yield* store.putFeedback(yield* feedback(thread), null), "missing")
        })
      )
      yield* (yield* ThreadStore).remove(other.id)
      assert.deepStrictEqual(yield* store.listFeedback({ limit: 10 }), [changed])
      yield* refusedWhileErasing(store.putFeedback(one, null))
    })

    test("MUST keep the first online score of each run until its thread goes, find it, and list the newest first with the feedback on them", function* () {
      const { other, store, thread } = yield* twoThreads
      const one = yield* onlineScore(thread, {
        passed: false,
        scores: [
          { scorer: "judge", expected: awkward, value: 0.5, passed: false, reason: awkward, detail: awkwardJson }
        ],
        error: awkward,
        provider: "p",
        model: "m",
        assistantVersion: 3,
        promptHash: "h",
        costUsd: 0.25,
        millis: 1.5,
        tokens: 7,
        judgesCostUsd: 0.5,
        endedAt: moment(1)
      })
      const kept = yield* tenTimes(store.putOnlineScore(one))
      assert.strictEqual(kept.filter(Boolean).length, 1)
      assert.isFalse(yield* store.putOnlineScore({ ...one, passed: true }))
      const two = yield* onlineScore(other)
      assert.isTrue(yield* store.putOnlineScore(two))
      assert.deepStrictEqual(
        [yield* store.getOnlineScore(one.runId), yield* store.getOnlineScore(RunId.make("no id of ours"))],
        [Option.some(one), Option.none()]
      )
      const list = (page: Partial<OnlinePage> = {}) => store.listOnlineScores({ limit: 10, ...page })
      const [first, second] = [
        { score: one, feedback: null },
        { score: two, feedback: null }
      ]
      assert.deepStrictEqual(yield* list(), [second, first])
      assert.deepStrictEqual(yield* list({ limit: 1 }), [second])
      assert.deepStrictEqual(yield* list({ after: two.runId }), [first])
      assert.deepStrictEqual(yield* list({ after: RunId.make("no id of ours") }), [])
      assert.deepStrictEqual(yield* list({ assistantId: thread.assistantId, limit: 1 }), [first])
      assert.deepStrictEqual(yield* list({ from: moment(5) }), [second])
      assert.deepStrictEqual(yield* list({ before: moment(5), limit: 1 }), [first])
      assert.deepStrictEqual(yield* list({ rated: true }), [])
      const thumb = (messageId: MessageId, score: number) =>
        Effect.flatMap(feedback(thread, { messageId, score }), (given) => store.putFeedback(given, null))
      yield* thumb(one.messageIds[1]!, 1)
      yield* thumb(one.messageIds[0]!, -0.5)
      yield* thumb(yield* newId(MessageId), 1)
      const rated = { score: one, feedback: -0.5 }
      assert.deepStrictEqual(yield* list(), [second, rated])
      assert.deepStrictEqual(yield* list({ rated: true, limit: 1 }), [rated])
      const nowhere = yield* onlineScore({ ...thread, id: yield* newId(ThreadId) })
      assert.isFalse(yield* store.putOnlineScore(nowhere))
      yield* asNewOwner(
        Effect.gen(function* () {
          assert.deepStrictEqual(yield* list(), [])
          assert.deepStrictEqual(yield* store.getOnlineScore(one.runId), Option.none())
          assert.isFalse(yield* store.putOnlineScore({ ...one, runId: yield* newId(RunId) }))
        })
      )
      yield* (yield* ThreadStore).remove(thread.id)
      assert.deepStrictEqual(yield* list(), [second])
      yield* refusedWhileErasing(store.putOnlineScore(yield* onlineScore(other)))
    })

    test("MUST name the kept thread in feedback and online scores of what a rewind took back, or delete them", function* () {
      const keptAs = yield* newId(ThreadId)
      const kept = yield* afterRewind(keptAs)
      const [first, second] = kept.messages
      const stayed = [first, kept.threadId]
      assert.deepStrictEqual(kept.feedback, [[second, keptAs], stayed])
      assert.deepStrictEqual(kept.scores, [
        [second, keptAs, 1],
        [...stayed, 1]
      ])
      assert.deepStrictEqual(kept.listed, [1, 1])
      yield* (yield* ThreadStore).remove(kept.threadId)
      assert.deepStrictEqual((yield* (yield* EvalStore).listFeedback({ limit: 10 })).length, 1)
      yield* (yield* ThreadStore).remove(keptAs)
      const gone = yield* afterRewind(null)
      const left = [gone.messages[0], gone.threadId]
      assert.deepStrictEqual([gone.feedback, gone.scores, gone.listed], [[left], [[...left, 1]], [1, 0]])
    })

    test("MUST leave the online score of a run as it is when a rewind takes copies of its messages back", function* () {
      const [store, runs, thread] = [yield* EvalStore, yield* RunStore, yield* openThread]
      const turn = yield* startTurn(thread.id)
      yield* settleTurn(turn)
      const score = yield* onlineScore(thread, { runId: turn.runId })
      yield* store.putOnlineScore(score)
      for (const keptAs of [yield* newId(ThreadId), null]) {
        const from = { threadId: thread.id, keeps: 2, newest: (yield* storedMessages(thread.id)).at(-1)?.id ?? null }
        const copy = { ...thread, id: yield* newId(ThreadId) }
        assert.deepStrictEqual(yield* runs.forkThread({ from, thread: copy, once: null }), { _tag: "Done" })
        const newest = (yield* storedMessages(copy.id)).at(-1)?.id ?? null
        const cut = { threadId: copy.id, keeps: 0, newest, keptAs, at: moment(9), followUps: [], once: null }
        assert.deepStrictEqual(yield* runs.rewindThread(cut), { _tag: "Done" })
        assert.deepStrictEqual(Option.getOrNull(yield* store.getOnlineScore(turn.runId)), score)
      }
    })

    test("MUST NOT show or change another owner's cases, and MUST refuse writes during an erasure", function* () {
      const store = yield* EvalStore
      const made = yield* stored()
      yield* asNewOwner(
        Effect.gen(function* () {
          assert.isUndefined(yield* find(made.id))
          assert.deepStrictEqual(yield* store.listCases({ limit: 10 }), [])
          assert.deepStrictEqual(yield* store.listCases({ limit: 10, after: made.id }), [])
          assert.isFalse(yield* store.replaceCase({ ...made, name: "Theirs" }))
          assert.isFalse(yield* store.removeCase(made.id))
        })
      )
      assert.deepStrictEqual(yield* find(made.id), made)
      yield* refusedWhileErasing(store.insertCases([yield* sample()], 100, null), store.replaceCase(made))
    })

    test("MUST be gone when everything of the principal is erased, and stay for other owners", function* () {
      const store = yield* EvalStore
      const make = Effect.gen(function* () {
        const made = yield* stored()
        const { id } = yield* begun()
        yield* store.recordResult(id, result(0), null)
        return Effect.all([find(made.id), progress(id), store.listResults({ experimentId: id, limit: 10 })])
      })
      const ours = yield* make
      const before = yield* ours
      yield* asNewOwner(
        Effect.gen(function* () {
          const theirs = yield* make
          yield* eraseEverything
          assert.deepStrictEqual(yield* theirs, [undefined, undefined, []])
        })
      )
      assert.deepStrictEqual(yield* ours, before)
      assert.isFalse(before.includes(undefined))
    })
  })
