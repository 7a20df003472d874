/** Answers that have to be one JSON value: how it is asked for, one repair, how it fails, and what readers see meanwhile. */
import { InMemory } from "@colloquy/adapters/in-memory"
import { Kernel, Principal, readSupplement, Threads, TurnRefused, Turns } from "@colloquy/core"
import type { ChatRequest } from "@colloquy/core/adapters"
import { outputIn, Outputs, outputsPartName } from "@colloquy/core/outputs"
import {
  callTool,
  expect,
  finish,
  say,
  sayInChunks,
  ScriptedModel,
  type ScriptedOptions,
  type ScriptStep,
  uses
} from "@colloquy/testing"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"

const kernelLayer = (steps: ReadonlyArray<ScriptStep>, options: ScriptedOptions) =>
  Outputs.layer().pipe(
    Layer.provideMerge(Kernel.layer),
    Layer.provideMerge(ScriptedModel.layer(steps, options)),
    Layer.provideMerge(InMemory.layer),
    Layer.fresh
  )

type Services = Layer.Success<ReturnType<typeof kernelLayer>>

const story = (
  title: string,
  steps: ReadonlyArray<ScriptStep>,
  body: Effect.Effect<void, unknown, Services | Principal>,
  options: ScriptedOptions = {}
) => it.effect(title, () => body.pipe(Effect.provide(kernelLayer(steps, options)), Principal.provide("ada")))

const person: Schema.JsonObject = {
  type: "object",
  properties: { name: { type: "string" }, age: { type: "integer" } },
  required: ["name"],
  additionalProperties: false
}
const wanted = (schema: Schema.Json = person, name?: string) => ({
  options: { [outputsPartName]: { schema, ...(name === undefined ? {} : { name }) } }
})

const send = (more: object = wanted()) => Effect.flatMap(Turns, (turns) => turns.send({ content: "Who?", ...more }))

const kept = (reply: { readonly supplements: Schema.JsonObject }) => outputIn(reply.supplements[outputsPartName])

const ada = { name: "Ada", age: 36 }
const written = JSON.stringify(ada)
const messageText = ({ content, role }: ChatRequest["messages"][number] & { readonly content?: unknown }) =>
  role === "user" ? JSON.stringify(content) : content

describe("a model whose provider takes schemas", () => {
  story(
    "is held to the schema, and is told nothing",
    [
      [
        expect(({ jsonOutput, output, system }) => {
          assert.deepStrictEqual(output, { name: "person", schema: person })
          assert.isNull(system)
          assert.isFalse(jsonOutput)
        }),
        say(written)
      ]
    ],
    Effect.gen(function* () {
      const reply = yield* send(wanted(person, "person"))
      assert.deepStrictEqual(kept(reply), { value: ada, method: "native" })
      assert.strictEqual(reply.content, written)
      const { messages } = yield* Effect.flatMap(Threads, (threads) => threads.get(reply.threadId))
      const stored = messages[1] && readSupplement(messages[1], outputsPartName)
      assert.deepStrictEqual(outputIn(stored?.value), { value: ada, method: "native" })
    }),
    { takesSchemas: true }
  )

  story(
    "may answer null where the schema has null",
    [[say(`{"value":null}`)]],
    Effect.gen(function* () {
      const reply = yield* send(wanted({ type: ["string", "null"] }))
      assert.deepStrictEqual(kept(reply), { value: null, method: "native" })
    }),
    { takesSchemas: true }
  )

  story(
    "gets references that are right below fields with the names of keywords",
    [
      [
        expect(({ output }) => {
          const n = { $ref: "#/properties/value/$defs/n" }
          assert.deepInclude(output?.schema["properties"], {
            value: {
              type: "array",
              items: { type: "object", properties: { default: n, enum: n, $ref: n }, default: { $ref: "#/$defs/n" } },
              $defs: { n: { type: "number" }, const: n }
            }
          })
        }),
        say(`{"value":[{"default":1}]}`)
      ]
    ],
    Effect.gen(function* () {
      const n = { $ref: "#/$defs/n" }
      const items = { type: "object", properties: { default: n, enum: n, $ref: n }, default: n }
      yield* send(wanted({ type: "array", items, $defs: { n: { type: "number" }, const: n } }))
    }),
    { takesSchemas: true }
  )

  story(
    "writes an object around what is none",
    [
      [
        expect(({ output }) => {
          assert.deepStrictEqual(output?.schema, {
            type: "object",
            properties: {
              value: { type: "array", items: { $ref: "#/properties/value/$defs/n" }, $defs: { n: { type: "number" } } }
            },
            required: ["value"],
            additionalProperties: false
          })
        }),
        say(`{"value":[1,2]}`)
      ]
    ],
    Effect.gen(function* () {
      const reply = yield* send(
        wanted({ type: "array", items: { $ref: "#/$defs/n" }, $defs: { n: { type: "number" } } })
      )
      assert.deepStrictEqual(kept(reply), { value: [1, 2], method: "native" })
    }),
    { takesSchemas: true }
  )
})

describe("any other model", () => {
  story(
    "is told the schema in words, after the instructions; a fence around its answer is taken off",
    [
      [
        expect(({ jsonOutput, system }) => {
          assert.match(system ?? "", /^Be kind\.\n\nAnswer with one JSON value/u)
          assert.include(system ?? "", JSON.stringify(person))
          assert.isTrue(jsonOutput)
        }),
        say("Here it is:\n```json\n", written, "\n```\n")
      ]
    ],
    Effect.gen(function* () {
      const reply = yield* send({ ...wanted(), systemPrompt: "Be kind." })
      assert.deepStrictEqual(kept(reply), { value: ada, method: "instructed" })
    })
  )

  story(
    "uses its tools first, and only its last words count",
    [
      [say("Let me look."), callTool("look", {})],
      [expect(({ jsonOutput }) => assert.isFalse(jsonOutput)), say(written)]
    ],
    Effect.gen(function* () {
      const turns = yield* Turns
      const reply = yield* send({ ...wanted(), tools: [{ name: "look", description: null, parameters: null }] })
      assert.strictEqual(reply.status, "REQUIRES_ACTION")
      assert.isNull(kept(reply))
      const outputs = [{ toolCallId: reply.toolCalls[0]?.id ?? "", output: "ok" }]
      const next = yield* Effect.flatMap(
        turns.submitToolOutputs({ threadId: reply.threadId, outputs }),
        (turn) => turn.reply
      )
      assert.deepStrictEqual(kept(next), { value: ada, method: "instructed" })
    })
  )
})

describe("an answer that does not fit", () => {
  story(
    "is asked for once more, with its problems in words, and is no part of the answer",
    [
      [say(`{"name": 1, "hat": true}`), uses({ inputTokens: 5, outputTokens: 5 })],
      [
        expect(({ messages }) => {
          assert.deepStrictEqual(
            messages.map(({ role }) => role),
            ["user", "assistant", "user"]
          )
          assert.strictEqual(messages[1] && messageText(messages[1]), `{"name": 1, "hat": true}`)
          const words = messages[2] ? String(messageText(messages[2])) : ""
          assert.include(words, "/name must be a text, and is an integer")
          assert.include(words, "/hat is not a field of the schema")
        }),
        say(written),
        uses({ inputTokens: 7, outputTokens: 7 })
      ],
      [expect(({ messages }) => assert.deepStrictEqual(messages.map(messageText).slice(1, 2), [written])), say("Hello")]
    ],
    Effect.gen(function* () {
      const reply = yield* send()
      assert.deepStrictEqual(kept(reply), { value: ada, method: "repaired" })
      assert.strictEqual(reply.content, written)
      assert.strictEqual(reply.usage.inputTokens, 12)
      const next = yield* Effect.flatMap(Turns, (turns) => turns.send({ content: "Hi", threadId: reply.threadId }))
      assert.strictEqual(next.content, "Hello")
    })
  )

  story(
    "fails the run the second time, with every problem and the text",
    [say("I would rather not."), say(`{"age": "old"}`)],
    Effect.gen(function* () {
      const reply = yield* send()
      assert.strictEqual(reply.status, "FAILED")
      assert.strictEqual(reply.content, `{"age": "old"}`)
      assert.strictEqual(reply.fault?.code, "output_invalid")
      assert.deepStrictEqual(reply.fault?.detail, {
        problems: [
          { path: ["age"], message: "must be an integer, and is a text" },
          { path: ["name"], message: "is missing" }
        ]
      })
      assert.deepStrictEqual(kept(reply), { value: null, method: "repaired" })
      const { messages } = yield* Effect.flatMap(Threads, (threads) => threads.get(reply.threadId))
      assert.deepStrictEqual(messages.at(-1)?.fault, reply.fault)
    })
  )

  story(
    "may be cut by the limit of its length",
    [[say(`{"name": "A`), finish("length")], say(written)],
    Effect.map(send(), (reply) => assert.deepStrictEqual(kept(reply), { value: ada, method: "repaired" }))
  )

  story(
    "after calls leaves the text before them",
    [[say("Let me look."), callTool("missing", {})], say("no"), say(written)],
    Effect.map(send(), (reply) => assert.strictEqual(reply.content, `Let me look.\n\n${written}`))
  )
})

describe("a reader of the stream", () => {
  const long = { name: "x".repeat(3000), age: 1 }

  story(
    "sees the object grow, and all events together are in line with its length",
    [sayInChunks(JSON.stringify(long), 3)],
    Effect.gen(function* () {
      const turns = yield* Turns
      const { events } = yield* turns.start({ content: "Who?", stream: true, ...wanted() })
      const partials: Array<Schema.Json> = []
      yield* Stream.runForEach(events, (event) =>
        Effect.sync(() => {
          if (event._tag === "PartTold" && event.type === "output_streaming") partials.push(event.data)
        })
      )
      assert.isAbove(partials.length, 10)
      assert.deepStrictEqual(partials[0], { partial: {} })
      const names = partials.map((data) => JSON.stringify(data).length)
      assert.deepStrictEqual(
        names,
        names.toSorted((a, b) => a - b)
      )
      assert.isBelow(
        names.reduce((sum, length) => sum + length, 0),
        60 * JSON.stringify(long).length
      )
    })
  )
})

describe("a schema", () => {
  const problemPaths = (error: unknown) =>
    error instanceof TurnRefused ? error.problems.map(({ path }) => path.join(".")) : [String(error)]
  const refusals = (more: object) => Effect.map(Effect.flip(send(more)), problemPaths)

  story(
    "that cannot be checked is refused before anything is stored, with its place",
    [],
    Effect.gen(function* () {
      assert.deepStrictEqual(yield* refusals(wanted({ properties: { a: { not: {} } } }, "a name")), [
        "schema.properties.a.not",
        "name"
      ])
      assert.deepStrictEqual(yield* refusals({ ...wanted(), jsonOutput: true }), [""])
      const threads = yield* Effect.flatMap(Threads, (all) =>
        all.list({ page: { skip: 0, limit: 10 }, includeMessages: false })
      )
      assert.lengthOf(threads, 0)
    })
  )

  story(
    "counts as part of the prompt",
    [],
    Effect.gen(function* () {
      const schema = { type: "object", description: "x".repeat(20_000) }
      const error = yield* Effect.flip(send(wanted(schema)))
      assert.propertyVal(error, "_tag", "ContextTooLong")
    }),
    { info: { contextLimit: 4000 } }
  )

  story(
    "has no effect on a message that is only saved",
    [],
    Effect.map(send({ ...wanted(), sendToModel: false }), (reply) => assert.isNull(kept(reply)))
  )
})
