/**
 * What stands around a snippet when it is run: the values that its page speaks of (`before`), and what must hold when it has run (`after`).
 * A snippet without a frame is a whole program and is run as it stands. Frames of other snippets, and those that nothing matches, fail the
 * test, so a snippet that is changed or added is looked at here.
 */
export interface Frame {
  readonly page: string
  /** A line of the snippet that no other snippet of the page has. */
  readonly has: string
  readonly before?: string
  readonly after?: string
  /** What the program must print. */
  readonly prints?: string | RegExp
  /** Names in the snippet that mean another machine, and what stands for them in the test. */
  readonly instead?: ReadonlyArray<readonly [string, string]>
  /** It connects to the Postgres server of the tests, by DATABASE_URL. */
  readonly needsPostgres?: boolean
  /** It is a test itself, for vitest. */
  readonly isTest?: boolean
  /** It is a file of the repository, which that test runs. */
  readonly runBy?: { readonly file: string; readonly test: string }
}

const stage = `import { listen, providers, providersOptions, send, stores } from "../../test/snippets/Stage.ts"
import assert from "node:assert"
`

/** A kernel of the demo model, for the pages about what stands around one. */
const kernel = `${stage}import { Kernel } from "@colloquy/core"
import * as KernelLayer from "effect/Layer"
const kernel = Kernel.layer.pipe(KernelLayer.provide([providers, stores]))
`

const url = `import * as Secret from "effect/Redacted"
const url = Secret.make(process.env["DATABASE_URL"] ?? "")
`

const says = (name: string) => `
const reply = await send(${name}, { content: "Count to 3" })
assert.deepStrictEqual([reply.status, reply.content], ["COMPLETED", "1 2 3"])
`

/** A kernel over the stores of a snippet, used once. */
const usesStores = (name: string) => `
import { Kernel } from "@colloquy/core"
import * as KernelLayer from "effect/Layer"
const kernel = Kernel.layer.pipe(KernelLayer.provide([providers, ${name}]))
${says("kernel")}`

/** A page of the cookbook is a file of the examples. */
const cooked = (name: string, has: string): Frame => ({
  page: "docs/cookbook.md",
  has,
  runBy: { file: `examples/cookbook/${name}.ts`, test: "examples/cookbook/cookbook.integration.test.ts" }
})

/** A wing of `webHandler` on a server of `node:http`, and what a client gets there. */
const served = (page: string, wing: string, asks: string): Frame => ({
  page,
  has: `webHandler({ kernel, wings: [${wing}], authenticate`,
  instead: [["3000", "0"]],
  before: 'import assert from "node:assert"\n',
  after: `
await new Promise((resolve) => server.once("listening", resolve))
const address = server.address()
const url = "http://127.0.0.1:" + (typeof address === "object" ? address?.port : "")
const headers = { "content-type": "application/json", accept: "application/json, text/event-stream" }
const post = (path: string, body: string) => fetch(url + path, { method: "POST", headers, body })
${asks}
server.closeAllConnections()
server.close()
await ai.dispose()
`
})

export const frames: ReadonlyArray<Frame> = [
  cooked("terminal-chat", "createInterface({"),
  cooked("express-sessions", "express-session"),
  cooked("documents", "rooms: [documents()]"),
  cooked("memory", "rooms: [memory()]"),
  cooked("gateway", "GATEWAY_URL"),
  {
    ...cooked("virtual-time.test", 'fail("overloaded")'),
    runBy: { file: "examples/cookbook/virtual-time.test.ts", test: "examples/cookbook/virtual-time.test.ts" }
  },
  cooked("use-chat", "chatRoute({"),
  cooked("guarded-loop", "parts: [noKeys]"),
  cooked("object-from-text", "output: Order"),
  cooked("approval", "colloquy.approvals.list()"),
  { page: "README.md", has: 'from "colloquy/testing"', prints: "It is sunny in Paris." },
  {
    page: "README.md",
    has: "ScriptedModel.layer([",
    prints: "REQUIRES_ACTION get_weather\nCOMPLETED It is sunny in Paris.\n"
  },
  ...(
    [
      ["await Colloquy.open(", "Hello again."],
      ["webHandler({ kernel", null]
    ] as const
  ).map(([has, own]): Frame => ({
    page: "docs/express.md",
    has,
    instead: [["3000", "0"]],
    before: 'import assert from "node:assert"\n',
    after: `
await new Promise((resolve) => server.once("listening", resolve))
const address = server.address()
const url = "http://127.0.0.1:" + (typeof address === "object" ? address?.port : "")
const headers = { "content-type": "application/json" }
const events = await fetch(url + "/ai/threads/messages", { method: "POST", headers, body: '{"content": "Hi", "stream": true}' })
assert.match(await events.text(), /Hello, [^]*Ada\\./)
${own === null ? "" : `assert.strictEqual(await (await fetch(url + "/hello")).text(), "${own}")`}
server.close()
`
  })),
  { page: "docs/own-model.md", has: "provider({", prints: "I have read 1 message.\n" },
  { page: "docs/own-model.md", has: "const parrot: Provider", prints: "1 message\n" },
  {
    page: "docs/costs.md",
    has: "quota: (owner)",
    prints: /^Hello\.\nThe limit of 1 turns a minute is reached/u
  },
  { page: "docs/costs.md", has: "Layer.succeed(Quotas", prints: /^The limit of 1 turns a minute is reached/u },
  { page: "docs/delete-a-user.md", has: "await Colloquy.open(", prints: "0 threads are left\n" },
  {
    page: "docs/studio.md",
    has: "authorize:",
    before: `import assert from "node:assert"
`,
    after: `
const server = app.listen(0)
await new Promise((resolve) => server.once("listening", resolve))
const address = server.address()
const url = "http://127.0.0.1:" + (typeof address === "object" ? address?.port : "")
assert.strictEqual((await fetch(url + "/admin/studio")).status, 403)
const login = await fetch(url + "/login/ada", { method: "POST" })
const headers = { cookie: login.headers.getSetCookie().join("; ") }
const shown = await (await fetch(url + "/admin/studio", { headers })).text()
assert.match(shown, /name="api-base" content="\\/ai"/)
server.close()
await colloquy.close()
`
  },
  { page: "docs/answers.md", has: "rooms: [answers()]", prints: "{ type: 'noul', noul: 0.9 }\n" },
  { page: "docs/answers.md", has: "Answers.use(", prints: "stated { type: 'noul', noul: 0.9 }\n" },
  { page: "docs/files.md", has: "ocr: true", prints: /^Tea Tea\n\nis a drink of leaves\.\n$/u },
  {
    page: "docs/files.md",
    has: "TesseractReader.layer()",
    before: 'import assert from "node:assert"\n',
    after: `
import { fileTypeForExtension, TextExtractor } from "@colloquy/core/documents"
import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"
const type = fileTypeForExtension("html")
assert.ok(type)
const bytes = new TextEncoder().encode("<h1>Tea</h1><p>is a drink")
const read = TextExtractor.use((files) => files.extract({ type, size: bytes.length, bytes: Stream.make(bytes) }))
const [section] = await Effect.runPromise(Effect.provide(read, extractor))
assert.strictEqual(section?.text, "Tea\\n\\nis a drink")
`
  },
  ...["docs/http.md", "packages/http/README.md"].map((page) => ({
    page,
    has: 'const ai = webHandler({ kernel, basePath: "/ai" })',
    before: kernel,
    after: `
assert.strictEqual((await ai.handler(new Request("http://host/ai/threads"))).status, 401)
assert.strictEqual((await ai.handler(new Request("http://host/ai/openapi.json"))).status, 200)
await ai.dispose()
`
  })),
  {
    page: "docs/http.md",
    has: "scope.removeAllContentTypeParsers()",
    before: `${kernel}import { webHandler } from "@colloquy/http"
import fastify from "fastify"
const app = fastify()
const ai = webHandler({ kernel, basePath: "/ai", authenticate: () => "ada" })
`,
    after: `
const at = await app.listen({ port: 0, host: "127.0.0.1" })
const answer = await fetch(at + "/ai/threads/messages", { method: "POST", body: JSON.stringify({ content: "Count to 3" }), headers: { "content-type": "application/json" } })
assert.match(await answer.text(), /"content":"1 2 3"/)
await app.close()
await ai.dispose()
`
  },
  {
    page: "docs/http.md",
    has: "declare global {",
    before: kernel,
    after: `
assert.strictEqual((await globalThis.ai?.handler(new Request("http://host/ai/threads")))?.status, 401)
await ai.dispose()
`
  },
  {
    page: "docs/http.md",
    has: 'import { routes } from "@colloquy/http"',
    before: `${kernel}import * as HttpRouter from "effect/http/HttpRouter"
import * as HttpServerResponse from "effect/http/HttpServerResponse"
const myRoutes = HttpRouter.add("GET", "/mine", HttpServerResponse.text("mine"))
`,
    after: `
const { handler, dispose } = HttpRouter.toWebHandler(app)
assert.strictEqual(await (await handler(new Request("http://host/mine"))).text(), "mine")
assert.strictEqual((await handler(new Request("http://host/ai/threads"))).status, 401)
await dispose()
`
  },
  {
    page: "docs/http.md",
    has: 'process.once("SIGTERM"',
    before: `${kernel}import { webHandler } from "@colloquy/http"
import { once } from "node:events"
import { createServer } from "node:http"
const ai = webHandler({ kernel })
await ai.ready()
const server = createServer(ai.node)
await once(server.listen(0, "127.0.0.1"), "listening")
`,
    after: `
const closed = once(server, "close")
process.kill(process.pid, "SIGTERM")
await closed
assert.strictEqual(server.listening, false)
`
  },
  {
    page: "docs/http.md",
    has: "Client.connect({",
    instead: [["https://api.example/ai", "{API}"]],
    before: `const apiKey = process.env["KEY"] ?? ""
const { assistant_id }: { assistant_id: string } = JSON.parse(await (await fetch("{API}/assistants", { method: "POST", body: '{"name": "A"}', headers: { "x-api-key": apiKey, "content-type": "application/json" } })).text())
const thread = await fetch("{API}/assistants/" + assistant_id + "/threads", { method: "POST", headers: { "x-api-key": apiKey } })
const { thread_id: threadId }: { thread_id: string } = JSON.parse(await thread.text())
`,
    after: `
const { messages } = await client.threads.get(threadId)
process.stdout.write(messages.at(-1)?.status === "COMPLETED" ? "|stored" : "|not stored")
`,
    prints: /You said: "Hello"[^]*\|stored$/u
  },
  {
    page: "docs/media.md",
    has: "images({ model:",
    instead: [['openai({ apiKey: process.env["OPENAI_API_KEY"] })', "openai({ baseUrl: vendor.url })"]],
    before: `import { imageVendor, listen } from "../../test/snippets/Stage.ts"
const vendor = await listen(imageVendor)
`,
    after: "await vendor.stop()",
    prints: "Here is your fox.\nimage/png\n"
  },
  {
    page: "docs/web-search.md",
    has: "webSearch: ",
    instead: [['"http://localhost:8888"', "engine.url"]],
    before: `import { listen, searchEngine } from "../../test/snippets/Stage.ts"
const engine = await listen(searchEngine)
`,
    after: "await engine.stop()",
    prints: "They dig [1].\n[1] Foxes: https://foxes.example/\n"
  },
  ...["docs/media.md", "docs/web-search.md"].map((page) => ({
    page,
    has: "export const kernelWith",
    runBy: {
      file: "examples/search-and-images/kernel.ts",
      test: "examples/search-and-images/search-and-images.test.ts"
    }
  })),
  { page: "docs/tools.md", has: "const orderStatus: HostedTool", prints: "It is on its way.\n" },
  { page: "docs/tools.md", has: "const moodWing: Wing", prints: /mood: 'kind'[^]*content: 'Well done\.'/ },
  { page: "docs/documents.md", has: "documents.upload({ scope", prints: "At noon [d1]. house.md\n" },
  ...['"colloquy/documents"', "citationsIn("].map((has) => ({
    page: "docs/citations.md",
    has,
    prints: "[d1] is handbook.md: Employees have thirty days of holiday a year.\n"
  })),
  { page: "docs/conversations.md", has: "conversations.fork({ threadId })", prints: "Coffee. true\n" },
  { page: "docs/evals.md", has: "evals.summarizeExperiment(", prints: "completed 1\n" },
  { page: "docs/helpers.md", has: "ScriptedModel.layer(script)", prints: "He says: Tea, tea.\n" },
  { page: "docs/objects.md", has: "Outputs.layer()", prints: "{ item: 'tea', count: 2 }\n" },
  { page: "docs/versions.md", has: "assistants.versions(guide.id", prints: "2,1\n2\n" },
  { page: "docs/versions.md", has: "assistantDiff }", prints: "description,systemPrompt\n2\n" },
  { page: "docs/helpers.md", has: "rooms: [helpers()]", prints: "He says: Tea, tea.\n" },
  { page: "docs/objects.md", has: 'from "zod"', prints: "2 tea\n" },
  {
    page: "docs/memory.md",
    has: "Memory.layer().pipe(",
    needsPostgres: true,
    before: stage + url,
    after: says("kernel")
  },
  {
    page: "docs/memory.md",
    has: "memories.learned(first)",
    prints: "In Oslo. [ 'Ada lives in Oslo.' ]\n"
  },
  {
    page: "docs/providers.md",
    has: 'import * as Anthropic from "@colloquy/adapters/anthropic"',
    before: 'import assert from "node:assert"\n',
    after: `
import { providerIds } from "../../test/snippets/Stage.ts"
assert.deepStrictEqual(await providerIds(providers), ["anthropic", "ollama"])
`
  },
  {
    page: "docs/providers.md",
    has: 'import * as AiSdk from "@colloquy/adapters/ai-sdk"',
    before: `${stage}import { createOpenAICompatible } from "@ai-sdk/openai-compatible"
const vendor = await listen((request, response) => {
  if (request.headers.authorization !== "Bearer ours") return void response.writeHead(401).end()
  response.writeHead(200, { "content-type": "text/event-stream" })
  const chunk = { id: "1", object: "chat.completion.chunk", created: 1, model: "m", choices: [{ index: 0, delta: { content: "From the vendor." }, finish_reason: "stop" }] }
  response.end("data: " + JSON.stringify(chunk) + "\\n\\ndata: [DONE]\\n\\n")
})
const ours = Redacted.make("ours")
const createAcme = (settings: { readonly apiKey: string }) => createOpenAICompatible({ name: "acme", baseURL: vendor.url, ...settings })
`,
    after: `
import { Kernel, Providers } from "@colloquy/core"
import * as Layer from "effect/Layer"
const models = Providers.layer({ providers: [acme], defaults: { provider: "acme", model: "m" } })
const reply = await send(Kernel.layer.pipe(Layer.provide([models, stores])), { content: "Hello" })
assert.strictEqual(reply.content, "From the vendor.")
await vendor.stop()
`
  },
  {
    page: "docs/providers.md",
    has: 'import { Answers } from "@colloquy/core/answers"',
    before: stage,
    after: `
import * as OpenAi from "@colloquy/adapters/openai"
import { Kernel, Principal, Providers } from "@colloquy/core"
import { oneToken } from "../../test/snippets/Stage.ts"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
const vendor = await listen(oneToken)
const models = Providers.layer({
  providers: [OpenAi.provider({ apiKey: Redacted.make("key"), baseUrl: vendor.url + "/v1" })],
  defaults: { provider: "openai", model: "gpt-4.1-mini" }
})
const kernel = Answers.layer().pipe(Layer.provideMerge(Kernel.layer), Layer.provide([models, stores]))
const { answers, method } = await Effect.runPromise(judged.pipe(Principal.provide("ada"), Effect.provide(kernel)))
assert.strictEqual(method, "logprobs")
assert.strictEqual(answers["topic"]?.type === "choice" && answers["topic"].choice, "refund")
await vendor.stop()
`
  },
  {
    page: "docs/realtime.md",
    has: "openaiVoice({",
    instead: [
      ['openaiVoice({ id: "openai", apiKey, models: { "gpt-realtime": {} } })', "demoVoice"],
      ["3000", "0"]
    ],
    before: `import { demoVoice } from "@colloquy/server/demo"
import { RealtimeClient } from "@colloquy/ws/client"
`,
    after: `
await new Promise((resolve) => server.once("listening", resolve))
const address = server.address()
const host = "127.0.0.1:" + (typeof address === "object" ? address?.port : "")
const ticket = await (await fetch("http://" + host + "/voice-ticket", { method: "POST" })).text()
await new Promise<void>((resolve) => {
  const client: RealtimeClient = new RealtimeClient({
    url: "ws://" + host + "/ai/threads/realtime",
    ticket,
    first: { provider: "demo", model: "demo-voice-1" },
    onClose: () => resolve(),
    onEvent: ({ type }) => {
      console.log(type)
      if (type === "session.begin") void client.stop()
    }
  })
})
await colloquy.realtime.drain()
server.close()
await colloquy.close()
`,
    prints: "session.begin\nsession.ended\n"
  },
  ...(
    [
      ["const voice = realtimeSocket(access)", "server.ts"],
      ["export const begin = async", "page.ts"]
    ] as const
  ).map(([has, file]) => ({
    page: "docs/realtime.md",
    has,
    runBy: { file: `examples/voice/${file}`, test: "examples/voice/voice.integration.test.ts" }
  })),
  { page: "docs/realtime.md", has: "TestRealtime.connect(", isTest: true },
  {
    page: "docs/storage.md",
    has: "maxConnections: 10",
    needsPostgres: true,
    before: stage.replace(", stores", ""),
    after: usesStores("stores")
  },
  { page: "docs/storage.md", has: "Postgres.migrate(", needsPostgres: true },
  {
    page: "docs/storage.md",
    has: "Postgres.layerFromClient(",
    needsPostgres: true,
    before: `${stage.replace(", stores", "")}${url}import * as PgClient from "@effect/sql-pg/PgClient"
const hostPgClient = PgClient.layer({ url })
`,
    after: usesStores("stores").replace('import * as KernelLayer from "effect/Layer"', "const KernelLayer = Layer")
  },
  {
    page: "docs/storage.md",
    has: "Postgres.layerFromPool(",
    needsPostgres: true,
    before: `${stage.replace(", stores", "")}import { Assistants, Kernel } from "@colloquy/core"
import * as Layer from "effect/Layer"
import * as Secret from "effect/Redacted"
const url = Secret.make(process.env["DATABASE_URL"] ?? "")
const earlier = Kernel.layer.pipe(Layer.provide([providers, Postgres.layer({ url, schema: "chat" })]))
const made = Assistants.use((assistants) => assistants.create({ name: "A" }))
const { id: assistantId } = await Effect.runPromise(made.pipe(Principal.provide("ada"), Effect.provide(earlier)))
`,
    after: `
await pool.query("create table orders (item text)")
const kernel = Kernel.layer.pipe(Layer.provideMerge(stores), Layer.provide(providers))
await Effect.runPromise(opened.pipe(Principal.provide("ada"), Effect.provide(kernel)))
const { rows } = await pool.query("select (select count(*)::int from chat.threads where assistant_id = $1) threads, (select count(*)::int from orders) orders", [assistantId])
assert.deepStrictEqual(rows, [{ threads: 1, orders: 1 }])
await pool.end()
`
  },
  {
    page: "docs/storage.md",
    has: 'Pglite.layer({ dataDir: ".colloquy/data" })',
    before: stage.replace(", stores", ""),
    after: usesStores("stores")
  },
  {
    page: "docs/storage.md",
    has: "FolderBlobs.layer(",
    needsPostgres: true,
    instead: [["/var/lib/colloquy/blobs", "blobs"]],
    before: `${stage.replace(", stores", "")}${url}const [bucket, region, accessKeyId, secretAccessKey] = ["b", "r", "id", Secret.make("key")] as const
`,
    after: `
${usesStores("stores").replace('import * as KernelLayer from "effect/Layer"', "const KernelLayer = Layer")}
await send(Kernel.layer.pipe(Layer.provide([providers, Layer.merge(Postgres.layer({ url }), inS3)])), { content: "Count to 3" })
`
  },
  {
    page: "docs/operations.md",
    has: "Otlp.layer({",
    runBy: { file: "examples/telemetry/service.ts", test: "examples/telemetry/telemetry.integration.test.ts" }
  },
  {
    page: "docs/realtime.md",
    has: 'import next from "next"',
    runBy: { file: "examples/voice/next/server.mjs", test: "examples/voice/voice.integration.test.ts" }
  },
  { page: "docs/testing.md", has: "TestKernel.open([" },
  { page: "docs/evals.md", has: "mentions the umbrella", isTest: true },
  { page: "docs/testing.md", has: 'it.effect("waits for its turn"', isTest: true },
  {
    page: "docs/without-effect.md",
    has: "ports: {",
    before: `import { provider } from "colloquy"
import { inMemory } from "colloquy/in-memory"
import assert from "node:assert"
const house = provider({ id: "house", models: ["m"], chat: async function* () { yield "Hello." } })
const options = { store: inMemory(), providers: [house], model: "m", owner: "ada" }
const booked: Array<string> = []
const readBalance = async (owner: string) => (owner === "ada" ? 1 : 0)
const book = (owner: string, leg: string, charges: ReadonlyArray<unknown>) =>
  void booked.push(owner + leg.slice(-2) + " " + charges.length)
`,
    after: `
await colloquy.send({ content: "Hi" })
assert.deepStrictEqual(booked, ["ada/0 1"])
await assert.rejects(colloquy.send({ content: "Hi" }, { owner: "bob" }), /Top up your account/)
await colloquy.close()
`
  },
  {
    page: "docs/without-effect.md",
    has: "export class Chat",
    before: `const apiKey = "sk-1"
interface Env {
  readonly CHAT: { readonly get: (id: string) => Chat; readonly idFromName: (name: string) => string }
}
`,
    after: `
const response = await new Chat().fetch(new Request("http://worker/ai/threads"))
if (response.status !== 200) throw new Error(await response.text())
`
  },
  {
    page: "docs/without-effect.md",
    has: "after: (text) => (text.includes(",
    before: `import { provider } from "colloquy"
import { inMemory } from "colloquy/in-memory"
import assert from "node:assert"
const answers = ["It is sk-1.", "BEGIN PRIVATE KEY"]
const options = {
  store: inMemory(),
  providers: [
    provider({
      id: "house",
      chat: async function* ({ messages }) {
        assert.ok(!JSON.stringify(messages).includes("sk-1"))
        yield answers.shift() ?? ""
      }
    })
  ],
  model: "m",
  owner: "ada"
}
`,
    after: `
const reply = await colloquy.send({ content: "My key is sk-1" })
assert.strictEqual(reply.content, "It is [key].")
assert.strictEqual((await colloquy.send({ content: "Hi" })).status, "FAILED")
await colloquy.close()
`
  },
  {
    page: "docs/guards.md",
    has: "const guardLayer =",
    before: `${stage}import { expect, say, ScriptedModel } from "@colloquy/testing"
import { Kernel } from "@colloquy/core"
import * as KernelLayer from "effect/Layer"
`,
    after: `
const model = ScriptedModel.layer([
  [expect(({ messages }) => assert.ok(!JSON.stringify(messages).includes("sk-1"))), say("It is sk", "-1.")]
])
const kernel = guardLayer.pipe(KernelLayer.provideMerge(Kernel.layer), KernelLayer.provide([model, stores]))
assert.strictEqual((await send(kernel, { content: "My key is sk-1" })).content, "It is [key].")
`
  },
  {
    page: "docs/tools.md",
    has: "client.messages.send(threadId",
    before: `import { Client } from "@colloquy/http"
import assert from "node:assert"
const client = await Client.connect({ baseUrl: "{API}", apiKey: process.env["KEY"] ?? "" })
const { assistant_id } = await client.assistants.create({ name: "A" })
const threadId = (await client.assistants.createThread(assistant_id)).thread_id
`,
    after: `
assert.strictEqual(asked.status, "REQUIRES_ACTION")
const { messages } = await client.threads.get(threadId)
assert.match(messages.at(-1)?.content ?? "", /12 degrees, rain/)
`
  },
  { page: "docs/tools.md", has: "const orderStatus = tool({", prints: "It is on its way.\n" },
  { page: "docs/approvals.md", has: "HostedTools.tools([refund])", prints: "You get it back.\n" },
  { page: "docs/conversations.md", has: "kernel.regenerate({", prints: "What shall I drink? Coffee. true\n" },
  {
    page: "docs/conversations.md",
    has: 'createReadStream("conversations.json")',
    before: `import { TestKernel } from "colloquy/testing"
import { writeFileSync } from "node:fs"
await using kernel = await TestKernel.open([])
const { id: assistantId } = await kernel.assistants.create({ name: "a" })
const said = { author: { role: "user" }, content: { content_type: "text", parts: ["Hi"] } }
const exported = new URL("conversations.json", import.meta.url)
writeFileSync(exported, JSON.stringify([{ current_node: "1", mapping: { 1: { message: said } } }]))
`,
    instead: [['"conversations.json"', "exported"]],
    after: `
const [found] = await kernel.threads.list({ assistantId, includeMessages: true })
console.log(found?.messages[0]?.content)
`,
    prints: "Hi\n"
  },
  { page: "docs/documents.md", has: "rooms, owner", prints: "At noon [d1]. house.md\n" },
  { page: "docs/guards.md", has: "const noKeys", prints: "The key is [key].\n" },
  { page: "docs/background.md", has: "kernel.follow({", prints: "The report is written.\n" },
  { page: "docs/http.md", has: "const response = await ai.handler(\n", prints: "200\n" },
  ...["kernel.threads.import({", "conversations.import({"].map((has) => ({
    page: "docs/migration.md",
    has,
    prints: "Yes, in Oslo.\n"
  })),
  { page: "docs/complaint.md", has: "evals.copyTurn(", prints: /evaluate\([^]*When are you open\?\n$/u },
  {
    page: "docs/tools.md",
    has: "Mcp.layer([",
    instead: [
      ['"npx"', "process.execPath"],
      [
        '["-y", "@modelcontextprotocol/server-filesystem", "/srv/files"]',
        '["--conditions=colloquy-source", "{ROOT}/packages/adapters/test/mcp/ToolServerProcess.ts"]'
      ],
      ['"https://mcp.example/mcp"', "remote.url"]
    ],
    before: `${stage}import { callTool, say, ScriptedModel } from "@colloquy/testing"
const token = "secret"
const seen: Array<string | undefined> = []
const remote = await listen((request, response) => { seen.push(request.headers.authorization); response.writeHead(404).end() })
`,
    after: `
const model = ScriptedModel.layer([callTool("files_echo", { text: "hello" }), say("Done.")])
const reply = await send(kernel.pipe(Layer.provide([model, stores])), { content: "?" })
assert.strictEqual(reply.content, "Done.")
assert.strictEqual(seen[0], "Bearer secret")
await remote.stop()
`
  },
  { page: "docs/tools.md", has: "const notes = mcp({", prints: /not_authorized/ },
  {
    page: "docs/openai.md",
    has: "await using colloquy",
    prints: "Hello, Ada.\n"
  },
  served(
    "docs/openai.md",
    "openai",
    `const body = JSON.stringify({ model: "scripted/scripted-model", input: "Hi" })
const answered = await post("/v1/responses", body)
assert.match(await answered.text(), /Hello, Ada\\./)
`
  ),
  served(
    "docs/ag-ui.md",
    "agUi",
    `const made = await post("/assistants", '{"name": "A"}')
const [, id = ""] = /"assistant_id":"([^"]+)"/u.exec(await made.text()) ?? []
const messages = [{ id: "1", role: "user", content: "Hi" }]
const told = await post("/ag-ui/" + id, JSON.stringify({ threadId: "t-1", runId: "r-1", messages }))
assert.match(await told.text(), /RUN_FINISHED/)
`
  ),
  served(
    "docs/mcp-server.md",
    "mcp",
    `import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client"
await post("/assistants", '{"name": "Butler"}')
const client = new Client({ name: "example", version: "1.0.0" }, { versionNegotiation: { mode: "auto" } })
await client.connect(new StreamableHTTPClientTransport(new URL(url + "/mcp")))
const [tool] = (await client.listTools()).tools
const result = await client.callTool({ name: tool?.name ?? "", arguments: { message: "What shall I drink?" } })
assert.deepStrictEqual([tool?.title, result.content], ["Butler", [{ type: "text", text: "Tea, of course." }]])
await client.close()
`
  ),
  ...["await Colloquy.open(", "ScriptedModel.layer("].map((has): Frame => ({
    page: "docs/operations.md",
    has,
    instead: [["8080", "0"]],
    needsPostgres: true,
    before: 'import assert from "node:assert"\nimport { once } from "node:events"\n',
    after: `
if (!server.listening) await once(server, "listening")
const address = server.address()
const url = "http://127.0.0.1:" + (typeof address === "object" ? address?.port : "")
const headers = { "content-type": "application/json", connection: "close" }
const answer = await fetch(url + "/threads/messages", { method: "POST", headers, body: '{"content": "Hi"}' })
assert.match(await answer.text(), /Hello\\./)
process.emit("SIGTERM")
await once(server, "close")
`
  })),
  {
    page: "docs/standalone-server.md",
    has: "startServer(",
    instead: [["process.env", '{ COLLOQUY_DATA_DIR: "memory://", PORT: "0" }']],
    after: "await server.stop()\n",
    prints: /^http:/u
  },
  {
    page: "docs/studio.md",
    has: "Inspections.layer()",
    instead: [["3000", "0"]],
    before: 'import assert from "node:assert"\n',
    after: `
await new Promise((resolve) => server.once("listening", resolve))
const address = server.address()
const url = "http://127.0.0.1:" + (typeof address === "object" ? address?.port : "")
assert.match(await (await fetch(url + "/admin/studio")).text(), /name="api-base" content="\\/ai"/)
const headers = { "content-type": "application/json" }
const answer = await fetch(url + "/ai/threads/messages", { method: "POST", headers, body: '{"content": "Hi"}' })
assert.match(await answer.text(), /Hello, Ada\\./)
server.close()
await ai.dispose()
`
  },
  { page: "docs/storage.md", has: "ScriptedModel.layer(", prints: "Hello.\n" },
  ...(
    [
      [
        "colloquy.realtime.attach(",
        'openaiVoice({ id: "openai", apiKey, models: { "gpt-realtime": {} } })',
        "await colloquy.close()"
      ],
      [
        "const voice = realtimeSocket(",
        'OpenAiRealtime.model({ id: "openai", apiKey, models: { "gpt-realtime": {} } })',
        "await ai.dispose()"
      ]
    ] as const
  ).map(([has, voice, close]): Frame => ({
    page: "docs/openai-realtime.md",
    has,
    instead: [
      [voice, "demoVoice"],
      ["3000", "0"]
    ],
    before: `import { demoVoice } from "@colloquy/server/demo"
import { once } from "node:events"
import { connect } from "node:net"
import OpenAI from "openai"
import { OpenAIRealtimeWS } from "openai/realtime/ws"
`,
    after: `
if (!server.listening) await once(server, "listening")
const address = server.address()
const port = typeof address === "object" ? (address?.port ?? 0) : 0
const client = new OpenAI({ baseURL: "https://127.0.0.1:" + port + "/v1", apiKey: "any" })
const options = { createConnection: () => connect(port, "127.0.0.1") }
const session = new OpenAIRealtimeWS({ model: "demo/demo-voice-1", options }, client)
session.on("session.created", ({ type }) => {
  console.log(type)
  session.close()
})
await once(session.socket, "close")
server.close()
${close}
`,
    prints: "session.created\n"
  })),
  {
    page: "docs/openai-realtime.md",
    has: "new OpenAIRealtimeWS(",
    before: 'import { connect } from "node:net"\n',
    instead: [
      ["https://chat.example/v1", "{API}/v1"],
      [
        '{ model: "demo/demo-voice-1" }',
        '{ model: "demo/demo-voice-1", options: { createConnection: () => connect(Number(new URL("{API}").port), "127.0.0.1") } }'
      ]
    ],
    prints: /^You wrote: "Hello"/u
  },
  {
    page: "docs/mcp-server.md",
    has: "StreamableHTTPClientTransport(",
    prints: "Butler [ { type: 'text', text: 'Tea, of course.' } ]\n"
  },
  {
    page: "docs/telemetry.md",
    has: "layers: [telemetry]",
    instead: [['process.env["OTEL_EXPORTER_OTLP_ENDPOINT"] ?? "http://127.0.0.1:4318"', "collector.url"]],
    before: `import { listen } from "../../test/snippets/Stage.ts"
const told: Array<string> = []
const collector = await listen((request, response) => {
  told.push(request.url ?? "")
  request.resume().on("end", () => response.end("{}"))
})
`,
    after: `
console.log(told.includes("/v1/traces"))
await collector.stop()
`,
    prints: "Hello.\ntrue\n"
  },
  ...["Colloquy.open({ store: postgres(", "ManagedRuntime.make("].map((has): Frame => ({
    page: "docs/scale.md",
    has,
    needsPostgres: true,
    instead: [
      ['process.env["POSTGRES"] ?? ""', '(process.env["DATABASE_URL"] ?? "") + " " + process.env["DATABASE_URL"]']
    ],
    prints: "Hello.\n"
  })),
  { page: "docs/telemetry.md", has: "Tracer.make({", prints: /^chat demo-1 \d+ true$[\s\S]*^invoke_agent {2}true$/mu },
  { page: "docs/ag-ui.md", has: "new HttpAgent({", prints: "Hello, Ada. completed\n" },
  {
    page: "docs/use-chat.md",
    has: "new ColloquyTransport(",
    isTest: true,
    before: `import { assert, it } from "@effect/vitest"
import { createRequire } from "node:module"
import { createElement } from "react"
const { renderToString } = createRequire(import.meta.url)("react-dom/server")
const Messages = (props: { messages: ReadonlyArray<UIMessage>; onSend: (text: string) => void; onStop: () => void }) =>
  <ol>{props.messages.map((message) => <li key={message.id}>{message.role}</li>)}</ol>
`,
    after: `
it("shows the messages that it begins with", () => {
  const messages = [{ id: "1", role: "user" as const, parts: [{ type: "text" as const, text: "Hi" }] }]
  assert.strictEqual(renderToString(createElement(Conversation, { threadId: "t", messages })), "<ol><li>user</li></ol>")
})
`
  },
  {
    page: "docs/use-chat.md",
    has: "Colloquy.lazy(",
    runBy: { file: "examples/cookbook/use-chat.ts", test: "examples/cookbook/cookbook.integration.test.ts" }
  },
  {
    page: "docs/use-chat.md",
    has: "handler: ai.handler",
    before: `${kernel}import { webHandler } from "@colloquy/http"
const ai = webHandler({ kernel, basePath: "/ai", authenticate: () => "ada" })
`,
    after: `
const messages = [{ id: "1", role: "user", parts: [{ type: "text", text: "Count to 3" }] }]
const body = JSON.stringify({ id: "chat-1", messages, trigger: "submit-message" })
const answer = await POST(new Request("http://host/chat", { method: "POST", body, headers: { "content-type": "application/json" } }))
assert.strictEqual(answer.status, 200)
assert.match(await answer.text(), /"type":"text-delta"/)
await ai.dispose()
`
  },
  {
    page: "docs/video.md",
    has: "videos({ model:",
    instead: [
      [
        'const router = openrouter({ apiKey: process.env["OPENROUTER_API_KEY"] })',
        "const { provider: router } = ScriptedVideo.make()"
      ],
      ['videos({ model: "acme/clip" })', 'videos({ model: "acme/clip", firstPause: "10 millis" })']
    ],
    before: 'import { ScriptedVideo } from "@colloquy/testing"\n',
    prints: "Here is your fox.\nvideo/mp4\n"
  },
  {
    page: "docs/video.md",
    has: "Videos.layer().pipe(",
    before: `${stage}import * as Secret from "effect/Redacted"
const apiKey = Secret.make("key")
const defaults = { provider: "demo", model: "demo-1" }
`,
    instead: [
      [
        "providers: [OpenRouter.provider({ apiKey })]",
        "providers: [OpenRouter.provider({ apiKey }), ...providersOptions.providers]"
      ]
    ],
    after: says("kernel")
  },
  {
    page: "docs/voice.md",
    has: 'recording: { file: "question.webm" }',
    instead: [['openai({ apiKey: process.env["OPENAI_API_KEY"] })', "openai({ baseUrl: vendor.url })"]],
    before: `import { listen, speechVendor } from "../../test/snippets/Stage.ts"
const vendor = await listen(speechVendor)
await writeFile("question.webm", Buffer.concat([Buffer.from("1a45dfa3", "hex"), Buffer.from("webm sound")]))
`,
    after: "await vendor.stop()",
    prints: /What is the time\? It is noon\.\n$/u
  },
  {
    page: "docs/voice.md",
    has: "Voice.layer().pipe(",
    before: stage.replace("providers, providersOptions", "providersOptions as providers"),
    after: says("kernel")
  }
]
