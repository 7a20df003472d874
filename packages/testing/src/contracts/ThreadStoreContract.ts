/** The contract of `ThreadStore`. Runs write the messages of a thread, so the tests use runs. */
import { AssistantId, type Thread, ThreadId } from "@colloquy/core"
import {
  AssistantStore,
  firstPage,
  InboxStore,
  newId,
  type NewMessage,
  RunStore,
  ThreadStore
} from "@colloquy/core/adapters"
import { assert } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import type { ContractTest } from "./ContractTest.ts"
import { messagesAsListed } from "./ListedMessages.ts"
import {
  asNewOwner,
  awkwardJson,
  longText,
  moment,
  sampleAssistant,
  sampleCall,
  sampleEvent,
  sampleThread,
  sampleUsage
} from "./Samples.ts"
import {
  anHour,
  appendTo,
  continueTurn,
  openThread,
  openNewThread,
  queueTurn,
  settleTurn,
  startTurn,
  storedRun,
  waitingTurn
} from "./Scenes.ts"

/** Texts that look like the syntax that stores use around them. */
const awkwardTexts = [
  "",
  '"',
  "\\",
  '\\"',
  "null",
  ",",
  '","toolCalls":[],"steps":[],"provider":null,"model":null,"usage":null,"metadata":null},[]]',
  '\\","toolCalls":[],"steps":[],"provider":"',
  '{"content":null}',
  "line\nnext\r\n\u2028\u2029",
  "NUL \0, a lone \ud800 surrogate, 👩‍👩‍👧, Grüße"
]

const listedMessages = (id: ThreadId) => messagesAsListed([id])

export const threadStoreContract = (test: ContractTest): void => {
  test("MUST give back what was inserted, equal in every field", function* () {
    const { assistantId } = yield* openThread
    const rich = yield* insertThread(assistantId, {
      metadata: awkwardJson,
      createdAt: new Date("2026-01-31T23:59:59.999Z"),
      updatedAt: moment(3)
    })
    const empty = yield* insertThread(assistantId, { metadata: {} })
    const store = yield* ThreadStore
    assert.deepStrictEqual(Option.getOrThrow(yield* store.get(rich.id)), rich)
    assert.deepStrictEqual(Option.getOrThrow(yield* store.get(empty.id)), empty)
  })

  test("MUST answer false, and store nothing, when the principal has no such assistant", function* () {
    const store = yield* ThreadStore
    const theirs = yield* asNewOwner(openThread)
    for (const assistantId of [theirs.assistantId, yield* newId(AssistantId)]) {
      const thread = yield* sampleThread(assistantId)
      assert.isFalse(yield* store.insert(thread))
      assert.isTrue(Option.isNone(yield* store.get(thread.id)))
    }
    assert.deepStrictEqual(yield* store.list(firstPage), [])
  })

  test("MUST answer none both for an unknown id and for another owner's id", function* () {
    const store = yield* ThreadStore
    const { id } = yield* asNewOwner(openThread)
    assert.deepStrictEqual(yield* store.get(id), yield* store.get(yield* newId(ThreadId)))
    assert.isTrue(Option.isNone(yield* store.get(id)))
  })

  test("MUST list the oldest first, independent of the order of insertion", function* () {
    const middle = yield* openThread
    const { assistantId } = middle
    const newest = yield* insertThread(assistantId, { createdAt: moment(3) })
    const oldest = yield* insertThread(assistantId, { createdAt: moment(-3) })
    assert.deepStrictEqual(yield* (yield* ThreadStore).list(firstPage), [oldest, middle, newest])
  })

  test("MUST list every thread once when pages follow each other, also those with the same time", function* () {
    const store = yield* ThreadStore
    const { assistantId } = yield* openThread
    yield* Effect.all(Array.from({ length: 6 }, () => openNewThread(assistantId)))
    const pages = yield* Effect.forEach([0, 3, 6, 9], (skip) => store.list({ skip, limit: 3 }, assistantId))
    assert.deepStrictEqual(
      pages.map((page) => page.length),
      [3, 3, 1, 0]
    )
    assert.strictEqual(new Set(pages.flat().map(({ id }) => id)).size, 7)
    assert.deepStrictEqual(pages.flat(), yield* store.list(firstPage))
  })

  test("MUST list the threads of one assistant when it is given", function* () {
    const store = yield* ThreadStore
    const [one, other] = [yield* openThread, yield* openThread]
    assert.deepStrictEqual(yield* store.list(firstPage, one.assistantId), [one])
    assert.deepStrictEqual(yield* store.list(firstPage, other.assistantId), [other])
    assert.deepStrictEqual(yield* store.list(firstPage, yield* newId(AssistantId)), [])
  })

  test("MUST NOT list scratch threads, nor their runs, however they were made", function* () {
    const store = yield* ThreadStore
    const inbox = yield* InboxStore
    const shown = yield* openThread
    const { assistantId } = shown
    const scratch = yield* insertThread(assistantId, { scratch: true })
    const id = yield* newId(ThreadId)
    const imported = { ...scratch, id }
    yield* (yield* RunStore).importThread({ thread: imported, messages: [], once: null })
    assert.deepStrictEqual(yield* store.list(firstPage), [shown])
    assert.deepStrictEqual(yield* store.list(firstPage, assistantId), [shown])
    assert.deepInclude(Option.getOrThrow(yield* store.get(id)), { id, scratch: true })
    assert.deepInclude(Option.getOrThrow(yield* store.get(scratch.id)), { id: scratch.id, scratch: true })
    const { lease } = yield* startTurn(scratch.id)
    assert.deepStrictEqual(yield* inbox.list({ limit: 10 }), [])
    assert.isNull(yield* inbox.summary(lease.runId))
  })

  test("MUST NOT list another owner's threads", function* () {
    const store = yield* ThreadStore
    const theirs = yield* asNewOwner(openThread)
    const mine = yield* openThread
    assert.deepStrictEqual(yield* store.list(firstPage), [mine])
    assert.deepStrictEqual(yield* store.list(firstPage, theirs.assistantId), [])
  })

  test("MUST give all messages of a thread by sequence, from 1 and without gaps", function* () {
    const { id } = yield* openThread
    yield* settleTurn(yield* startTurn(id))
    yield* settleTurn(yield* continueTurn(yield* waitingTurn(id)))
    const messages = yield* listedMessages(id)
    assert.deepStrictEqual(
      messages.map(({ sequence }) => sequence),
      [1, 2, 3, 4, 5]
    )
    assert.deepStrictEqual(
      messages.map(({ role }) => role),
      ["user", "assistant", "user", "assistant", "assistant"]
    )
  })

  test("MUST give more messages than a page of anything else has", function* () {
    const { id } = yield* openThread
    const rounds = Array.from({ length: 130 }, (_, round) => `${round}`)
    yield* Effect.forEach(rounds, (content) =>
      Effect.flatMap(startTurn(id, { message: { content } }), (turn) => settleTurn(turn, { answer: { content } }))
    )
    const messages = yield* listedMessages(id)
    assert.deepStrictEqual(
      messages.map(({ content }) => content),
      rounds.flatMap((round) => [round, round])
    )
  })

  test("MUST give the newest messages below a sequence, by sequence, and none of other owners", function* () {
    const store = yield* ThreadStore
    const { id } = yield* openThread
    for (const content of ["one", "two", "three"]) {
      yield* settleTurn(yield* startTurn(id, { message: { content } }), { answer: { content } })
    }
    const all = yield* listedMessages(id)
    assert.deepStrictEqual(yield* store.messagesBefore(id, 5, 3), all.slice(1, 4))
    assert.deepStrictEqual(yield* store.messagesBefore(id, 3, 9), all.slice(0, 2))
    assert.deepStrictEqual(yield* store.messagesBefore(id, 1, 9), [])
    assert.deepStrictEqual(yield* store.messagesBefore(id, 2_147_483_647, 2), all.slice(-2))
    assert.deepStrictEqual(yield* store.messagesBefore(yield* newId(ThreadId), 5, 9), [])
    assert.deepStrictEqual(yield* asNewOwner(store.messagesBefore(id, 5, 9)), [])
  })

  test("MUST group messages by thread, in the order in which the threads are given", function* () {
    const [a, b, empty] = [yield* openThread, yield* openThread, yield* openThread]
    for (const { id } of [a, b, a]) yield* settleTurn(yield* startTurn(id))
    const owners = Effect.fnUntraced(function* (ids: ReadonlyArray<ThreadId>) {
      return (yield* messagesAsListed(ids)).map(({ threadId }) => threadId)
    })
    assert.deepStrictEqual(yield* owners([b.id, empty.id, a.id]), [b.id, b.id, a.id, a.id, a.id, a.id])
    assert.deepStrictEqual(yield* owners([a.id, b.id]), [a.id, a.id, a.id, a.id, b.id, b.id])
    assert.deepStrictEqual(yield* owners([]), [])
  })

  test("MUST give nothing for threads that are unknown or another owner's", function* () {
    const theirs = yield* asNewOwner(Effect.tap(openThread, ({ id }) => startTurn(id)))
    const mine = yield* openThread
    const turn = yield* startTurn(mine.id)
    const given = yield* messagesAsListed([theirs.id, mine.id, yield* newId(ThreadId)])
    assert.deepStrictEqual(
      given.map(({ id }) => id),
      [turn.begin.message.id, turn.answerId]
    )
  })

  test("MUST give every field of a message back equal", function* () {
    const { id } = yield* openThread
    const turn = yield* startTurn(id, { message: { content: longText, metadata: awkwardJson, tokens: 0 } })
    const answer = { ...everyField, id: turn.answerId, threadId: id, runId: turn.runId }
    yield* settleTurn(turn, { answer })
    assert.deepStrictEqual(yield* listedMessages(id), [
      { ...turn.begin.message, sequence: 1 },
      { ...answer, sequence: 2 }
    ])
  })

  test("MUST list messages unchanged, whatever their text contains", function* () {
    const { id } = yield* openThread
    for (const [index, content] of awkwardTexts.entries()) {
      const turn = yield* startTurn(id, {
        message: { content, metadata: { supplements: content, [content]: "[]]" } }
      })
      const words = { provider: content, model: content, usage: sampleUsage(index, 7, 0.5), metadata: null }
      yield* settleTurn(turn, { answer: { content, ...words } })
    }
    const contents = (yield* listedMessages(id)).map(({ content }) => content)
    assert.deepStrictEqual(
      contents,
      awkwardTexts.flatMap((text) => [text, text])
    )
  })

  test("MUST list messages with supplements and tools, alone and among plain messages", function* () {
    const { id } = yield* openThread
    const supplements = { memory: { value: { found: [] } } }
    for (const fields of [{ supplements }, { supplements, metadata: awkwardJson }, {}, { metadata: awkwardJson }]) {
      yield* settleTurn(yield* startTurn(id, { message: fields }), { answer: fields })
    }
    const metadata = { a: 1, toolCalls: [], steps: [], provider: null, model: null, usage: null, metadata: {} }
    yield* settleTurn(yield* startTurn(id, { message: { metadata } }), { answer: { metadata } })
    yield* settleTurn(yield* startTurn(id), { answer: { toolCalls: [sampleCall], metadata } })
    yield* settleTurn(yield* continueTurn(yield* waitingTurn(id)))
    yield* waitingTurn(id)
    assert.deepStrictEqual(
      (yield* listedMessages(id)).map((message) => message.supplements !== null),
      [...Array.from({ length: 4 }, () => true), ...Array.from({ length: 13 }, () => false)]
    )
  })

  test("MUST move a thread's time of update to that of its newest message, and never back", function* () {
    const { id } = yield* openThread
    const store = yield* ThreadStore
    const updatedAt = Effect.map(store.get(id), (thread) => Option.getOrThrow(thread).updatedAt)
    const turn = yield* startTurn(id, { message: { createdAt: moment(20) } })
    assert.deepStrictEqual(yield* updatedAt, moment(20))
    yield* settleTurn(turn, { answer: { createdAt: moment(30) } })
    assert.deepStrictEqual(yield* updatedAt, moment(30))
    yield* startTurn(id, { message: { createdAt: moment(10) } })
    assert.deepStrictEqual(yield* updatedAt, moment(30))
  })

  test("MUST distinguish no content from empty content", function* () {
    const { id } = yield* openThread
    const turn = yield* startTurn(id, { message: { content: "", metadata: {} } })
    yield* settleTurn(turn, { answer: { content: null, metadata: null } })
    const messages = yield* listedMessages(id)
    assert.deepStrictEqual(
      messages.map(({ content, metadata }) => [content, metadata]),
      [
        ["", {}],
        [null, null]
      ]
    )
  })

  test("MUST show the answer of a run in progress last, as an empty message one above the last", function* () {
    const { id } = yield* openThread
    yield* settleTurn(yield* startTurn(id))
    const turn = yield* startTurn(id)
    const shown = yield* listedMessages(id)
    assert.deepStrictEqual(
      shown.map(({ sequence }) => sequence),
      [1, 2, 3, 4]
    )
    assert.deepInclude(shown[3], {
      id: turn.answerId,
      threadId: id,
      runId: turn.runId,
      role: "assistant",
      status: "IN_PROGRESS",
      content: null,
      toolCalls: [],
      provider: turn.begin.run.provider,
      model: turn.begin.run.model,
      createdAt: (yield* storedRun(turn.runId)).startedAt ?? assert.fail("The run has not started.")
    })
    yield* settleTurn(turn)
    const settled = yield* listedMessages(id)
    assert.deepStrictEqual(
      settled.map((message) => message.id),
      shown.map((message) => message.id)
    )
    assert.deepInclude(settled[3], { status: "COMPLETED", sequence: 4 })
  })

  test("MUST show the answer of a later leg while it is in progress", function* () {
    const { id } = yield* openThread
    const waiting = yield* waitingTurn(id)
    assert.strictEqual((yield* listedMessages(id)).length, 2)
    const turn = yield* continueTurn(waiting)
    const shown = yield* listedMessages(id)
    assert.deepInclude(shown[2], { id: turn.answerId, status: "IN_PROGRESS", content: null, sequence: 3 })
  })

  test("MUST NOT show anything of a run that is queued", function* () {
    const { id } = yield* openThread
    const turn = yield* startTurn(id)
    yield* queueTurn(id)
    const shown = yield* listedMessages(id)
    assert.deepStrictEqual(
      shown.map((message) => message.id),
      [turn.begin.message.id, turn.answerId]
    )
  })

  test("MUST delete a thread with its messages, runs and logs, and nothing else", function* () {
    const [threads, runs] = [yield* ThreadStore, yield* RunStore]
    const { assistantId, id } = yield* openThread
    const kept = yield* openNewThread(assistantId)
    const other = yield* startTurn(kept.id)
    const ended = yield* startTurn(id)
    yield* settleTurn(ended)
    const waiting = yield* waitingTurn(id)

    assert.isTrue(yield* threads.remove(id))

    assert.isTrue(Option.isNone(yield* threads.get(id)))
    assert.deepStrictEqual(
      (yield* threads.list(firstPage)).map((thread) => thread.id),
      [kept.id]
    )
    assert.deepStrictEqual(yield* listedMessages(id), [])
    assert.isTrue(Option.isNone(yield* runs.waitingOn(id)))
    for (const { runId } of [ended, waiting]) {
      assert.isTrue(Option.isNone(yield* runs.get(runId)))
      assert.deepStrictEqual(yield* runs.messages(runId), [])
      assert.deepStrictEqual(yield* runs.read(runId, 0), [])
    }
    assert.isTrue(yield* settleTurn(other))
  })

  test("MUST answer false when there is no thread to delete", function* () {
    const store = yield* ThreadStore
    const { id } = yield* openThread
    assert.isTrue(yield* store.remove(id))
    assert.isFalse(yield* store.remove(id))
    assert.isFalse(yield* store.remove(yield* newId(ThreadId)))
  })

  test("MUST NOT delete another owner's thread", function* () {
    const store = yield* ThreadStore
    const thread = yield* openThread
    assert.isFalse(yield* asNewOwner(store.remove(thread.id)))
    assert.deepStrictEqual(Option.getOrThrow(yield* store.get(thread.id)), thread)
  })

  test("MUST end the lease of running runs when their thread is deleted", function* () {
    const [threads, runs] = [yield* ThreadStore, yield* RunStore]
    const { id } = yield* openThread
    const turn = yield* startTurn(id)
    const queued = yield* queueTurn(id)
    yield* threads.remove(id)
    assert.isFalse(yield* appendTo(turn.lease, [sampleEvent(2)]))
    assert.strictEqual(yield* settleTurn(turn), "deleted")
    assert.strictEqual(yield* settleTurn(queued, { status: "CANCELLED" }), "deleted")
    assert.isFalse(yield* runs.withdraw(queued.lease))
    assert.deepStrictEqual((yield* runs.renew([turn.lease, queued.lease], anHour)).lost, [turn.runId, queued.runId])
  })

  test("MUST merge top-level fields into a thread's metadata and leave the others", function* () {
    const store = yield* ThreadStore
    const thread = yield* openThread
    assert.isTrue(yield* store.mergeMetadata(thread.id, { kept: awkwardJson, changed: 1 }))
    assert.isTrue(yield* store.mergeMetadata(thread.id, { changed: { deep: [2] }, "": null }))
    assert.deepStrictEqual(yield* readMetadata(thread.id), { kept: awkwardJson, changed: { deep: [2] }, "": null })
    const { updatedAt } = Option.getOrThrow(yield* store.get(thread.id))
    assert.deepStrictEqual(updatedAt, thread.updatedAt)
  })

  test("MUST lose no field when several callers merge metadata at once", function* () {
    const store = yield* ThreadStore
    const { id } = yield* openThread
    const names = Array.from({ length: 10 }, (_, index) => `field${index}`)
    yield* Effect.forEach(names, (name) => store.mergeMetadata(id, { [name]: name }), { concurrency: "unbounded" })
    assert.deepStrictEqual(yield* readMetadata(id), Object.fromEntries(names.map((name) => [name, name])))
  })

  test("MUST lose no entry of a list to which several callers add at once", function* () {
    const store = yield* ThreadStore
    const { id } = yield* openThread
    yield* store.mergeMetadata(id, { other: 1 })
    const add = (name: number) =>
      store.mergeMetadata(id, ({ list }) => ({ list: [...(Array.isArray(list) ? list : []), name] }))
    yield* Effect.forEach([0, 1, 2, 3, 4, 5], add, { concurrency: "unbounded" })
    const { list, other } = (yield* readMetadata(id)) ?? {}
    assert.sameMembers(Array.isArray(list) ? [...list] : [], [0, 1, 2, 3, 4, 5])
    assert.strictEqual(other, 1)
  })

  test("MUST NOT merge into the metadata of another owner's thread, or of none", function* () {
    const store = yield* ThreadStore
    const { id } = yield* openThread
    assert.isFalse(yield* asNewOwner(store.mergeMetadata(id, { stolen: true })))
    assert.isNull(yield* readMetadata(id))
    assert.isFalse(yield* store.mergeMetadata(yield* newId(ThreadId), { lost: true }))
  })

  test("MUST set which assistant answers in a thread, and let its own answer again when that one is removed", function* () {
    const [assistants, runs, store] = [yield* AssistantStore, yield* RunStore, yield* ThreadStore]
    const thread = yield* openThread
    const other = yield* sampleAssistant()
    yield* assistants.insert(other)
    const expectAnswering = Effect.fnUntraced(function* (assistantId: AssistantId) {
      const found = Option.getOrThrow(yield* assistants.ofThread(thread.id))
      assert.strictEqual(found.assistant.id, assistantId)
      return found
    })
    const before = yield* expectAnswering(thread.assistantId)
    assert.isTrue(yield* store.handOver(thread.id, other.id))
    const handed = yield* expectAnswering(other.id)
    assert.deepStrictEqual(handed.thread, { ...thread, actingAssistantId: other.id })
    assert.notStrictEqual(handed.revision, before.revision)
    const { runId } = yield* startTurn(thread.id, { decidedOn: handed.revision })
    assert.strictEqual(Option.getOrThrow(yield* runs.get(runId)).assistantId, other.id)
    assert.isTrue(yield* store.handOver(thread.id, null))
    assert.isUndefined((yield* expectAnswering(thread.assistantId)).thread.actingAssistantId)
    assert.isTrue(yield* store.handOver(thread.id, other.id))
    assert.isTrue(yield* assistants.remove(other.id))
    const { thread: after } = yield* expectAnswering(thread.assistantId)
    assert.isUndefined(after.actingAssistantId)
    const theirs = yield* asNewOwner(openThread)
    assert.isFalse(yield* store.handOver(thread.id, theirs.assistantId))
    assert.isTrue(yield* store.handOver(thread.id, thread.assistantId))
    for (const unknown of [yield* newId(AssistantId), AssistantId.make("no such form of an id")]) {
      assert.isFalse(yield* store.handOver(thread.id, unknown))
    }
    const { actingAssistantId } = Option.getOrThrow(yield* store.get(thread.id))
    assert.strictEqual(actingAssistantId, thread.assistantId)
    assert.isFalse(yield* store.handOver(theirs.id, null))
  })

  test("MUST set which version of its assistant answers in a thread, and leave the rest of it", function* () {
    const [assistants, store] = [yield* AssistantStore, yield* ThreadStore]
    const thread = yield* openThread
    const pinned = yield* insertThread(thread.assistantId, { assistantVersion: 3 })
    assert.deepStrictEqual(Option.getOrThrow(yield* store.get(pinned.id)), pinned)
    for (const assistantVersion of [2, 1, null]) {
      assert.isTrue(yield* store.pin(thread.id, assistantVersion))
      assert.deepStrictEqual(Option.getOrThrow(yield* store.get(thread.id)), { ...thread, assistantVersion })
      const found = Option.getOrThrow(yield* assistants.ofThread(thread.id))
      assert.strictEqual(found.thread.assistantVersion, assistantVersion)
    }
    assert.isFalse(yield* asNewOwner(store.pin(thread.id, 1)))
    assert.isFalse(yield* store.pin(yield* newId(ThreadId), 1))
  })

  test("MUST keep the summary that covers most messages, in any order of arrival, and change nothing else of the thread", function* () {
    const store = yield* ThreadStore
    const thread = yield* openThread
    const reaching = (throughSequence: number) => ({
      text: `through ${throughSequence} \0\ud800`,
      throughSequence,
      tokens: 5
    })
    assert.isTrue(yield* store.setSummary(thread.id, reaching(4)))
    assert.isFalse(yield* store.setSummary(thread.id, { ...reaching(4), text: "another" }))
    assert.isFalse(yield* store.setSummary(thread.id, reaching(2)))
    assert.deepStrictEqual(yield* readSummary(thread.id), reaching(4))
    const some = [9, 12, 7, 10]
    yield* Effect.forEach(some, (sequence) => store.setSummary(thread.id, reaching(sequence)), {
      concurrency: "unbounded"
    })
    assert.deepStrictEqual(yield* readSummary(thread.id), reaching(12))
    assert.deepStrictEqual(Option.getOrThrow(yield* store.get(thread.id)), thread)
  })

  test("MUST NOT keep a summary for another owner's thread, or for none", function* () {
    const store = yield* ThreadStore
    const { id } = yield* openThread
    const summary = { text: "stolen", throughSequence: 3, tokens: 1 }
    assert.isFalse(yield* asNewOwner(store.setSummary(id, summary)))
    assert.isNull(yield* readSummary(id))
    assert.isFalse(yield* store.setSummary(yield* newId(ThreadId), summary))
  })
}

const readSummary = Effect.fnUntraced(function* (id: ThreadId) {
  return Option.getOrThrow(yield* (yield* AssistantStore).ofThread(id)).summary
})

const readMetadata = Effect.fnUntraced(function* (id: ThreadId) {
  return Option.getOrThrow(yield* (yield* ThreadStore).get(id)).metadata
})

const everyField: Omit<NewMessage, "id" | "threadId" | "runId"> = {
  role: "assistant",
  content: longText,
  status: "FAILED",
  fault: { code: "model_timeout", message: 'It "stopped",\n👩‍👩‍👧‍👦', retryable: true },
  stopReason: "length",
  toolCalls: [{ id: "call_1", name: "look_up", arguments: '{ "not": "parsed",  "twice": 1, "twice": 2 ' }],
  toolResults: [{ toolCallId: "call_1", toolName: "look_up", output: "👩‍👩‍👧‍👦\n", hosted: false }],
  steps: [
    {
      text: "First\n",
      toolCalls: [{ id: "call_0", name: "search", arguments: "{}" }],
      hostedResults: [{ toolCallId: "call_0", toolName: "search", output: "", hosted: true }],
      providerData: { provider: "a-provider", data: awkwardJson }
    },
    { text: "", toolCalls: [], hostedResults: [], providerData: null }
  ],
  provider: "a-provider",
  model: "a-model",
  assistant: { id: AssistantId.make("0199a5a0-0000-7000-8000-00000000000a"), version: 2_147_483_647 },
  usage: {
    inputTokens: 2_000_000_000,
    outputTokens: 1,
    cachedInputTokens: 2,
    cacheWriteTokens: 3,
    reasoningTokens: 4,
    costUsd: 0.000_012_345_678,
    estimated: true
  },
  supplements: { documents: [awkwardJson], memory: null },
  metadata: awkwardJson,
  tokens: 1_234_567,
  createdAt: new Date("2026-01-31T23:59:59.999Z")
}

const insertThread = Effect.fnUntraced(function* (assistantId: AssistantId, fields: Partial<Thread>) {
  const thread = yield* sampleThread(assistantId, fields)
  assert.isTrue(yield* (yield* ThreadStore).insert(thread))
  return thread
})
