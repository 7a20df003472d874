/** The contract of `EvalStore`, as a separate suite: only hosts with the wing `evals` need the store. */
import { AssistantId, MessageId, type Principal, ThreadId } from "@colloquy/core"
import { CaseId, newId, type OwnerStore, RunStore } from "@colloquy/core/adapters"
import { type EvalCase, EvalStore } from "@colloquy/core/wings"
import { assert, layer } from "@effect/vitest"
import * as Effect from "effect/Effect"
import type * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import { asNewOwner, awkwardJson, moment } from "./Samples.ts"
import { refusedWhileErasing, tenTimes } from "./Scenes.ts"

type Needed = EvalStore | OwnerStore | RunStore

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

const stored = Effect.fnUntraced(function* (fields: Partial<EvalCase> = {}) {
  const made = yield* sample(fields)
  assert.strictEqual(yield* (yield* EvalStore).insertCases([made], 100, null), "stored")
  return made
})

/** The layer is built once; every test has its own owner. */
export const evalStoreSuite = (name: string, stores: Layer.Layer<Needed, unknown>): void =>
  layer(stores, { excludeTestServices: true, timeout: "2 minutes" })(name, (it) => {
    const test = (title: string, effect: Effect.Effect<void, unknown, Needed | Principal>): void =>
      it.effect(title, () => asNewOwner(effect))
    const find = (id: CaseId) => EvalStore.use((store) => Effect.map(store.getCase(id), Option.getOrUndefined))
    const idsOf = (cases: ReadonlyArray<EvalCase>) => cases.map(({ id }) => id)

    test(
      "MUST store cases equal in every field, and list them newest first, page by page and by tag",
      Effect.gen(function* () {
        const store = yield* EvalStore
        const awkward = "nul \0 and half a pair \ud800"
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
          source: { threadId: yield* newId(ThreadId), messageId: yield* newId(MessageId) },
          updatedAt: moment(2)
        })
        assert.deepStrictEqual(yield* find(one.id), one)
        const two = yield* sample({ tags: ["a b"] })
        const three = yield* sample({ tags: ["b", "a"] })
        assert.strictEqual(yield* store.insertCases([two, three], 100, null), "stored")
        assert.deepStrictEqual(yield* store.listCases({ limit: 10 }), [three, two, one])
        assert.deepStrictEqual(idsOf(yield* store.listCases({ limit: 1, after: three.id })), [two.id])
        assert.deepStrictEqual(idsOf(yield* store.listCases({ limit: 5, after: one.id })), [])
        assert.deepStrictEqual(idsOf(yield* store.listCases({ limit: 5, after: CaseId.make("no id of ours") })), [])
        assert.deepStrictEqual(idsOf(yield* store.listCases({ limit: 5, tag: "a" })), [three.id, one.id])
        assert.deepStrictEqual(idsOf(yield* store.listCases({ limit: 5, tag: "a", after: three.id })), [one.id])
        assert.deepStrictEqual(idsOf(yield* store.listCases({ limit: 5, tag: awkward })), [one.id])
        assert.deepStrictEqual(idsOf(yield* store.listCases({ limit: 5, tag: "A" })), [])
      })
    )

    test(
      "MUST store all cases of one call or none, and no more than `most`, also of ten at a time",
      Effect.gen(function* () {
        const store = yield* EvalStore
        const pairs = Effect.flatMap(Effect.all([sample(), sample()]), (pair) => store.insertCases(pair, 5, null))
        const outcomes = (yield* tenTimes(pairs)).toSorted()
        assert.deepStrictEqual(outcomes, ["stored", "stored", ...Array.from({ length: 8 }, () => "too_many")])
        assert.strictEqual((yield* store.listCases({ limit: 100 })).length, 4)
      })
    )

    test(
      "MUST store one case for a key, with the answer that a repeat finds, and none when it is refused",
      Effect.gen(function* () {
        const store = yield* EvalStore
        const { findAnswered } = yield* RunStore
        const once = { key: "case", fingerprint: "f", answer: awkwardJson }
        assert.strictEqual(yield* store.insertCases([yield* sample()], 0, once), "too_many")
        assert.isTrue(Option.isNone(yield* findAnswered(once.key)))
        const create = Effect.flatMap(sample(), (made) => store.insertCases([made], 1, once))
        const outcomes = (yield* tenTimes(create)).toSorted()
        assert.deepStrictEqual(outcomes, [...Array.from({ length: 9 }, () => "repeated"), "stored"])
        assert.strictEqual((yield* store.listCases({ limit: 10 })).length, 1)
        const { answer, fingerprint } = Option.getOrThrow(yield* findAnswered(once.key))
        assert.deepStrictEqual({ answer, fingerprint }, { answer: awkwardJson, fingerprint: "f" })
      })
    )

    test(
      "MUST replace and remove a case of the principal, and nothing else",
      Effect.gen(function* () {
        const store = yield* EvalStore
        const made = yield* stored({ tags: ["old"] })
        const other = yield* stored()
        const change: EvalCase = { ...made, name: "New", tags: ["new"], updatedAt: moment(3) }
        assert.isTrue(yield* store.replaceCase(change))
        assert.deepStrictEqual(yield* find(made.id), change)
        assert.deepStrictEqual(idsOf(yield* store.listCases({ limit: 5, tag: "old" })), [])
        assert.deepStrictEqual(idsOf(yield* store.listCases({ limit: 5, tag: "new" })), [made.id])
        assert.isTrue(yield* store.removeCase(made.id))
        assert.isFalse(yield* store.removeCase(made.id))
        assert.isFalse(yield* store.replaceCase(change))
        assert.isUndefined(yield* find(made.id))
        assert.deepStrictEqual(yield* store.listCases({ limit: 5 }), [other])
      })
    )

    test(
      "MUST NOT show or change another owner's cases, and MUST refuse writes during an erasure",
      Effect.gen(function* () {
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
    )
  })
