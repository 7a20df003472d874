/** Hosted tools of real MCP servers: a program over standard input and output, and a server over streamable HTTP. */
import { HostedTools, Kernel, Principal, Turns } from "@colloquy/core"
import { StreamableHTTPServerTransport } from "@modelcontextprotocol/sdk/server/streamableHttp.js"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import * as Schedule from "effect/Schedule"
import { randomUUID } from "node:crypto"
import { createServer, type Server } from "node:http"
import type { AddressInfo } from "node:net"
import { fileURLToPath } from "node:url"
import { InMemory } from "../../src/in-memory/index.ts"
import { Mcp } from "../../src/mcp/index.ts"
import { callTool, say, type ScriptStep, ScriptedModel } from "@colloquy/testing"
import { makeToolServer } from "./ToolServer.ts"

const program: Mcp.McpServer = {
  name: "desk",
  command: process.execPath,
  args: ["--conditions=colloquy-source", fileURLToPath(new URL("ToolServerProcess.ts", import.meta.url))]
}

const kernel = (servers: ReadonlyArray<Mcp.McpServer>, script: ReadonlyArray<ScriptStep>) =>
  Mcp.layer(servers, { startTimeout: "20 seconds" }).pipe(
    Layer.provideMerge(Kernel.layer),
    Layer.provideMerge(Layer.mergeAll(ScriptedModel.layer(script), InMemory.layer))
  )

const names = HostedTools.use((tools) => Effect.sync(() => tools.all().map(({ definition }) => definition.name)))

/** What the model was told by its tools in the last request. */
const told = Effect.map(ScriptedModel, (model) =>
  (model.requests.at(-1)?.messages ?? []).flatMap((message) => (message.role === "tool" ? [message.output] : []))
)

const send = Turns.use((turns) => turns.send({ content: "?" }))

const untilOffered = (wanted: (all: ReadonlyArray<string>) => boolean) =>
  Effect.repeat(names, { until: wanted, schedule: Schedule.spaced("10 millis") })

const until = (holds: () => boolean) =>
  Effect.repeat(Effect.sync(holds), { until: (held) => held, schedule: Schedule.spaced("10 millis") })

/** Servers with sessions, on a port that stays when they are started again. */
const overHttp = Effect.acquireRelease(
  Effect.promise(async () => {
    const seen = { waiting: false, cancelled: false, keys: new Array<string | undefined>() }
    const sessions = new Map<
      string,
      { readonly handle: StreamableHTTPServerTransport; readonly tools: ReturnType<typeof makeToolServer> }
    >()
    const begin = async () => {
      const tools = makeToolServer(seen)
      const handle = new StreamableHTTPServerTransport({
        sessionIdGenerator: randomUUID,
        onsessioninitialized: (id) => void sessions.set(id, { handle, tools })
      })
      await tools.server.connect(handle)
      return handle
    }
    const server: Server = createServer((request, response) => {
      seen.keys.push(request.headers["x-key"]?.toString())
      const id = request.headers["mcp-session-id"]?.toString()
      const known = id === undefined ? undefined : sessions.get(id)
      if (id !== undefined && known === undefined) return void response.writeHead(404).end()
      void (known === undefined ? begin() : Promise.resolve(known.handle)).then((handle) =>
        handle.handleRequest(request, response)
      )
    })
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
    const { port } = server.address() as AddressInfo
    const forget = async () => {
      for (const { handle } of sessions.values()) await handle.close()
      sessions.clear()
    }
    const stop = async () => {
      await forget()
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    }
    const again = () => new Promise<void>((resolve) => server.listen(port, "127.0.0.1", resolve))
    return { seen, sessions, forget, stop, again, url: `http://127.0.0.1:${port}/mcp` }
  }),
  ({ stop }) => Effect.promise(stop)
)

const story = <A, E>(
  name: string,
  servers: ReadonlyArray<Mcp.McpServer>,
  script: ReadonlyArray<ScriptStep>,
  body: Effect.Effect<A, E, Turns | HostedTools | ScriptedModel | Principal>
) => it.live(name, () => body.pipe(Principal.provide("ada"), Effect.provide(kernel(servers, script))))

describe("a program's tools", () => {
  story(
    "are offered under its name, all pages of them, and answer the model",
    [program],
    [callTool("desk_echo", { text: "hello" }), say("Done.")],
    Effect.gen(function* () {
      assert.deepStrictEqual(yield* names, [
        "desk_book",
        "desk_break",
        "desk_echo",
        "desk_leave",
        "desk_look_at",
        "desk_refuse",
        "desk_wait"
      ])
      assert.strictEqual((yield* send).content, "Done.")
      assert.deepStrictEqual(yield* told, ["You said: hello"])
    })
  )

  story(
    "tell the model what went wrong, and name what is no text",
    [program],
    [
      [callTool("desk_break", {}, "a"), callTool("desk_look_at", {}, "b"), callTool("desk_refuse", {}, "c")],
      say("Done.")
    ],
    Effect.gen(function* () {
      yield* send
      assert.deepStrictEqual(yield* told, [
        "Error: The disk is full.",
        "[image of type image/png, not shown]\nA tree.",
        "Error: text must not be empty"
      ])
    })
  )

  story(
    "are those that the host wants, each in its time",
    [{ ...program, tools: (name) => name === "wait", timeout: "50 millis" }],
    [callTool("desk_wait", {}), say("Done.")],
    Effect.gen(function* () {
      assert.deepStrictEqual(yield* names, ["desk_wait"])
      yield* send
      assert.deepStrictEqual(yield* told, ["Error: the tool did not answer within 50ms."])
    })
  )

  story(
    "fail in words when the program ends, and come back with it",
    [program],
    [callTool("desk_leave", {}), say("Sorry."), callTool("desk_echo", { text: "again" }), say("Done.")],
    Effect.gen(function* () {
      assert.strictEqual((yield* send).content, "Sorry.")
      assert.deepStrictEqual(yield* told, [
        "Error: the server of this tool (desk) cannot be reached. Continue without this tool."
      ])
      yield* untilOffered((all) => all.length === 0)
      yield* untilOffered((all) => all.includes("desk_echo"))
      yield* send
      assert.deepStrictEqual(yield* told, ["You said: again"])
    })
  )

  story(
    "that is not there hold up nothing",
    [{ name: "nobody", command: "/no/such/program" }, program],
    [say("Done.")],
    Effect.gen(function* () {
      assert.notInclude((yield* names).join(), "nobody")
      assert.strictEqual((yield* send).content, "Done.")
    })
  )

  story(
    "keep the names that others have taken",
    [program, { ...program }],
    [callTool("desk_echo", { text: "one" }), say("Done.")],
    Effect.gen(function* () {
      assert.strictEqual((yield* names).filter((name) => name === "desk_echo").length, 1)
      yield* send
      assert.deepStrictEqual(yield* told, ["You said: one"])
    })
  )
})

describe("a server's tools over HTTP", () => {
  it.live("come with the host's headers, follow the server's list, and are cancelled with the run", () =>
    Effect.gen(function* () {
      const there = yield* overHttp
      const server = { name: "web", url: there.url, headers: { "x-key": Redacted.make("secret") } }
      yield* Effect.gen(function* () {
        assert.include(yield* names, "web_echo")
        assert.isTrue(there.seen.keys.every((key) => key === "secret"))
        yield* send
        assert.deepStrictEqual(yield* told, ["You said: hello"])
        for (const { tools } of there.sessions.values()) yield* Effect.promise(() => tools.offer(["fresh"]))
        yield* untilOffered((all) => all.includes("web_fresh"))

        const turns = yield* Turns
        const turn = yield* turns.start({ content: "?", stream: true })
        yield* until(() => there.seen.waiting)
        yield* turns.cancel(turn.threadId, turn.runId)
        yield* until(() => there.seen.cancelled)
      }).pipe(
        Principal.provide("ada"),
        Effect.provide(
          kernel([server], [callTool("web_echo", { text: "hello" }), say("Done."), callTool("web_wait", {})])
        )
      )
    }).pipe(Effect.scoped)
  )

  it.live("come back after the server was started again", () =>
    Effect.gen(function* () {
      const there = yield* overHttp
      yield* Effect.gen(function* () {
        assert.include(yield* names, "web_echo")
        yield* Effect.promise(there.stop)
        yield* send
        assert.deepStrictEqual(yield* told, [
          "Error: the server of this tool (web) cannot be reached. Continue without this tool."
        ])
        yield* untilOffered((all) => all.length === 0)
        yield* Effect.promise(there.again)
        yield* untilOffered((all) => all.includes("web_echo"))
        yield* send
        assert.deepStrictEqual(yield* told, ["You said: hello"])
      }).pipe(
        Principal.provide("ada"),
        Effect.provide(
          kernel(
            [{ name: "web", url: there.url }],
            [callTool("web_echo", { text: "?" }), say("Sorry."), callTool("web_echo", { text: "hello" }), say("Done.")]
          )
        )
      )
    }).pipe(Effect.scoped)
  )
})
