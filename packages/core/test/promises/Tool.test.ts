/** `tool` with the schema libraries themselves: what the model reads, what the function gets, and what a bad call is answered with. */
import { callTool, say, ScriptedModel, TestKernel } from "@colloquy/testing"
import { type HostedTool, HostedToolFailed, Turns } from "@colloquy/core"
import { tool, type ToolContext, type ToolParameters } from "@colloquy/core/promises"
import { toStandardJsonSchema } from "@valibot/to-json-schema"
import { assert, describe, expectTypeOf, it } from "@effect/vitest"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Schema from "effect/Schema"
import { TestClock } from "effect/testing"
import * as v from "valibot"
import * as z from "zod"
import { story } from "../support/Story.ts"

const resultIn = Effect.map(ScriptedModel, (model) => {
  const last = model.requests.at(-1)?.messages.findLast((message) => message.role === "tool")
  return last?.role === "tool" ? last.output : ""
})
const send = Turns.use((turns) => turns.send({ content: "?" }))

/** What the model gets for one call of the tool. */
const calls = (
  title: string,
  hosted: HostedTool,
  args: Schema.Json,
  judge: (result: string, reply: { readonly content: string }) => void
) =>
  story(
    title,
    [callTool(hosted.definition.name, JSON.stringify(args)), say("Done.")],
    Effect.gen(function* () {
      const reply = yield* send
      judge(yield* resultIn, reply)
    }),
    { hosted: [hosted] }
  )

interface Order {
  readonly id: string
  readonly lines: ReadonlyArray<{ readonly product: string; readonly count: number }>
}

const zodOrder = z.object({
  id: z.string().min(1),
  lines: z.array(z.object({ product: z.string(), count: z.int().default(1) }))
})

const valibotOrder = v.object({
  id: v.pipe(v.string(), v.minLength(1)),
  lines: v.array(v.object({ product: v.string(), count: v.optional(v.pipe(v.number(), v.integer()), 1) }))
})

const effectOrder = Schema.Struct({
  id: Schema.NonEmptyString,
  lines: Schema.Array(
    Schema.Struct({
      product: Schema.String,
      count: Schema.Int.pipe(Schema.withDecodingDefaultKey(Effect.succeed(1)))
    })
  )
})

const orderSchema = {
  type: "object",
  properties: {
    id: { type: "string", minLength: 1 },
    lines: {
      type: "array",
      items: {
        type: "object",
        properties: { product: { type: "string" }, count: { type: "integer" } },
        required: ["product"]
      }
    }
  },
  required: ["id", "lines"],
  additionalProperties: false
}

const echoed = (order: Order) => order
const order = { name: "order", description: "Takes an order" }

/** The same tool four times: each library is given its own schema, and the function gets the library's own output type. */
const tools: Readonly<Record<string, HostedTool>> = {
  zod: tool({ ...order, parameters: zodOrder, execute: echoed }),
  valibot: tool({ ...order, parameters: toStandardJsonSchema(valibotOrder), execute: echoed }),
  "an Effect schema": tool({ ...order, parameters: effectOrder, execute: echoed }),
  "an Effect schema as a Standard Schema": tool({
    ...order,
    parameters: Schema.toStandardJSONSchemaV1(Schema.toStandardSchemaV1(effectOrder)),
    execute: echoed
  })
}

describe.each([...Object.keys(tools), "JSON Schema"])("a tool with %s", (library) => {
  const made = tools[library] ?? tool({ ...order, parameters: orderSchema, execute: (args) => args })
  const isLibrary = library in tools

  it("shows the model an object schema, without what only a validator reads", () => {
    const { description, name, parameters } = made.definition
    assert.deepStrictEqual([name, description], ["order", "Takes an order"])
    assert.deepInclude(parameters, { type: "object", required: ["id", "lines"] })
    assert.deepNestedInclude(parameters, { "properties.id": { type: "string", minLength: 1 } })
    assert.deepNestedInclude(parameters, { "properties.lines.items.required": ["product"] })
    assert.notProperty(parameters, "$schema")
  })

  calls("runs with checked arguments", made, { id: "A1", lines: [{ product: "tea" }] }, (result) => {
    const lines = isLibrary ? [{ product: "tea", count: 1 }] : [{ product: "tea" }]
    assert.deepStrictEqual(JSON.parse(result), { id: "A1", lines })
  })

  calls(
    "answers a bad call with every problem and its place, and does not run",
    made,
    { id: "", lines: [{ product: "tea" }, { product: 7, count: 1.5 }] },
    (result, reply) => {
      assert.match(result, /^Error: the arguments do not fit, and the tool was not run\.\n/u)
      assert.match(result, /^- id: .+$/mu)
      assert.match(result, /^- lines\[1\]\.product: .+$/mu)
      assert.match(result, /^- lines\[1\]\.count: .+$/mu)
      assert.strictEqual(reply.content, "Done.")
    }
  )
})

it("keeps what a hosted tool may say beside its definition", () => {
  const offered = () => false
  const kept = tool({ ...order, parameters: null, strict: true, timeout: "1 second", offered, execute: () => 1 })
  assert.deepInclude(kept, { timeout: "1 second", offered })
  assert.deepStrictEqual(kept.definition, { ...order, parameters: null, strict: true })
})

describe("JSON Schema given directly", () => {
  const strict = tool({ ...order, parameters: orderSchema, execute: () => "ran" })
  calls("refuses a property too many where the schema does", strict, { id: "A1", lines: [], note: "x" }, (result) =>
    assert.match(result, /^- note: .+$/mu)
  )

  const recursive = tool({
    ...order,
    parameters: {
      $ref: "#/$defs/Tree",
      $defs: {
        Tree: {
          type: "object",
          properties: { name: { type: "string", pattern: "^[a-z]+$" }, child: { $ref: "#/$defs/Tree" } },
          required: ["name"]
        }
      }
    },
    execute: () => "ran"
  })
  it("is shown with an object at the top, where a reference stood", () => {
    assert.deepInclude(recursive.definition.parameters, { type: "object", required: ["name"] })
    assert.notProperty(recursive.definition.parameters, "$ref")
  })
  calls("is followed into its definitions", recursive, { name: "a", child: { name: "B" } }, (result) =>
    assert.match(result, /^- child\.name: .+$/mu)
  )

  const open = tool({ ...order, parameters: null, execute: (args) => args })
  calls("null describes nothing, and every object is handed over", open, { any: [1] }, (result) =>
    assert.strictEqual(result, '{"any":[1]}')
  )
})

describe("the result of a tool", () => {
  const results: ReadonlyArray<readonly [string, unknown, string]> = [
    ["text as it is", "sunny", "sunny"],
    ["a promise", Promise.resolve("later"), "later"],
    ["a value as JSON", { at: new Date(0), none: undefined }, '{"at":"1970-01-01T00:00:00.000Z"}'],
    ["nothing as null", undefined, "null"]
  ]
  for (const [title, value, expected] of results) {
    calls(title, tool({ ...order, parameters: null, execute: () => value }), {}, (result) =>
      assert.strictEqual(result, expected)
    )
  }

  const failing: ReadonlyArray<readonly [string, () => unknown, RegExp]> = [
    [
      "a failure that is meant for the model",
      async () => {
        throw new HostedToolFailed({ message: "No such city." })
      },
      /^Error: No such city\.$/u
    ],
    [
      "any other error, which stays with the operator",
      () => {
        throw new Error("secret")
      },
      /^Error: the tool failed/u
    ],
    ["a value that is no JSON", () => 1n, /^Error: the tool failed/u],
    ["a function", () => () => 1, /^Error: the tool failed/u]
  ]
  for (const [title, execute, expected] of failing) {
    calls(title, tool({ ...order, parameters: null, execute }), {}, (result) => {
      assert.match(result, expected)
      assert.notInclude(result, "secret")
    })
  }
})

describe("the context of a tool", () => {
  story(
    "names the owner, the thread, the run and the call",
    [callTool("order", {}, "c"), say("Done.")],
    Effect.gen(function* () {
      const { assistantId, runId, threadId } = yield* send
      assert.deepStrictEqual(JSON.parse(yield* resultIn), {
        toolCallId: "c",
        owner: "ada",
        assistantId,
        runId,
        threadId
      })
    }),
    {
      hosted: [
        tool({
          ...order,
          parameters: null,
          execute: (_, { assistantId, owner, runId, threadId, toolCallId }) => ({
            assistantId,
            owner,
            runId,
            threadId,
            toolCallId
          })
        })
      ]
    }
  )

  /** A function that never ends by itself and tells when its signal is aborted. */
  const hanging = () => {
    const begun = Deferred.makeUnsafe<AbortSignal>()
    const made = tool({
      ...order,
      parameters: null,
      timeout: "5 seconds",
      execute: (_, { signal }) => {
        Deferred.doneUnsafe(begun, Effect.succeed(signal))
        return new Promise(() => {})
      }
    })
    return { begun: Deferred.await(begun), made }
  }

  const cancelled = hanging()
  story(
    "has a signal that is aborted when the run is cancelled",
    [callTool("order")],
    Effect.gen(function* () {
      const turns = yield* Turns
      const turn = yield* turns.start({ content: "?" })
      const signal = yield* cancelled.begun
      assert.isFalse(signal.aborted)
      const run = yield* turns.cancel(turn.threadId, turn.runId)
      assert.deepStrictEqual([run.status, signal.aborted], ["CANCELLED", true])
    }),
    { hosted: [cancelled.made] }
  )

  const late = hanging()
  story(
    "has a signal that is aborted when its time is over",
    [callTool("order"), say("Done.")],
    Effect.gen(function* () {
      const reply = yield* Effect.forkChild(send, { startImmediately: true })
      const signal = yield* late.begun
      yield* TestClock.adjust("4999 millis")
      assert.isFalse(signal.aborted)
      yield* TestClock.adjust("1 millis")
      assert.strictEqual((yield* Fiber.join(reply)).content, "Done.")
      assert.match(yield* resultIn, /did not answer within 5s/u)
      assert.isTrue(signal.aborted)
    }),
    { hosted: [late.made] }
  )

  it("has a signal that is aborted when the kernel closes", async () => {
    const { begun, made } = hanging()
    const kernel = await TestKernel.open([callTool("order")], { hosted: [made] })
    await kernel.start({ content: "?" })
    const signal = await Effect.runPromise(begun)
    await kernel.close()
    assert.isTrue(signal.aborted)
  })
})

describe("no tool is made of", () => {
  const refused = (parameters: ToolParameters, name = "t") => {
    try {
      tool({ name, description: "", parameters, execute: () => null })
      return "made"
    } catch (error) {
      return String(error)
    }
  }

  it("nothing: parameters that were forgotten are not taken for none", () => {
    // @ts-expect-error: plain JavaScript does not see that they are missing.
    assert.include(refused(), "a schema of what it takes, or null")
  })

  it("a schema that yields no JSON Schema", () => {
    // @ts-expect-error: valibot's own schemas lack the JSON Schema part of the specification.
    assert.include(refused(valibotOrder), "toStandardJsonSchema")
    assert.include(refused(z.object({ at: z.date() })), "Date cannot be represented")
  })

  it("parameters that are not an object", () => {
    const message = "The parameters of a tool must be an object"
    assert.include(refused(z.string()), message)
    assert.include(refused(Schema.Array(Schema.String)), message)
    assert.include(refused({ type: "string" }), message)
    assert.include(refused(z.union([z.object({ a: z.string() }), z.object({ b: z.string() })])), message)
  })

  it("JSON Schema with a keyword that cannot be checked: nothing is checked by half", () => {
    assert.include(refused({ type: "object", properties: { a: { not: { type: "string" } } } }), "properties.a.not")
    assert.include(refused({ type: "object", if: { required: ["a"] }, else: { required: ["b"] } }), "if: ")
  })

  it("a name that providers refuse", () => {
    assert.include(refused(null, "get weather"), "1 to 64 characters")
  })
})

describe("the types of a tool", () => {
  it("are those of its schema", () => {
    const named = { name: "t", description: "" }
    tool({
      ...named,
      parameters: z.object({ city: z.string(), days: z.number().optional(), at: z.iso.date() }),
      execute: (args, context) => {
        expectTypeOf(args).toEqualTypeOf<{ city: string; days?: number | undefined; at: string }>()
        expectTypeOf(context).toEqualTypeOf<ToolContext>()
      }
    })
    tool({
      ...named,
      parameters: toStandardJsonSchema(v.object({ city: v.string(), days: v.optional(v.number(), 3) })),
      execute: (args) => expectTypeOf(args).toEqualTypeOf<{ city: string; days: number }>()
    })
    tool({
      ...named,
      parameters: Schema.Struct({ city: Schema.String, at: Schema.Date }),
      execute: (args) => expectTypeOf(args).toEqualTypeOf<{ readonly city: string; readonly at: Date }>()
    })
    tool({
      ...named,
      parameters: { type: "object", properties: { city: { type: "string" } } },
      execute: (args) => expectTypeOf(args).toEqualTypeOf<Schema.JsonObject>()
    })
  })
})

const dated = tool({
  name: "day",
  description: "",
  parameters: Schema.Struct({ at: Schema.Date }),
  execute: ({ at }) => at.getUTCFullYear()
})
calls("an Effect schema reads JSON: a date is given as text", dated, { at: "2001-02-03T00:00:00Z" }, (result) =>
  assert.strictEqual(result, "2001")
)
