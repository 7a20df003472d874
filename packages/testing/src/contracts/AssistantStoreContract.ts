/** The contract of `AssistantStore`: the comments of the port. */
import { type Assistant, AssistantId, Principal, ThreadId } from "@colloquy/core"
import { AssistantStore, firstPage, newId, RunStore, ThreadStore } from "@colloquy/core/adapters"
import { assert } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import type { ContractTest } from "./ContractTest.ts"
import { asNewOwner, awkwardJson, longText, moment, sampleAssistant, sampleEvent } from "./Samples.ts"
import {
  appendTo,
  changeAssistant,
  openThread,
  openNewThread,
  queueTurn,
  settleTurn,
  startTurn,
  waitingTurn
} from "./Scenes.ts"

export const assistantStoreContract = (test: ContractTest): void => {
  test("MUST give back what was inserted, equal in every field", function* () {
    const store = yield* AssistantStore
    const rich = yield* sampleAssistant(everyField)
    const plain = yield* sampleAssistant()
    yield* store.insert(rich)
    yield* store.insert(plain)
    assert.deepStrictEqual(Option.getOrThrow(yield* store.get(rich.id)), rich)
    assert.deepStrictEqual(Option.getOrThrow(yield* store.get(plain.id)), plain)
  })

  test("MUST keep no tools and an empty list of tools apart", function* () {
    const store = yield* AssistantStore
    const empty = yield* insertAssistant({ tools: [], metadata: {} })
    const none = yield* insertAssistant({ tools: null, metadata: null })
    assert.deepStrictEqual(Option.getOrThrow(yield* store.get(empty.id)), empty)
    assert.deepStrictEqual(Option.getOrThrow(yield* store.get(none.id)), none)
  })

  test("MUST answer none both for an unknown id and for another owner's id", function* () {
    const store = yield* AssistantStore
    const { id } = yield* asNewOwner(insertAssistant())
    assert.deepStrictEqual(yield* store.get(id), yield* store.get(yield* newId(AssistantId)))
    assert.isTrue(Option.isNone(yield* store.get(id)))
  })

  test("MUST find a thread and its assistant in one look-up", function* () {
    const assistant = yield* insertAssistant(everyField)
    yield* insertAssistant()
    const thread = yield* openNewThread(assistant.id)
    const { revision, ...found } = Option.getOrThrow(yield* (yield* AssistantStore).ofThread(thread.id))
    assert.deepStrictEqual(found, { assistant, thread, summary: null, hasDocuments: false })
    assert.isNotEmpty(revision)
  })

  test("MUST NOT find the assistant of an unknown thread or of another owner's thread", function* () {
    const store = yield* AssistantStore
    const thread = yield* asNewOwner(openThread)
    assert.isTrue(Option.isNone(yield* store.ofThread(thread.id)))
    assert.isTrue(Option.isNone(yield* store.ofThread(yield* newId(ThreadId))))
  })

  test("MUST list the oldest first, independent of the order of insertion", function* () {
    const middle = yield* insertAssistant({ createdAt: moment(2) })
    const newest = yield* insertAssistant({ createdAt: moment(3) })
    const oldest = yield* insertAssistant({ createdAt: moment(1) })
    assert.deepStrictEqual(yield* (yield* AssistantStore).list(firstPage), [oldest, middle, newest])
  })

  test("MUST list every assistant once when pages follow each other, also those with the same time", function* () {
    const store = yield* AssistantStore
    const all = yield* Effect.all(Array.from({ length: 7 }, () => insertAssistant()))
    const pages = yield* Effect.forEach([0, 2, 4, 6, 8], (skip) => store.list({ skip, limit: 2 }))
    assert.deepStrictEqual(
      pages.map((page) => page.length),
      [2, 2, 2, 1, 0]
    )
    assert.sameMembers(
      pages.flat().map(({ id }) => id),
      all.map(({ id }) => id)
    )
    assert.deepStrictEqual(pages.flat(), yield* store.list(firstPage))
  })

  test("MUST list those with exactly this name when a name is given", function* () {
    const store = yield* AssistantStore
    const names = ["Ada", "ada", "Ada ", "Ada Lovelace", "%", "A_a", "Ada"]
    yield* Effect.forEach(names, (name, second) => insertAssistant({ name, createdAt: moment(second) }))
    const named = (name: string) =>
      Effect.map(store.list(firstPage, name), (found) => found.map(({ createdAt }) => names[createdAt.getUTCSeconds()]))
    assert.deepStrictEqual(yield* named("Ada"), ["Ada", "Ada"])
    assert.deepStrictEqual(yield* named("%"), ["%"])
    assert.deepStrictEqual(yield* named("A_a"), ["A_a"])
    assert.deepStrictEqual(yield* named("Nobody"), [])
    assert.strictEqual((yield* store.list({ skip: 1, limit: 5 }, "Ada")).length, 1)
  })

  test("MUST NOT list another owner's assistants", function* () {
    const store = yield* AssistantStore
    yield* asNewOwner(insertAssistant({ name: "Theirs" }))
    const mine = yield* insertAssistant()
    assert.deepStrictEqual(yield* store.list(firstPage), [mine])
    assert.deepStrictEqual(yield* store.list(firstPage, "Theirs"), [])
  })

  test("MUST store a change as the next version, and keep every version before as it was", function* () {
    const store = yield* AssistantStore
    const principal = yield* Principal
    const first = yield* insertAssistant({ ...everyField, updatedAt: moment(0) })
    const second: Assistant = {
      ...first,
      name: "New name",
      systemPrompt: null,
      tools: [],
      metadata: { changed: true },
      modelOptions: null,
      helpers: [],
      version: 2,
      updatedAt: moment(8)
    }
    const third: Assistant = { ...second, searchLimit: 7, version: 3, updatedAt: moment(9) }
    const changes = ["name", "systemPrompt", "tools", "modelOptions", "metadata", "helpers"] as const
    assert.strictEqual(yield* store.update({ before: first, after: second, changes }), "stored")
    const another = Effect.provideService(Principal, { ...principal, keyName: "a key 🔑" })
    const last = another(store.update({ before: second, after: third, changes: ["searchLimit"] }))
    assert.strictEqual(yield* last, "stored")

    assert.deepStrictEqual(Option.getOrThrow(yield* store.get(first.id)), third)
    const told = [
      { version: 3, createdAt: moment(9), by: "a key 🔑", changes: ["searchLimit"] as const },
      { version: 2, createdAt: moment(8), by: principal.ownerId, changes },
      { version: 1, createdAt: moment(0), by: principal.ownerId, changes: [] }
    ]
    assert.deepStrictEqual(yield* store.versions(first.id, { limit: 9 }), told)
    assert.deepStrictEqual(yield* store.versions(first.id, { limit: 1 }), told.slice(0, 1))
    assert.deepStrictEqual(yield* store.versions(first.id, { limit: 1, before: 3 }), told.slice(1, 2))
    assert.deepStrictEqual(yield* store.versions(first.id, { limit: 1, before: 1 }), [])
    // More than any store may count in 32 bits.
    assert.deepStrictEqual(yield* store.versions(first.id, { limit: 9, before: 2 ** 31 }), told)
    for (const none of [0, -1, 1.5, 2 ** 31, Number.NaN, Number.POSITIVE_INFINITY]) {
      assert.isTrue(Option.isNone(yield* store.version(first.id, none)), String(none))
    }
    for (const [index, assistant] of [third, second, first].entries()) {
      const found = Option.getOrThrow(yield* store.version(first.id, assistant.version))
      assert.deepStrictEqual<unknown>(found, { ...told[index], assistant })
    }
    assert.isTrue(Option.isNone(yield* store.version(first.id, 4)))
  })

  test("MUST let one of several changes of the same version succeed, and change nothing by the others", function* () {
    const store = yield* AssistantStore
    const { id } = yield* insertAssistant()
    const attempts = Array.from({ length: 5 }, (_, index) => changeAssistant(id, { name: `name ${index}` }))
    const before = Option.getOrThrow(yield* store.get(id))
    const stale = { before, after: { ...before, name: "stale", version: 2 }, changes: ["name"] as const }
    const stored = yield* Effect.all(
      attempts.map(() => store.update(stale)),
      { concurrency: "unbounded" }
    )
    assert.deepStrictEqual(
      stored.filter((outcome) => outcome !== "changed"),
      ["stored"]
    )
    yield* Effect.all(attempts)
    assert.strictEqual(yield* store.update(stale), "changed")
    const numbers = (yield* store.versions(id, { limit: 9 })).map(({ version }) => version)
    assert.deepStrictEqual(numbers, [7, 6, 5, 4, 3, 2, 1])
  })

  test("MUST keep the answer for a key in the same step as the change, and store nothing for a key that was used", function* () {
    const [store, runs] = [yield* AssistantStore, yield* RunStore]
    const first = yield* insertAssistant()
    const once = { key: "a key 🔑", fingerprint: "f", answer: awkwardJson }
    const second = { ...first, name: "Second", version: 2 }
    const kept = Effect.map(runs.findAnswered(once.key), Option.getOrUndefined)
    const changes = ["name"] as const
    const stale = { ...second, version: 9 }
    assert.strictEqual(yield* store.update({ before: stale, after: second, changes, once }), "changed")
    assert.isUndefined(yield* kept)
    const attempts = Array.from({ length: 5 }, () => store.update({ before: first, after: second, changes, once }))
    const outcomes = yield* Effect.all(attempts, { concurrency: "unbounded" })
    assert.deepStrictEqual(
      outcomes.filter((outcome) => outcome !== "changed"),
      ["stored"]
    )
    const found = yield* kept
    assert.deepStrictEqual([found?.fingerprint, found?.answer], ["f", awkwardJson])
    const third = { ...second, name: "Third", version: 3 }
    assert.strictEqual(yield* store.update({ before: second, after: third, changes, once }), "repeated")
    assert.deepStrictEqual(Option.getOrThrow(yield* store.get(first.id)), second)

    const nothing = { before: second, after: second, changes: [], once: { ...once, key: "another" } }
    assert.strictEqual(yield* store.update(nothing), "stored")
    assert.strictEqual(yield* store.update(nothing), "repeated")
    const numbers = (yield* store.versions(first.id, { limit: 9 })).map(({ version }) => version)
    assert.deepStrictEqual(numbers, [2, 1])
  })

  test("MUST NOT change, nor tell versions of, an assistant that is unknown or another owner's", function* () {
    const store = yield* AssistantStore
    const mine = yield* insertAssistant()
    const unknown = yield* sampleAssistant()
    for (const before of [mine, unknown]) {
      const after = { ...before, name: "Taken over", version: 2 }
      assert.strictEqual(yield* asNewOwner(store.update({ before, after, changes: ["name"] })), "changed")
      assert.deepStrictEqual(yield* asNewOwner(store.versions(before.id, { limit: 9 })), [])
      assert.isTrue(Option.isNone(yield* asNewOwner(store.version(before.id, 1))))
    }
    assert.deepStrictEqual(Option.getOrThrow(yield* store.get(mine.id)), mine)
  })

  test("MUST NOT find, list, change or delete a draft before it is published", function* () {
    const store = yield* AssistantStore
    const draft = yield* sampleAssistant(everyField)
    yield* store.insertDraft(draft)
    assert.isTrue(Option.isNone(yield* store.get(draft.id)))
    assert.deepStrictEqual(yield* store.list(firstPage), [])
    const early = { before: draft, after: { ...draft, name: "Early", version: 2 }, changes: ["name"] as const }
    assert.strictEqual(yield* store.update(early), "changed")
    assert.deepStrictEqual(yield* store.versions(draft.id, { limit: 9 }), [])
    assert.isTrue(Option.isNone(yield* store.version(draft.id, 1)))
    assert.isFalse(yield* store.remove(draft.id))
    const thread = yield* openNewThread(draft.id)
    assert.isTrue(Option.isNone(yield* store.ofThread(thread.id)))
    assert.isFalse(yield* asNewOwner(store.publish(draft.id)))
    assert.isTrue(yield* store.publish(draft.id))
    assert.isFalse(yield* store.publish(draft.id))
    assert.deepStrictEqual(yield* store.list(firstPage), [draft])
    assert.deepStrictEqual(Option.getOrThrow(yield* store.get(draft.id)), draft)
    assert.deepStrictEqual(Option.getOrThrow(yield* store.ofThread(thread.id)).assistant, draft)
    assert.isTrue(yield* store.remove(draft.id))
  })

  test("MUST discard only drafts of the same owner", function* () {
    const store = yield* AssistantStore
    const draft = yield* sampleAssistant()
    yield* store.insertDraft(draft)
    assert.isFalse(yield* asNewOwner(store.discard(draft.id)))
    assert.isTrue(yield* store.discard(draft.id))
    assert.isFalse(yield* store.discard(draft.id))
    assert.isFalse(yield* store.publish(draft.id))
    const whole = yield* insertAssistant()
    assert.isFalse(yield* store.discard(whole.id))
    assert.deepStrictEqual(yield* store.list(firstPage), [whole])
  })

  test("MUST delete an assistant with all its versions, threads, messages, runs and logs, and nothing else", function* () {
    const [assistants, threads, runs] = [yield* AssistantStore, yield* ThreadStore, yield* RunStore]
    const gone = yield* insertAssistant()
    assert.isTrue(yield* changeAssistant(gone.id, { name: "Second" }))
    const kept = yield* openThread
    const [ended, waiting] = [yield* openNewThread(gone.id), yield* openNewThread(gone.id)]
    const first = yield* startTurn(ended.id)
    yield* settleTurn(first)
    const second = yield* waitingTurn(waiting.id)
    const other = yield* startTurn(kept.id)

    assert.isTrue(yield* assistants.remove(gone.id))

    assert.isTrue(Option.isNone(yield* assistants.get(gone.id)))
    assert.isTrue(Option.isNone(yield* assistants.version(gone.id, 1)))
    assert.deepStrictEqual(yield* assistants.versions(gone.id, { limit: 9 }), [])
    assert.isTrue(Option.isNone(yield* assistants.ofThread(ended.id)))
    assert.deepStrictEqual(
      (yield* threads.list(firstPage)).map((thread) => thread.id),
      [kept.id]
    )
    assert.deepStrictEqual(yield* threads.messages([ended.id, waiting.id]), [])
    for (const { runId } of [first, second]) {
      assert.isTrue(Option.isNone(yield* runs.get(runId)))
      assert.deepStrictEqual(yield* runs.messages(runId), [])
      assert.deepStrictEqual(yield* runs.read(runId, 0), [])
    }
    assert.isTrue(yield* settleTurn(other))
  })

  test("MUST answer false when there is no assistant to delete", function* () {
    const store = yield* AssistantStore
    const { id } = yield* insertAssistant()
    assert.isTrue(yield* store.remove(id))
    assert.isFalse(yield* store.remove(id))
    assert.isFalse(yield* store.remove(yield* newId(AssistantId)))
  })

  test("MUST NOT delete another owner's assistant, nor its threads", function* () {
    const assistants = yield* AssistantStore
    const thread = yield* openThread
    const turn = yield* startTurn(thread.id)
    assert.isFalse(yield* asNewOwner(assistants.remove(thread.assistantId)))
    assert.isTrue(Option.isSome(yield* assistants.ofThread(thread.id)))
    assert.isTrue(yield* settleTurn(turn))
  })

  test("MUST end the lease of running runs when their assistant is deleted", function* () {
    const [assistants, runs] = [yield* AssistantStore, yield* RunStore]
    const thread = yield* openThread
    const turn = yield* startTurn(thread.id)
    const queued = yield* queueTurn(thread.id)
    yield* assistants.remove(thread.assistantId)
    assert.isFalse(yield* appendTo(turn.lease, [sampleEvent(2)]))
    assert.strictEqual(yield* settleTurn(turn), "deleted")
    assert.isFalse(yield* runs.withdraw(queued.lease))
  })
}

const everyField: Partial<Assistant> = {
  name: "Ünïcode 🤖",
  description: "",
  systemPrompt: longText,
  provider: "a-provider",
  model: "a-model/with:parts",
  tools: [
    { name: "look_up", description: "Looks things up", parameters: awkwardJson, strict: true },
    { name: "no_parameters", description: null, parameters: null }
  ],
  modelOptions: { temperature: 0.1, topP: 1, stop: ["\n\u0000", "👩‍👩‍👧"], toolChoice: { name: "look_up" }, maxSteps: 64 },
  searchLimit: 100,
  embedding: { provider: "an-embedder", model: "small", dimensions: 3072 },
  factExtractionPrompt: "Facts:\n",
  memoryUpdatePrompt: "Memories:\n",
  metadata: awkwardJson,
  helpers: [{ assistantId: AssistantId.make("0199a5a0-0000-7000-8000-00000000000b"), name: "a", description: "👩‍👩‍👧" }],
  handoffs: [{ assistantId: AssistantId.make("0199a5a0-0000-7000-8000-00000000000c"), name: "b", description: "" }],
  createdAt: new Date("2026-01-31T23:59:59.999Z"),
  updatedAt: new Date("1999-12-31T00:00:00.001Z")
}

const insertAssistant = Effect.fnUntraced(function* (fields: Partial<Assistant> = {}) {
  const assistant = yield* sampleAssistant(fields)
  yield* (yield* AssistantStore).insert(assistant)
  return assistant
})
