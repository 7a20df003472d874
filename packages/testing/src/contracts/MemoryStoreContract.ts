/**
 * The contract of `MemoryStore`. Run it with `memoryStoreSuite("my store", MyStore.layer, …)`. Assistants come from the other stores of the
 * same adapter, because their removal removes memories.
 */
import { AssistantId, MessageId, RunId, ThreadId } from "@colloquy/core"
import { AssistantStore, newId, QuotaStore, RunStore, ThreadStore } from "@colloquy/core/adapters"
import { prepareTurns, termsByLanguage } from "@colloquy/core/retrieval"
import {
  type IndexedMemory,
  type LearnedRun,
  type MemoryChange,
  MemoryId,
  type MemoryRecord,
  type MemorySource,
  MemoryStore,
  mostConfirmations,
  type SessionPosition
} from "@colloquy/core/wings"
import { assert } from "@effect/vitest"
import * as Effect from "effect/Effect"
import type * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import { storeSuite, type Stores } from "./ContractTest.ts"
import { asNewOwner, awkwardJson, longText, moment, sampleAssistant } from "./Samples.ts"
import { openThread, refusedWhileErasing, settleTurn, startTurn, storedMessages } from "./Scenes.ts"

type Needed = MemoryStore | Stores

/** What every store of memories must do. */
export const memoryStoreSuite = (
  name: string,
  stores: Layer.Layer<Needed, unknown>,
  { keepsVectors }: { readonly keepsVectors: boolean }
): void =>
  storeSuite(name, stores, (test) => {
    test("MUST name the kept thread as the source of what was learned from messages that a rewind took back, or none", function* () {
      for (const keeps of [true, false]) {
        const { found, moved } = yield* sourcesAfterRewind(keeps)
        assert.deepStrictEqual(found, moved)
      }
    })

    test("MUST give back what was added, equal in every field, oldest first and in pages", function* () {
      const store = yield* MemoryStore
      const assistantId = yield* openAssistant
      const rich = yield* sampleMemory(assistantId, {
        content: `Ünïcode 🏳️‍🌈 'quoted' \u2028 \0 \ud800 ${longText.slice(0, 3000)}`,
        metadata: awkwardJson,
        source: {
          threadId: yield* newId(ThreadId),
          runId: yield* newId(RunId),
          messageIds: [yield* newId(MessageId), MessageId.make("strange \0")]
        },
        validFrom: new Date("2026-01-31T23:59:59.999Z"),
        validUntil: moment(9),
        saidAt: new Date("1999-12-31T23:59:59.999Z"),
        session: "strange \0 \ud800 'session'",
        speaker: "\u2028 Ada",
        createdAt: moment(5),
        updatedAt: moment(6)
      })
      const plain = (second: number, content: string) =>
        sampleMemory(assistantId, { content, createdAt: moment(second), metadata: {} })
      const late = yield* plain(3, "late")
      const first = yield* plain(1, "first")
      const second = yield* plain(1, "second")
      const others = [late, first, second]
      const outcomes = yield* apply(
        assistantId,
        [rich, ...others].map((memory) => toAdd(memory))
      )
      assert.deepStrictEqual(
        outcomes,
        [rich, ...others].map(({ id }) => ({ event: "Added", id }))
      )
      assert.deepStrictEqual(Option.getOrThrow(yield* store.get(assistantId, rich.id)), rich)
      const inOrder = [first, second, late, rich]
      assert.deepStrictEqual(yield* store.list(assistantId, null), { memories: inOrder, total: 4 })
      const page = yield* store.list(assistantId, { skip: 1, limit: 2 })
      assert.deepStrictEqual(page, { memories: inOrder.slice(1, 3), total: 4 })
      assert.deepStrictEqual(yield* store.list(assistantId, { skip: 9, limit: 2 }), { memories: [], total: 4 })
      assert.deepStrictEqual(yield* store.survey(assistantId), { total: 4, lastUpdated: moment(6) })
      assert.deepStrictEqual(yield* store.history(assistantId, rich.id), [])
    })

    test("MUST count the principal's memories in the quota, with all assistants", function* () {
      const quotas = yield* QuotaStore
      const [here, there] = [yield* openAssistant, yield* openAssistant]
      const gone = yield* sampleMemory(here, { content: "gone" })
      yield* apply(here, [toAdd(yield* sampleMemory(here, { content: "one" })), toAdd(gone)])
      yield* apply(there, [toAdd(yield* sampleMemory(there, { content: "two" }))])
      yield* apply(here, [{ _tag: "Delete", id: gone.id }])
      assert.strictEqual(yield* quotas.memories, 2)
      assert.strictEqual(yield* asNewOwner(quotas.memories), 0)
    })

    test("MUST tell which of some memories the principal has, whichever assistant remembers them", function* () {
      const store = yield* MemoryStore
      const [here, there] = [yield* openAssistant, yield* openAssistant]
      const [kept, other, gone] = [
        yield* sampleMemory(here, { content: "kept" }),
        yield* sampleMemory(there, { content: "other" }),
        yield* sampleMemory(here, { content: "gone" })
      ]
      yield* apply(here, [toAdd(kept), toAdd(gone), { _tag: "Delete", id: gone.id }])
      yield* apply(there, [toAdd(other)])
      const theirs = yield* asNewOwner(
        Effect.gen(function* () {
          const assistantId = yield* openAssistant
          const memory = yield* sampleMemory(assistantId, { content: "theirs" })
          yield* apply(assistantId, [toAdd(memory)])
          return memory.id
        })
      )
      const asked = [gone.id, kept.id, theirs, other.id, kept.id, MemoryId.make("no memory")]
      assert.sameMembers([...(yield* store.existing(asked))], [kept.id, other.id])
      assert.deepStrictEqual(yield* store.existing([]), [])
    })

    test("MUST refuse memories while everything of the principal is being erased", function* () {
      const assistantId = yield* openAssistant
      const known = yield* sampleMemory(assistantId, { content: "known" })
      const memory = yield* sampleMemory(assistantId, { content: "new" })
      yield* apply(assistantId, [toAdd(known)])
      yield* refusedWhileErasing(
        apply(assistantId, [toAdd(memory)]),
        apply(assistantId, [toUpdate({ ...known, content: "changed" })]),
        (yield* MemoryStore).copyAll(assistantId, yield* openAssistant)
      )
      const { memories } = yield* (yield* MemoryStore).list(assistantId, null)
      assert.sameDeepMembers([...memories], [known, memory])
    })

    test("MUST keep one memory for texts that differ only in case, punctuation and spaces", function* () {
      const store = yield* MemoryStore
      const assistantId = yield* openAssistant
      const first = yield* sampleMemory(assistantId, { content: "The user prefers Vim." })
      const copy = yield* sampleMemory(assistantId, { content: "the USER  prefers vim" })
      const other = yield* sampleMemory(assistantId, { content: "The user prefers Vi." })
      const outcomes = yield* apply(assistantId, [toAdd(first), toAdd(copy), toAdd(other)])
      assert.deepStrictEqual(outcomes, [
        { event: "Added", id: first.id },
        { event: "Known", id: first.id },
        { event: "Added", id: other.id }
      ])
      const same = toUpdate({ ...other, content: "The user PREFERS vim!" })
      assert.deepStrictEqual(yield* apply(assistantId, [same]), [{ event: "Known", id: first.id }])
      assert.deepStrictEqual(yield* store.list(assistantId, null), { memories: [first, other], total: 2 })
      const otherAssistant = yield* openAssistant
      const theirs = yield* sampleMemory(otherAssistant, { content: copy.content })
      assert.deepStrictEqual(yield* apply(otherAssistant, [toAdd(theirs)]), [{ event: "Added", id: theirs.id }])
      // A memory is no copy of itself.
      const changed = { ...first, content: copy.content, metadata: { editor: true } }
      assert.deepStrictEqual(yield* apply(assistantId, [toUpdate(changed)]), [{ event: "Updated", id: first.id }])
      const after = Option.getOrThrow(yield* store.get(assistantId, first.id))
      assert.deepStrictEqual([after.content, after.metadata], [changed.content, changed.metadata])
    })

    test("MUST return the memories beside a position of a session, in the order of speaking and then of storing, each once", function* () {
      const store = yield* MemoryStore
      const assistantId = yield* openAssistant
      const letters = ["a", "b", "c", "d", "e", "f"]
      const said = yield* addSession(assistantId, "s", letters)
      yield* addSession(assistantId, "other", ["x", "y", "z"])
      const source = yield* sampleSource
      yield* apply(assistantId, [
        toAdd(yield* sampleMemory(assistantId, { content: "learned", session: "s", saidAt: moment(2), source }))
      ])
      const contents = Effect.fnUntraced(function* (positions: ReadonlyArray<SessionPosition>, reach: number) {
        return (yield* store.beside(assistantId, positions, reach)).map(({ content }) => content).join("")
      })
      const beside = (session: string, second: number, id: MemoryId | null, reach: number) =>
        contents([{ session, at: moment(second), id }], reach)
      assert.strictEqual(yield* beside("s", 2, null, 2), "bcde")
      assert.strictEqual(yield* beside("s", 99, null, 2), "ef")
      assert.strictEqual(yield* beside("s", 3, said[3]?.id ?? null, 1), "de")
      assert.strictEqual(yield* beside("nobody", 2, null, 2), "")
      const positions = [0, 1, 5].map((second) => ({ session: "s", at: moment(second), id: null }))
      assert.strictEqual(yield* contents(positions, 1), "abcf")
      // Said at one moment: the order of storing counts, and a new one comes last.
      const [first] = yield* addSession(assistantId, "at once", ["g", "h", "i"], () => null)
      assert.strictEqual(yield* beside("at once", 0, null, 2), "hi")
      assert.strictEqual(yield* beside("at once", 0, first?.id ?? null, 1), "gh")
      assert.strictEqual(yield* asNewOwner(beside("s", 2, null, 2)), "")
    })

    test("MUST replace the terms of the memories beside, where their content is as it was, and leave their vectors", function* () {
      const store = yield* MemoryStore
      const assistantId = yield* openAssistant
      const [kept, changed] = [
        yield* sampleMemory(assistantId, { content: "Three of them." }),
        yield* sampleMemory(assistantId, { content: "Changed meanwhile." })
      ]
      yield* apply(assistantId, [toAdd(kept, 1), toAdd(changed)])
      const indexed = indexedAs({ ...kept, content: "kittens" })
      const beside = [
        { id: kept.id, content: kept.content, indexed },
        { id: changed.id, content: "As it was.", indexed },
        { id: yield* newId(MemoryId), content: "gone", indexed }
      ]
      yield* store.apply({ assistantId, changes: [], beside, learned: null, at: moment(50) })
      assert.deepStrictEqual(yield* find(assistantId, "kittens"), [kept.content])
      assert.deepStrictEqual(yield* find(assistantId, "three"), [])
      assert.deepStrictEqual(yield* find(assistantId, "changed"), [changed.content])
      assert.deepStrictEqual((yield* store.list(assistantId, null)).memories, [kept, changed])
      const missing = yield* store.withoutVectors(assistantId, model, 10)
      assert.deepStrictEqual(missing, keepsVectors ? [changed] : [])
    })

    test("MUST store the newest turns that confirmed a memory, each once", function* () {
      const store = yield* MemoryStore
      const assistantId = yield* openAssistant
      const sources = yield* Effect.forEach(Array.from({ length: mostConfirmations + 3 }), () => sampleSource)
      const said = Effect.fnUntraced(function* (source: MemorySource, content: string) {
        const memory = yield* sampleMemory(assistantId, { content, source, metadata: { from: "a copy" } })
        const learned = { runId: source.runId, orderedAt: moment(1) }
        return yield* apply(assistantId, [toAdd(memory), toAdd(memory)], learned)
      })
      const [first, ...others] = sources
      const [added] = yield* said(first ?? (yield* sampleSource), "The user prefers Vim.")
      const id = added?.id ?? MemoryId.make("none")
      const before = Option.getOrThrow(yield* store.get(assistantId, id))
      assert.deepStrictEqual([before.source, before.confirmedBy], [first, []])
      for (const source of others) {
        const known = { event: "Known", id } as const
        assert.deepStrictEqual(yield* said(source, "the user prefers VIM"), [known, known])
      }
      const after = Option.getOrThrow(yield* store.get(assistantId, id))
      assert.deepStrictEqual(after, { ...before, confirmedBy: others.slice(-mostConfirmations) })
      assert.deepStrictEqual(yield* store.history(assistantId, id), [])
      yield* apply(assistantId, [toAdd({ ...before, id: yield* newId(MemoryId), source: yield* sampleSource })])
      assert.deepStrictEqual(Option.getOrThrow(yield* store.get(assistantId, id)), after)
      const copyIn = yield* openAssistant
      yield* store.copyAll(assistantId, copyIn)
      const [copy] = (yield* store.list(copyIn, null)).memories
      assert.deepStrictEqual(copy?.confirmedBy, after.confirmedBy)
      yield* apply(assistantId, [toUpdate({ ...after, content: "The user prefers Emacs.", confirmedBy: [] })])
      assert.deepStrictEqual(Option.getOrThrow(yield* store.get(assistantId, id)).confirmedBy, [])
      assert.deepStrictEqual((yield* store.history(assistantId, id))[0]?.confirmedBy, after.confirmedBy)
    })

    test("MUST merge two memories when a run changes one to the text of the other", function* () {
      const store = yield* MemoryStore
      const assistantId = yield* openAssistant
      const oslo = yield* sampleMemory(assistantId, { content: "The user lives in Oslo." })
      const rome = { ...oslo, content: "The user lives in Rome.", updatedAt: moment(2) }
      const bergen = yield* sampleMemory(assistantId, { content: "The user lives in Bergen." })
      yield* apply(assistantId, [toAdd(oslo), toUpdate(rome), toAdd(bergen)])
      const source = yield* sampleSource
      const change = toUpdate({ ...rome, content: "the user lives in BERGEN", source })
      const learned = { runId: source.runId, orderedAt: moment(1) }
      assert.deepStrictEqual(yield* apply(assistantId, [change, change], learned), [
        { event: "Merged", id: oslo.id },
        { event: "Gone", id: oslo.id }
      ])
      const left = { ...bergen, confirmedBy: [source] }
      assert.deepStrictEqual(yield* store.list(assistantId, null), { memories: [left], total: 1 })
      assert.deepStrictEqual(
        (yield* store.history(assistantId, bergen.id)).map(({ content }) => content),
        [rome.content, oslo.content]
      )
      assert.deepStrictEqual(yield* find(assistantId, "Oslo Rome Bergen"), [bergen.content])
      yield* apply(assistantId, [{ _tag: "Delete", id: bergen.id }])
      assert.deepStrictEqual(yield* store.history(assistantId, bergen.id), [])
      assert.deepStrictEqual(yield* find(assistantId, "Oslo Rome Bergen"), [])
    })

    test("MUST keep the versions of merged memories in the order in which they were replaced, newest first", function* () {
      const store = yield* MemoryStore
      const assistantId = yield* openAssistant
      const kept = yield* sampleMemory(assistantId, { content: "kept one" })
      const merged = yield* sampleMemory(assistantId, { content: "merged one" })
      const write = (changes: ReadonlyArray<MemoryChange>, second: number, learned: LearnedRun | null = null) =>
        store.apply({ assistantId, changes, beside: [], learned, at: moment(second) })
      yield* apply(assistantId, [toAdd(kept), toAdd(merged)])
      yield* write([toUpdate({ ...merged, content: "merged two" })], 10)
      yield* write([toUpdate({ ...kept, content: "kept two" })], 20)
      const source = yield* sampleSource
      const learned = { runId: source.runId, orderedAt: moment(1) }
      yield* write([toUpdate({ ...merged, content: "kept two", source })], 30, learned)
      assert.deepStrictEqual(
        (yield* store.history(assistantId, kept.id)).map(({ content }) => content),
        ["merged two", "kept one", "merged one"]
      )
    })

    test("MUST give an updated memory the confirmations of its new state", function* () {
      const store = yield* MemoryStore
      const assistantId = yield* openAssistant
      const memory = yield* sampleMemory(assistantId, { content: "one" })
      yield* apply(assistantId, [toAdd(memory)])
      const confirmed = { ...memory, content: "two", confirmedBy: [yield* sampleSource, yield* sampleSource] }
      yield* apply(assistantId, [toUpdate(confirmed)])
      assert.deepStrictEqual(Option.getOrThrow(yield* store.get(assistantId, memory.id)), confirmed)
    })

    test("MUST add a memory in the place of one that the changes before it removed, although there may be no more", function* () {
      const store = yield* MemoryStore
      const assistantId = yield* openAssistant
      const [one, two, three, four] = [
        yield* sampleMemory(assistantId, { content: "one" }),
        yield* sampleMemory(assistantId, { content: "two" }),
        yield* sampleMemory(assistantId, { content: "three" }),
        yield* sampleMemory(assistantId, { content: "four" })
      ]
      yield* apply(assistantId, [toAdd(one), toAdd(two), toAdd(three)])
      const source = yield* sampleSource
      const write = (most: number, changes: ReadonlyArray<MemoryChange>, learned: LearnedRun | null = null) =>
        Effect.map(store.apply({ assistantId, changes, beside: [], learned, at: moment(50), most }), (outcomes) =>
          Option.getOrThrow(outcomes).map(({ event }) => event)
        )
      const remove: MemoryChange = { _tag: "Delete", id: one.id }
      assert.deepStrictEqual(yield* write(2, [remove, toAdd(four)]), ["Deleted", "Full"])
      assert.deepStrictEqual(yield* write(2, [toAdd(four), { ...remove, id: two.id }, toAdd(four)]), [
        "Full",
        "Deleted",
        "Added"
      ])
      const merge = toUpdate({ ...three, content: "four", source })
      const learned = { runId: source.runId, orderedAt: moment(1) }
      assert.deepStrictEqual(yield* write(2, [merge, toAdd(one), toAdd(two)], learned), ["Merged", "Added", "Full"])
      assert.deepStrictEqual(yield* write(1.5, [toAdd(two)]), ["Full"])
      assert.deepStrictEqual(yield* write(Number.POSITIVE_INFINITY, [toAdd(two)]), ["Added"])
    })

    test("MUST store one memory when many writers add the same text at once", function* () {
      const store = yield* MemoryStore
      const assistantId = yield* openAssistant
      const events = yield* Effect.forEach(
        Array.from({ length: 24 }),
        () =>
          Effect.gen(function* () {
            const memory = yield* sampleMemory(assistantId, { content: "The user prefers Vim." })
            return (yield* apply(assistantId, [toAdd(memory)])).map(({ event }) => event)
          }),
        { concurrency: 8 }
      )
      assert.deepStrictEqual(events.flat().toSorted(), ["Added", ...Array.from({ length: 23 }, () => "Known")])
      assert.strictEqual((yield* store.survey(assistantId)).total, 1)
      assert.strictEqual((yield* find(assistantId, "vim")).length, 1)
    })

    test("MUST keep the earlier versions of a memory, newest first, and find only its current text", function* () {
      const store = yield* MemoryStore
      const assistantId = yield* openAssistant
      const oslo = yield* sampleMemory(assistantId, { content: "The user lives in Oslo.", metadata: { by: "hand" } })
      const bergen = { ...oslo, content: "The user lives in Bergen.", updatedAt: moment(4), createdAt: moment(99) }
      const paris = { ...bergen, content: "The user lives in Paris.", updatedAt: moment(5), metadata: null }
      yield* apply(assistantId, [toAdd(oslo)])
      assert.deepStrictEqual(yield* apply(assistantId, [toUpdate(bergen), toUpdate(paris)]), [
        { event: "Updated", id: oslo.id },
        { event: "Updated", id: oslo.id }
      ])
      const now = { ...paris, createdAt: oslo.createdAt }
      assert.deepStrictEqual(Option.getOrThrow(yield* store.get(assistantId, oslo.id)), now)
      const { confirmedBy, source, validFrom, validUntil } = oslo
      const unchanged = {
        source,
        confirmedBy,
        validFrom,
        validUntil,
        metadata: { by: "hand" },
        replacedAt: moment(50)
      }
      assert.deepStrictEqual(yield* store.history(assistantId, oslo.id), [
        { ...unchanged, content: bergen.content, writtenAt: moment(4) },
        { ...unchanged, content: oslo.content, writtenAt: oslo.updatedAt }
      ])
      assert.deepStrictEqual(yield* find(assistantId, "Oslo Bergen"), [])
      assert.deepStrictEqual(yield* find(assistantId, "Paris"), [now.content])
    })

    test("MUST answer Gone for a missing memory, and make the other changes", function* () {
      const assistantId = yield* openAssistant
      const missing = yield* sampleMemory(assistantId)
      const there = yield* sampleMemory(assistantId, { content: "There." })
      const outcomes = yield* apply(assistantId, [
        toUpdate(missing),
        { _tag: "Delete", id: missing.id },
        { _tag: "Delete", id: MemoryId.make("not a uuid") },
        toAdd(there),
        { _tag: "Delete", id: there.id },
        { _tag: "Delete", id: there.id }
      ])
      assert.deepStrictEqual(
        outcomes.map(({ event }) => event),
        ["Gone", "Gone", "Gone", "Added", "Deleted", "Gone"]
      )
    })

    test("MUST remove a memory with its versions, so that no search finds them", function* () {
      const store = yield* MemoryStore
      const assistantId = yield* openAssistant
      const memory = yield* sampleMemory(assistantId, { content: "The user has a cat." })
      yield* apply(assistantId, [toAdd(memory), toUpdate({ ...memory, content: "The user has a dog." })])
      yield* apply(assistantId, [{ _tag: "Delete", id: memory.id }])
      assert.isTrue(Option.isNone(yield* store.get(assistantId, memory.id)))
      assert.deepStrictEqual(yield* store.history(assistantId, memory.id), [])
      assert.deepStrictEqual(yield* find(assistantId, "cat dog"), [])
      yield* apply(assistantId, [toAdd(memory)])
      assert.deepStrictEqual(yield* store.history(assistantId, memory.id), [])
      assert.deepStrictEqual(yield* find(assistantId, "cat"), [memory.content])
    })

    test("MUST apply a run once, and answer a repeat with the first outcomes", function* () {
      const store = yield* MemoryStore
      const assistantId = yield* openAssistant
      const learned = { runId: yield* newId(RunId), orderedAt: moment(1) }
      assert.isTrue(Option.isNone(yield* store.applied(learned.runId)))
      const memory = yield* sampleMemory(assistantId, { content: "One." })
      const first = yield* apply(assistantId, [toAdd(memory)], learned)
      const again = yield* sampleMemory(assistantId, { content: "Another." })
      assert.deepStrictEqual(yield* apply(assistantId, [toAdd(again)], learned), first)
      assert.strictEqual((yield* store.survey(assistantId)).total, 1)
      const applied = Option.getOrThrow(yield* store.applied(learned.runId))
      const outcome = { event: "Added", id: memory.id } as const
      const expected = { assistantId, appliedAt: moment(50) }
      assert.deepStrictEqual(applied, { ...expected, outcomes: [{ ...outcome, content: "One." }] })
      yield* apply(assistantId, [{ _tag: "Delete", id: memory.id }])
      const later = Option.getOrThrow(yield* store.applied(learned.runId))
      assert.deepStrictEqual(later, { ...expected, outcomes: [{ ...outcome, content: null }] })
    })

    test("MUST change nothing when the thread of the run is gone, and return no outcomes", function* () {
      const store = yield* MemoryStore
      const { assistantId, id: threadId } = yield* openThread
      const learnedIn = (thread: ThreadId) =>
        Effect.map(newId(RunId), (runId) => ({ runId, orderedAt: moment(1), threadId: thread }))
      const kept = yield* sampleMemory(assistantId, { content: "Kept." })
      const outcomes = yield* apply(assistantId, [toAdd(kept)], yield* learnedIn(threadId))
      assert.deepStrictEqual(outcomes, [{ event: "Added", id: kept.id }])
      yield* (yield* ThreadStore).remove(threadId)
      const late = yield* sampleMemory(assistantId, { content: "Late." })
      assert.deepStrictEqual(yield* apply(assistantId, [toAdd(late)], yield* learnedIn(threadId)), [])
      assert.strictEqual((yield* store.survey(assistantId)).total, 1)
    })

    test("MUST apply a run once when several callers apply it at once", function* () {
      const store = yield* MemoryStore
      const assistantId = yield* openAssistant
      const learned = { runId: yield* newId(RunId), orderedAt: moment(1) }
      const outcomes = yield* Effect.forEach(
        ["a", "b", "c", "d"],
        (content) =>
          Effect.flatMap(sampleMemory(assistantId, { content }), (memory) =>
            apply(assistantId, [toAdd(memory)], learned)
          ),
        { concurrency: 4 }
      )
      assert.strictEqual(new Set(outcomes.map((each) => JSON.stringify(each))).size, 1)
      assert.strictEqual((yield* store.survey(assistantId)).total, 1)
    })

    test("MUST remove all memories, and refuse later changes by earlier runs", function* () {
      const store = yield* MemoryStore
      const [assistantId, other] = [yield* openAssistant, yield* openAssistant]
      const memories = yield* Effect.forEach(["cat", "dog"], (content) => sampleMemory(assistantId, { content }))
      const kept = yield* sampleMemory(other, { content: "cat" })
      yield* apply(other, [toAdd(kept)])
      yield* apply(
        assistantId,
        memories.map((memory) => toAdd(memory))
      )
      const [changed = kept] = memories
      yield* apply(assistantId, [
        toUpdate({ ...changed, content: "cats" }),
        toUpdate({ ...changed, content: "one cat" })
      ])
      assert.deepStrictEqual(yield* store.removeAll(assistantId, moment(10)), { memories: 2, versions: 2 })
      assert.deepStrictEqual(yield* store.history(assistantId, changed.id), [])
      assert.deepStrictEqual(yield* store.removeAll(assistantId, moment(9)), { memories: 0, versions: 0 })
      assert.deepStrictEqual(yield* store.list(assistantId, null), { memories: [], total: 0 })
      assert.deepStrictEqual(yield* store.survey(assistantId), { total: 0, lastUpdated: null })
      assert.deepStrictEqual(yield* find(assistantId, "cat dog"), [])
      assert.deepStrictEqual(yield* find(other, "cat"), ["cat"])
      const late = yield* sampleMemory(assistantId, { content: "late" })
      const runs = [yield* newId(RunId), yield* newId(RunId)] as const
      assert.deepStrictEqual(yield* apply(assistantId, [toAdd(late)], { runId: runs[0], orderedAt: moment(10) }), [])
      const [outcome] = yield* apply(assistantId, [toAdd(late)], { runId: runs[1], orderedAt: moment(11) })
      assert.strictEqual(outcome?.event, "Added")
    })

    test("MUST add no more than `most` memories of the principal with all assistants, of ten calls at the same time", function* () {
      const store = yield* MemoryStore
      const assistants = [yield* openAssistant, yield* openAssistant]
      const calls = yield* Effect.forEach(Array.from({ length: 10 }), (_, index) =>
        Effect.map(sampleMemory(assistants[index % 2] ?? assert.fail(), { content: `fact ${index}` }), (memory) => ({
          memory,
          changes: [toAdd(memory)],
          beside: [],
          learned: null,
          at: moment(2),
          most: 4
        }))
      )
      const outcomes = yield* Effect.forEach(
        calls,
        ({ memory, ...change }) => store.apply({ assistantId: memory.assistantId, ...change }),
        { concurrency: "unbounded" }
      )
      const events = outcomes.flatMap((outcome) => Option.getOrThrow(outcome).map(({ event }) => event))
      assert.strictEqual(events.filter((event) => event === "Added").length, 4)
      assert.strictEqual(events.filter((event) => event === "Full").length, 6)
      const stored = yield* Effect.forEach(assistants, (id) => store.survey(id))
      assert.strictEqual(
        stored.reduce((sum, { total }) => sum + total, 0),
        4
      )
      const known = calls[events.indexOf("Added")] ?? assert.fail()
      const again = yield* sampleMemory(known.memory.assistantId, { content: known.memory.content })
      const repeat = { ...known, assistantId: again.assistantId, changes: [toAdd(again)] }
      assert.deepStrictEqual(Option.getOrThrow(yield* store.apply(repeat)), [{ event: "Known", id: known.memory.id }])
    })

    test("MUST remove the memories of an assistant that is deleted", function* () {
      const store = yield* MemoryStore
      const assistantId = yield* openAssistant
      const learned = { runId: yield* newId(RunId), orderedAt: moment(1) }
      const memory = yield* sampleMemory(assistantId, { content: "cat" })
      yield* apply(assistantId, [toAdd(memory)], learned)
      yield* (yield* AssistantStore).remove(assistantId)
      assert.isTrue(Option.isNone(yield* store.get(assistantId, memory.id)))
      assert.isTrue(Option.isNone(yield* store.applied(learned.runId)))
      assert.deepStrictEqual(yield* find(assistantId, "cat"), [])
      const change = { assistantId, changes: [toAdd(memory)], beside: [], learned: null, at: moment(1) }
      assert.isTrue(Option.isNone(yield* store.apply(change)))
    })

    test("MUST NOT show, find, change or copy another owner's memories", function* () {
      const store = yield* MemoryStore
      const learned = { runId: yield* newId(RunId), orderedAt: moment(1) }
      const mine = yield* openAssistant
      const theirs = yield* asNewOwner(
        Effect.gen(function* () {
          const assistantId = yield* openAssistant
          const memory = yield* sampleMemory(assistantId, { content: "cat" })
          yield* apply(assistantId, [toAdd(memory)], learned)
          return memory
        })
      )
      const { assistantId, id } = theirs
      assert.isTrue(Option.isNone(yield* store.get(assistantId, id)))
      assert.isTrue(Option.isNone(yield* store.get(mine, id)))
      assert.isTrue(Option.isNone(yield* store.applied(learned.runId)))
      assert.deepStrictEqual(yield* store.list(assistantId, null), { memories: [], total: 0 })
      assert.deepStrictEqual(yield* store.history(assistantId, id), [])
      assert.deepStrictEqual(yield* find(assistantId, "cat"), [])
      assert.deepStrictEqual(yield* store.removeAll(assistantId, moment(1)), { memories: 0, versions: 0 })
      assert.strictEqual(yield* store.copyAll(assistantId, mine), 0)
      for (const changes of [[toAdd(theirs)], [{ _tag: "Delete", id } as const], [toUpdate(theirs)]]) {
        const change = { assistantId, changes, beside: [], learned: null, at: moment(1) }
        assert.isTrue(Option.isNone(yield* store.apply(change)))
      }
      assert.deepStrictEqual(yield* apply(mine, [{ _tag: "Delete", id }]), [{ event: "Gone", id }])
      for (const unknown of [yield* newId(AssistantId), AssistantId.make("not a uuid")]) {
        assert.deepStrictEqual(yield* store.list(unknown, null), { memories: [], total: 0 })
        assert.deepStrictEqual(yield* find(unknown, "cat"), [])
      }
    })

    test("MUST copy memories under new ids, without their versions, and leave out copies", function* () {
      const store = yield* MemoryStore
      const [from, to] = [yield* openAssistant, yield* openAssistant]
      const memory = yield* sampleMemory(from, { content: "The user has a cat.", metadata: { a: 1 } })
      const known = yield* sampleMemory(from, { content: "Known." })
      yield* apply(to, [toAdd(yield* sampleMemory(to, { content: "known" }))])
      yield* apply(from, [toAdd(memory, 1), toAdd(known), toUpdate({ ...memory, content: "The user has a dog." }, 1)])
      assert.strictEqual(yield* store.copyAll(from, to), 1)
      assert.strictEqual(yield* store.copyAll(from, to), 0)
      const { memories } = yield* store.list(to, null)
      const copy = memories.find(({ content }) => content === "The user has a dog.")
      assert.deepStrictEqual(copy && { ...copy, id: memory.id }, {
        ...memory,
        content: "The user has a dog.",
        assistantId: to
      })
      assert.notStrictEqual(copy?.id, memory.id)
      assert.deepStrictEqual(yield* store.history(to, copy?.id ?? memory.id), [])
      assert.deepStrictEqual(yield* find(to, "dog"), ["The user has a dog."])
      assert.deepStrictEqual(
        (yield* store.withoutVectors(to, model, 10)).map(({ content }) => content),
        keepsVectors ? ["known"] : []
      )
    })

    test("MUST copy more memories than one statement copies", function* () {
      const store = yield* MemoryStore
      const [from, to] = [yield* openAssistant, yield* openAssistant]
      const memories = yield* Effect.forEach(Array.from({ length: 520 }).keys(), (index) =>
        sampleMemory(from, { content: `Fact ${index}`, createdAt: moment(index % 7) })
      )
      yield* apply(
        from,
        memories.map((memory) => toAdd(memory))
      )
      assert.strictEqual(yield* store.copyAll(from, to), 520)
      const [before, after] = [yield* store.list(from, null), yield* store.list(to, null)]
      assert.deepStrictEqual(
        after.memories.map(({ content }) => content),
        before.memories.map(({ content }) => content)
      )
    })

    test("MUST find memories that are true at a time, best first, no more than the limit", function* () {
      const store = yield* MemoryStore
      const assistantId = yield* openAssistant
      const past = yield* sampleMemory(assistantId, { content: "The user visits Rome.", validUntil: moment(5) })
      const now = yield* sampleMemory(assistantId, {
        content: "The user visits Rome and Athens.",
        validUntil: moment(7)
      })
      const always = yield* sampleMemory(assistantId, { content: "The user visits his mother on Sundays." })
      yield* apply(
        assistantId,
        [past, now, always].map((memory) => toAdd(memory))
      )
      const search = (trueAt: Date | null, limit = 10) =>
        Effect.map(
          store.search({ assistantId, terms: termsByLanguage("visits in Athens"), vector: null, limit, trueAt }),
          (hits) => hits.map(({ memory }) => memory)
        )
      assert.deepStrictEqual(yield* search(moment(5)), [now, always])
      assert.deepStrictEqual(
        (yield* search(null)).map(({ id }) => id).toSorted(),
        [past, now, always].map(({ id }) => id).toSorted()
      )
      assert.deepStrictEqual(yield* search(null, 1), [now])
    })

    test("MUST order memories of equal rank as they were stored, and one that was changed behind them", function* () {
      const assistantId = yield* openAssistant
      const numbers = ["one", "two", "three", "four"]
      const samples = yield* Effect.forEach(numbers, (number) =>
        sampleMemory(assistantId, { content: `Kettle number ${number}.` })
      )
      // The order of the ids says nothing.
      const [first, ...others] = samples.toSorted((a, b) => (a.id < b.id ? 1 : -1))
      if (first === undefined) return assert.fail("no sample")
      yield* apply(assistantId, [toAdd(first), ...others.map((memory) => toAdd(memory))])
      const contents = others.map(({ content }) => content)
      assert.deepStrictEqual(yield* find(assistantId, "kettles"), [first.content, ...contents])
      yield* apply(assistantId, [toUpdate({ ...first, content: "Kettle number five." })])
      assert.deepStrictEqual(yield* find(assistantId, "kettles"), [...contents, "Kettle number five."])
    })

    test("MUST find a true memory although many outdated ones rank higher", function* () {
      const store = yield* MemoryStore
      const assistantId = yield* openAssistant
      const past = yield* Effect.forEach(Array.from({ length: 40 }).keys(), (index) =>
        sampleMemory(assistantId, { content: `Athens trip ${index}.`, validUntil: moment(1) })
      )
      const now = yield* sampleMemory(assistantId, {
        content: "The user will see his mother and his sister in Athens."
      })
      yield* apply(
        assistantId,
        [...past, now].map((memory) => toAdd(memory))
      )
      const terms = termsByLanguage("trip to Athens")
      const hits = yield* store.search({ assistantId, terms, vector: null, limit: 3, trueAt: moment(2) })
      assert.deepStrictEqual(
        hits.map(({ memory }) => memory),
        [now]
      )
    })

    if (keepsVectors) {
      test("MUST find memories by their vectors, and accept vectors for memories without one of this model", function* () {
        const store = yield* MemoryStore
        const assistantId = yield* openAssistant
        const near = yield* sampleMemory(assistantId, { content: "kettle", createdAt: moment(1) })
        const far = yield* sampleMemory(assistantId, { content: "cat", createdAt: moment(2) })
        const changed = yield* sampleMemory(assistantId, { content: "old text", createdAt: moment(3) })
        yield* apply(assistantId, [toAdd(near, 1), toAdd(far), toAdd(changed)])
        const missing = yield* store.withoutVectors(assistantId, model, 10)
        assert.deepStrictEqual(missing, [far, changed])
        assert.deepStrictEqual(yield* store.withoutVectors(assistantId, { name: "p/other", dimensions: null }, 2), [
          near,
          far
        ])
        const longer = { ...model, dimensions: 3 }
        assert.deepStrictEqual(yield* store.withoutVectors(assistantId, longer, 2), [near, far])
        yield* apply(assistantId, [toUpdate({ ...changed, content: "new text" })])
        const set = yield* store.setVectors(assistantId, model, [
          { id: far.id, content: far.content, values: unitVector(0) },
          { id: changed.id, content: changed.content, values: unitVector(1) }
        ])
        assert.strictEqual(set, 1)
        const vector = { model, values: unitVector(1) }
        const hits = yield* store.search({ assistantId, terms: new Map(), vector, limit: 10, trueAt: null })
        assert.deepStrictEqual(
          hits.map(({ memory, semantic }) => [memory.content, Math.round(semantic ?? 9)]),
          [
            ["kettle", 1],
            ["cat", 0]
          ]
        )
        const three = Float32Array.from([0, 0, 1])
        const values = { id: near.id, content: near.content, values: three }
        assert.strictEqual(yield* store.setVectors(assistantId, longer, [values]), 1)
        assert.deepStrictEqual(
          (yield* store.withoutVectors(assistantId, longer, 9)).map(({ id }) => id),
          [far.id, changed.id]
        )
        for (const [asked, found] of [
          [{ model: longer, values: three }, near.id],
          [vector, far.id]
        ] as const) {
          const mixed = yield* store.search({ assistantId, terms: new Map(), vector: asked, limit: 10, trueAt: null })
          assert.deepStrictEqual(
            mixed.map(({ memory }) => memory.id),
            [found]
          )
        }
        assert.strictEqual(
          yield* asNewOwner(
            store.setVectors(assistantId, model, [{ id: near.id, content: near.content, values: unitVector(0) }])
          ),
          0
        )
      })
    }
  })

/** Memories of a session, said one second after the other, or all at once. */
const addSession = Effect.fnUntraced(function* (
  assistantId: AssistantId,
  session: string,
  contents: ReadonlyArray<string>,
  saidAt: (index: number) => Date | null = (index) => moment(index)
) {
  const memories = yield* Effect.forEach(contents, (content, index) =>
    sampleMemory(assistantId, { content, session, saidAt: saidAt(index) })
  )
  yield* apply(
    assistantId,
    memories.map((memory) => toAdd(memory))
  )
  return memories
})

const model = { name: "p/m", dimensions: 2 }

const unitVector = (kind: number): Float32Array => Float32Array.from(kind === 1 ? [1, 0] : [0, 1])

/** The sources that a memory has after its answer was taken back, and that of another one that was learned from the question. */
const sourcesAfterRewind = Effect.fnUntraced(function* (keeps: boolean) {
  const [store, runs] = [yield* MemoryStore, yield* RunStore]
  const { assistantId, id: threadId } = yield* openThread
  const turn = yield* startTurn(threadId)
  yield* settleTurn(turn)
  const [question, answer] = yield* storedMessages(threadId)
  if (question === undefined || answer === undefined) throw new Error("The thread is too short.")
  const source = ({ id }: { readonly id: MessageId }) => ({ threadId, runId: turn.runId, messageIds: [id] })
  const [fromAnswer, fromQuestion] = [source(answer), source(question)]
  const first = yield* sampleMemory(assistantId, { content: "One.", source: fromAnswer })
  const second = yield* sampleMemory(assistantId, { content: "Two.", source: fromQuestion })
  yield* apply(assistantId, [toAdd(first), toAdd(second)])
  yield* apply(assistantId, [toUpdate({ ...first, content: "Three.", source: fromQuestion, updatedAt: moment(2) })])
  const copy = yield* sampleMemory(assistantId, { content: "two", source: fromAnswer })
  yield* apply(assistantId, [toAdd(copy)], { runId: turn.runId, orderedAt: moment(9) })
  const keptAs = keeps ? yield* newId(ThreadId) : null
  const cut = { threadId, keeps: 1, newest: answer.id, keptAs, at: moment(9), followUps: [], once: null }
  assert.deepStrictEqual(yield* runs.rewindThread(cut), { _tag: "Done" })
  const [changed, kept] = (yield* store.list(assistantId, null)).memories
  assert.deepStrictEqual([changed?.source, kept?.source], [fromQuestion, fromQuestion])
  const moved = keptAs === null ? null : { ...fromAnswer, threadId: keptAs }
  return { found: (yield* store.history(assistantId, first.id))[0]?.source, moved }
})

const openAssistant = Effect.gen(function* () {
  const assistant = yield* sampleAssistant()
  yield* (yield* AssistantStore).insert(assistant)
  return assistant.id
})

const sampleMemory = (assistantId: AssistantId, fields: Partial<MemoryRecord> = {}): Effect.Effect<MemoryRecord> =>
  Effect.map(newId(MemoryId), (id) => ({
    id,
    assistantId,
    content: "A sample.",
    metadata: null,
    source: null,
    confirmedBy: [],
    validFrom: null,
    validUntil: null,
    saidAt: null,
    session: null,
    speaker: null,
    createdAt: moment(0),
    updatedAt: moment(0),
    ...fields
  }))

/** The message id is strange, because the store reads it from JSON. */
const sampleSource: Effect.Effect<MemorySource> = Effect.gen(function* () {
  const [threadId, runId] = [yield* newId(ThreadId), yield* newId(RunId)]
  return { threadId, runId, messageIds: [MessageId.make("strange \0 \ud800")] }
})

const indexedAs = ({ content }: MemoryRecord, kind?: number): IndexedMemory => ({
  ...prepareTurns([{ text: content, label: "", context: "", said: null }]),
  vectors: kind === undefined ? null : { model, values: [unitVector(kind)] }
})

const toAdd = (memory: MemoryRecord, kind?: number): MemoryChange => ({
  _tag: "Add",
  memory,
  indexed: indexedAs(memory, kind)
})

const toUpdate = (memory: MemoryRecord, kind?: number): MemoryChange => ({
  _tag: "Update",
  memory,
  indexed: indexedAs(memory, kind)
})

const apply = Effect.fnUntraced(function* (
  assistantId: AssistantId,
  changes: ReadonlyArray<MemoryChange>,
  learned: LearnedRun | null = null
) {
  return Option.getOrThrow(
    yield* (yield* MemoryStore).apply({ assistantId, changes, beside: [], learned, at: moment(50) })
  )
})

const find = Effect.fnUntraced(function* (assistantId: AssistantId, query: string) {
  const terms = termsByLanguage(query)
  const hits = yield* (yield* MemoryStore).search({ assistantId, terms, vector: null, limit: 10, trueAt: null })
  return hits.map(({ memory }) => memory.content)
})
