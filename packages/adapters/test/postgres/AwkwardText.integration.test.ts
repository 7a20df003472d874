/** Text and JSON that Postgres cannot hold as they are: NUL, lone surrogates, and whatever the escape for them begins with. */
import { OwnerId, Principal, ThreadId } from "@colloquy/core"
import { AssistantStore, RunStore, ThreadStore } from "@colloquy/core/adapters"
import {
  appendTo,
  awkwardJson,
  expectTag,
  openThread,
  sampleAssistant,
  sampleBegin,
  sampleCall,
  sampleEvent,
  sampleSettlement,
  sampleThread,
  settleTurn,
  startTurn,
  storedMessages,
  storedRun
} from "@colloquy/testing/contracts"
import { assert, describe, layer } from "@effect/vitest"
import * as Effect from "effect/Effect"
import type * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Redacted from "effect/Redacted"
import { onEmbedded, onPostgres } from "../../../../test/databases.ts"
import { Pglite } from "../../src/pglite/index.ts"
import { Postgres } from "../../src/postgres/index.ts"
import { onScratchSchema } from "./Scratch.ts"

const texts = [
  "NUL \0 inside",
  "\0",
  "a lone \ud800 surrogate",
  "\udc00",
  "\u0001 first",
  '\u0001"x"',
  "pair 👩‍👩‍👧",
  "\\u0000",
  ""
]
const awkward = texts.join("|")
const json = { awkwardJson, [awkward]: texts }

const suite = (stores: Layer.Layer<Postgres.Stores, unknown>) =>
  layer(stores, { excludeTestServices: true, timeout: "1 minute" })("awkward text", (it) => {
    it.effect("comes back as it was, in every field of an assistant and a thread", () =>
      Effect.gen(function* () {
        const assistants = yield* AssistantStore
        const threads = yield* ThreadStore
        for (const text of [...texts, awkward]) {
          const assistant = yield* sampleAssistant({
            name: text,
            description: text,
            systemPrompt: text,
            provider: text,
            model: text,
            tools: [{ name: "tool", description: text, parameters: json }],
            embedding: { provider: text, model: text, dimensions: 3 },
            factExtractionPrompt: text,
            memoryUpdatePrompt: text,
            metadata: json
          })
          yield* assistants.insert(assistant)
          assert.deepStrictEqual(yield* assistants.list({ skip: 0, limit: 100 }, text), [assistant])
          const patched = { ...assistant, version: 2, systemPrompt: `${text}${text}` }
          yield* assistants.update({ before: assistant, after: patched, changes: ["systemPrompt"] })
          assert.deepStrictEqual(yield* assistants.get(assistant.id), Option.some(patched))
          const [second, first] = yield* assistants.versions(assistant.id, { limit: 2 })
          assert.deepStrictEqual([second?.changes, first?.version], [["systemPrompt"], 1])
          const before = Option.getOrThrow(yield* assistants.version(assistant.id, 1))
          assert.deepStrictEqual(before.assistant, assistant)
          const thread = yield* sampleThread(assistant.id, { metadata: json })
          yield* threads.insert(thread)
          assert.deepStrictEqual(yield* threads.get(thread.id), Option.some(thread))
        }
      }).pipe(Principal.provide("text"))
    )

    it.effect("comes back as it was, in messages, runs and logs", () =>
      Effect.gen(function* () {
        const runs = yield* RunStore
        const assistant = yield* sampleAssistant()
        yield* (yield* AssistantStore).insert(assistant)
        const thread = yield* sampleThread(assistant.id)
        yield* (yield* ThreadStore).insert(thread)
        const begin = yield* sampleBegin(thread.id, {
          run: { provider: awkward, model: awkward, plan: json },
          message: { content: awkward, metadata: json },
          events: [sampleEvent(1, json)],
          idempotency: { key: awkward, fingerprint: awkward }
        })
        const { lease } = expectTag(yield* runs.begin(begin), "Started")
        yield* appendTo(lease, [sampleEvent(2, json)])
        const leg = { runId: begin.run.id, threadId: thread.id, answerId: begin.run.answerId, leg: 0 }
        const settlement = yield* sampleSettlement(leg, {
          model: awkward,
          fault: { code: awkward, message: awkward, retryable: false },
          explanation: json,
          answer: {
            content: awkward,
            model: awkward,
            provider: awkward,
            metadata: json,
            toolCalls: [{ ...sampleCall, arguments: awkward }],
            steps: [{ text: awkward, toolCalls: [], hostedResults: [], providerData: null }]
          }
        })
        assert.isTrue(yield* runs.settle(lease, settlement))
        assert.deepStrictEqual(yield* storedMessages(thread.id), [
          { ...begin.message, sequence: 1 },
          { ...settlement.answer, sequence: 2 }
        ])
        assert.deepInclude(yield* storedRun(begin.run.id), {
          plan: json,
          provider: awkward,
          model: awkward,
          fault: settlement.fault,
          explanation: json
        })
        assert.deepStrictEqual(yield* runs.read(begin.run.id, 0), [
          ...begin.events,
          sampleEvent(2, json),
          ...settlement.events
        ])
        assert.deepInclude(Option.getOrThrow(yield* runs.findRepeated(awkward)), { fingerprint: awkward })
      }).pipe(Principal.provide("more text"))
    )

    it.effect("comes back in order when it is more than one row takes", () =>
      Effect.gen(function* () {
        const { id } = yield* openThread
        const long = (letter: string) => ({ content: `${letter}\0`.repeat(350_000) })
        yield* settleTurn(yield* startTurn(id, { message: long("a") }), { answer: long("b") })
        yield* settleTurn(yield* startTurn(id, { message: { content: "?" } }), { answer: { content: "short" } })
        const { history } = yield* startTurn(id, { message: long("c") })
        const stored = yield* storedMessages(id)
        assert.deepStrictEqual(
          stored.map(({ content, sequence }) => [sequence, content?.slice(0, 1)]),
          [
            [1, "a"],
            [2, "b"],
            [3, "?"],
            [4, "s"],
            [5, "c"],
            [6, undefined]
          ]
        )
        assert.deepStrictEqual(history.messages, stored.slice(0, 5))
        assert.deepStrictEqual(history.older, { messages: 0, tokens: 0 })
      }).pipe(Principal.provide("long texts"))
    )

    it.effect("does not make one owner of two", () =>
      Effect.gen(function* () {
        const assistants = yield* AssistantStore
        const owners = ["a\0b", "a\ufffdb", "a\\u0000b", "\u0001a\0b", '\u0001"a\\u0000b"'].map((name) =>
          OwnerId.make(name)
        )
        for (const ownerId of owners) {
          yield* Effect.provideService(Effect.flatMap(sampleAssistant(), assistants.insert), Principal, { ownerId })
        }
        for (const ownerId of owners) {
          const mine = yield* Effect.provideService(assistants.list({ skip: 0, limit: 10 }), Principal, { ownerId })
          assert.strictEqual(mine.length, 1)
        }
      })
    )

    describe("an id that is no UUID", () => {
      const strangers = [
        "thread-1",
        "\0",
        "'; drop table threads; --",
        "01A1FD94-93C5-725E-B374-B39590897587",
        "{}",
        "null"
      ]
      it.effect("is an unknown id", () =>
        Effect.gen(function* () {
          const threads = yield* ThreadStore
          const runs = yield* RunStore
          for (const id of strangers.map((stranger) => ThreadId.make(stranger))) {
            assert.isTrue(Option.isNone(yield* threads.get(id)))
            assert.isFalse(yield* threads.remove(id))
            assert.deepStrictEqual(yield* threads.messages([id]), [])
            assert.isTrue(Option.isNone(yield* runs.waitingOn(id)))
            expectTag(yield* runs.begin(yield* sampleBegin(id)), "ThreadMissing")
          }
        }).pipe(Principal.provide("stranger"))
      )
    })
  })

onPostgres((url) =>
  suite(onScratchSchema(url, (schema) => Postgres.layer({ url: Redacted.make(url), schema, notifications: false })))
)
onEmbedded("PGlite", () => suite(Pglite.layer()))
