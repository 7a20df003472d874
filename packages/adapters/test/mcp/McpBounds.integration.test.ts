/** MCP servers that misbehave: each loses its own tools and nothing else. A second, well-behaved server is asked all the while. */
import { HostedTools, Kernel, Principal, Turns } from "@colloquy/core"
import { assert, describe, it } from "@effect/vitest"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Logger from "effect/Logger"
import * as Schedule from "effect/Schedule"
import { createServer, type RequestListener } from "node:http"
import type { AddressInfo } from "node:net"
import { text } from "node:stream/consumers"
import { fileURLToPath } from "node:url"
import { InMemory } from "../../src/in-memory/index.ts"
import { boundedFetch, messageCounter } from "../../src/mcp/Bounds.ts"
import { connect } from "../../src/mcp/Connection.ts"
import { Mcp } from "../../src/mcp/index.ts"
import { isUsableSchema } from "../../src/protocols/UsableSchema.ts"
import { callTool, say, type ScriptStep, ScriptedModel } from "@colloquy/testing"

const script = (name: string, ...args: ReadonlyArray<string>) => ({
  command: process.execPath,
  args: ["--conditions=colloquy-source", fileURLToPath(new URL(name, import.meta.url)), ...args]
})
const good: Mcp.McpServer = { name: "good", ...script("HostileProcess.ts", "well") }

/** Answers `tools/list` and `tools/call` with what the test gives, over HTTP. */
const hostileServer = (list: (cursor: unknown) => unknown, call: () => unknown = () => ({ content: [] })) =>
  Effect.acquireRelease(
    Effect.promise(async () => {
      const server = createServer((request, response) => {
        void text(request).then((body) => {
          if (request.method !== "POST") return response.writeHead(405).end()
          const { id, method, params } = JSON.parse(body)
          if (id === undefined) return response.writeHead(202).end()
          if (method === "server/discover") return response.writeHead(400).end()
          const serverInfo = { name: "hostile", version: "1" }
          const result =
            method === "initialize"
              ? { protocolVersion: "2025-06-18", capabilities: { tools: {} }, serverInfo }
              : method === "tools/list"
                ? list(params?.cursor)
                : call()
          return response
            .writeHead(200, { "content-type": "application/json" })
            .end(JSON.stringify({ jsonrpc: "2.0", id, result }))
        })
      })
      await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
      return server
    }),
    (server) =>
      Effect.promise(async () => {
        server.closeAllConnections()
        await new Promise((resolve) => server.close(resolve))
      })
  ).pipe(
    Effect.map((server): Mcp.McpServer => ({
      name: "bad",
      url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`
    }))
  )

const names = HostedTools.use((tools) => Effect.sync(() => tools.all().map(({ definition }) => definition.name)))
const told = Effect.map(ScriptedModel, (model) =>
  (model.requests.at(-1)?.messages ?? []).flatMap((message) => (message.role === "tool" ? [message.output] : []))
)
const offered = Effect.map(ScriptedModel, (model) => (model.requests.at(-1)?.tools ?? []).map(({ name }) => name))
const send = (fields: Partial<Parameters<typeof Turns.Service.send>[0]> = {}) =>
  Turns.use((turns) => turns.send({ content: "?", ...fields }))

const story = <A, E>(
  title: string,
  bad: Effect.Effect<Mcp.McpServer, never, never> | ReturnType<typeof hostileServer>,
  steps: ReadonlyArray<ScriptStep>,
  body: (notes: ReadonlyArray<string>) => Effect.Effect<A, E, Turns | HostedTools | ScriptedModel | Principal>
) =>
  it.live(title, () =>
    Effect.gen(function* () {
      const notes: Array<string> = []
      const logger = Logger.make(({ message }) => void notes.push(String(message)))
      const kernel = Mcp.layer([yield* bad, good], { startTimeout: "20 seconds" }).pipe(
        Layer.provideMerge(Kernel.layer),
        Layer.provideMerge(
          Layer.mergeAll(ScriptedModel.layer(steps, { info: { contextLimit: 8_000 } }), InMemory.layer)
        ),
        Layer.provide(Logger.layer([logger]))
      )
      yield* body(notes).pipe(Principal.provide("ada"), Effect.provide(kernel))
    }).pipe(Effect.scoped)
  )

const one = (name: string, inputSchema: unknown = { type: "object" }, description = name) => ({
  name,
  inputSchema,
  description
})
const nested = (depth: number): unknown =>
  depth === 0 ? { type: "string" } : { type: "object", properties: { a: nested(depth - 1) } }

describe("a server beyond its bounds", () => {
  story(
    "with an answer of megabytes tells the model so, and the other server answers",
    hostileServer(
      () => ({ tools: [one("big")] }),
      () => ({ content: [{ type: "text", text: "x".repeat(3_000_000) }] })
    ),
    [[callTool("bad_big", {}, "a"), callTool("good_echo", {}, "b")], say("Done.")],
    () =>
      Effect.gen(function* () {
        assert.strictEqual((yield* send()).status, "COMPLETED")
        assert.deepStrictEqual(yield* told, [
          "Error: the server of this tool (bad) sent a message of more than 2 MB. Continue without this tool.",
          "well"
        ])
      })
  )

  story(
    "with a line without an end is disconnected",
    Effect.succeed({ name: "bad", ...script("HostileProcess.ts", "line") }),
    [[callTool("bad_echo", {}, "a"), callTool("good_echo", {}, "b")], say("Done.")],
    () =>
      Effect.gen(function* () {
        assert.strictEqual((yield* send()).status, "COMPLETED")
        assert.deepStrictEqual(yield* told, [
          "Error: the server of this tool (bad) sent a message of more than 2 MB. Continue without this tool.",
          "well"
        ])
      })
  )

  story(
    "with a flood of notifications loses its tools, with a note",
    Effect.succeed({ name: "bad", ...script("HostileProcess.ts", "flood") }),
    [callTool("good_echo", {}), say("Done.")],
    (notes) =>
      Effect.gen(function* () {
        yield* Effect.repeat(
          Effect.sync(() => notes.join("\n")),
          {
            until: (all) => all.includes("it sent more than 200 messages within a second"),
            schedule: Schedule.spaced("10 millis")
          }
        )
        yield* Effect.repeat(names, {
          until: (all) => !all.includes("bad_echo"),
          schedule: Schedule.spaced("10 millis")
        })
        yield* send()
        assert.deepStrictEqual(yield* told, ["well"])
      })
  )

  story(
    "with pages without an end offers the first of them, with a note",
    hostileServer((cursor) => ({
      tools: cursor === undefined ? [one("first")] : [],
      nextCursor: `${Number(cursor ?? 0) + 1}`
    })),
    [callTool("good_echo", {}), say("Done.")],
    (notes) =>
      Effect.gen(function* () {
        assert.deepStrictEqual(yield* names, ["bad_first", "good_echo"])
        assert.include(notes.join("\n"), "more than 128 tools, or 32 pages of them")
        yield* send()
      })
  )

  story(
    "with malformed, deep and huge definitions offers the others, with a note",
    hostileServer(() => ({
      tools: [
        one("deep", nested(2_000)),
        one("broken", { type: "object", properties: { a: 7 } }),
        one("odd", { type: "text" }),
        one("wide", {
          type: "object",
          properties: Object.fromEntries(Array.from({ length: 3000 }, (_, i) => [`p${i}`, {}]))
        }),
        one("", {}),
        7,
        one("fine", nested(3), "y".repeat(1_000_000))
      ]
    })),
    [say("Done.")],
    (notes) =>
      Effect.gen(function* () {
        assert.deepStrictEqual(yield* names, ["bad_fine", "good_echo"])
        assert.include(notes.join("\n"), "6 tools of the MCP server bad are not offered")
        assert.strictEqual((yield* send()).status, "COMPLETED")
      })
  )

  story(
    "with more definitions than a window holds leaves the window to the conversation",
    hostileServer(() => ({
      tools: Array.from({ length: 20 }, (_, index) => one(`tool${index}`, { type: "object" }, "z".repeat(3_000)))
    })),
    [say("Done.")],
    () =>
      Effect.gen(function* () {
        assert.isAbove((yield* names).length, 10)
        assert.strictEqual((yield* send()).status, "COMPLETED")
        const seen = yield* offered
        assert.include(seen, "good_echo")
        assert.isBelow(seen.length, 4)
      })
  )

  story(
    "whose tool has the name of a client's tool never makes a message a 422",
    hostileServer(() => ({ tools: [one("get"), one("other")] })),
    [say("Done.")],
    () =>
      Effect.gen(function* () {
        const tools = [{ name: "bad_get", description: "the client's", parameters: null }]
        assert.strictEqual((yield* send({ tools })).status, "COMPLETED")
        assert.deepStrictEqual(yield* offered, ["bad_other", "good_echo", "bad_get"])
      })
  )
})

const listening = (answer: RequestListener) =>
  Effect.acquireRelease(
    Effect.promise(async () => {
      const server = createServer(answer)
      await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
      return server
    }),
    (server) => Effect.sync(() => server.close().closeAllConnections())
  ).pipe(Effect.map((server) => `http://127.0.0.1:${(server.address() as AddressInfo).port}/`))

it.live.each(["\n", "\r\n"])("a stream of small events is not too large, line by line with the line end %j", (end) =>
  Effect.gen(function* () {
    const lines = Array.from({ length: 50 }, () => ["event: message", `data: ${"x".repeat(50_000)}`, ""]).flat()
    const url = yield* listening((_, response) => {
      response.writeHead(200, { "content-type": "text/event-stream" })
      const pieces = lines.flatMap((line) => [line, ...end.split("")]).filter((piece) => piece !== "")
      const more = (): void => {
        const piece = pieces.shift()
        if (piece === undefined) response.end()
        else response.write(piece, () => setImmediate(more))
      }
      more()
    })
    const problems: Array<string> = []
    const response = yield* Effect.promise(() => boundedFetch((problem) => void problems.push(problem))(url))
    const received = yield* Effect.promise(() => response.text())
    assert.deepStrictEqual(problems, [])
    assert.strictEqual(received, lines.map((line) => line + end).join(""))
  }).pipe(Effect.scoped)
)

it.live("a program that never answers does not keep those who stop waiting for it, and is ended", () =>
  Effect.gen(function* () {
    const asked = yield* Deferred.make<void>()
    const left = yield* Deferred.make<void>()
    const url = yield* listening((_, response) => {
      Deferred.doneUnsafe(asked, Effect.void)
      response.once("close", () => Deferred.doneUnsafe(left, Effect.void))
    })
    // This program tells us by a request of its own that it runs.
    const args = ["-e", `require("node:http").get("${url}").on("error", () => {})`]
    const silent = { name: "silent", command: process.execPath, args }
    const connecting = yield* Effect.forkChild(Effect.scoped(connect(silent, () => {})))
    yield* Deferred.await(asked)
    yield* Fiber.interrupt(connecting)
    yield* Deferred.await(left)
  }).pipe(Effect.scoped)
)

it("a schema is usable when vendors read it", () => {
  const usable = [
    { type: "object" },
    {
      type: "object",
      properties: { a: { type: ["string", "null"] }, b: { anyOf: [{ $ref: "#/$defs/c" }, true] } },
      $defs: { c: {} }
    },
    {
      type: "object",
      properties: { list: { type: "array", items: { enum: [1, "a"] } } },
      required: ["list"],
      additionalProperties: false
    }
  ]
  const broken = [
    null,
    [],
    { type: "array" },
    {},
    { type: "object", required: "a" },
    { type: "object", properties: [] },
    { type: "object", properties: { a: { anyOf: {} } } }
  ]
  assert.deepStrictEqual([...usable, ...broken].map(isUsableSchema), [
    ...usable.map(() => true),
    ...broken.map(() => false)
  ])
})

it("messages are counted by the second", () => {
  const problems: Array<string> = []
  let now = 0
  const count = messageCounter(
    (problem) => void problems.push(problem),
    () => now
  )
  for (let second = 0; second < 5; second++) {
    now = second * 1001
    for (let message = 0; message < 200; message++) count()
  }
  assert.deepStrictEqual(problems, [])
  count()
  assert.deepStrictEqual(problems, ["sent more than 200 messages within a second"])
})
