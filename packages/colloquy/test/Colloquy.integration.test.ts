/** The way without Effect over what production has: a database, a vendor's wire, a server of Node. Nothing here imports Effect's runtime. */
import { Colloquy, tool, type Store, type TurnEvent } from "colloquy"
import { openai } from "colloquy/openai"
import { pglite } from "colloquy/pglite"
import { postgres } from "colloquy/postgres"
import { gate, say, scripted } from "colloquy/testing"
import { afterAll, assert, describe, it } from "@effect/vitest"
import { mkdtemp, rm } from "node:fs/promises"
import { createServer, type RequestListener } from "node:http"
import { tmpdir } from "node:os"
import { join } from "node:path"
import pg from "pg"
import * as z from "zod"
import { onEmbedded, onPostgres } from "../../../test/databases.ts"

const serve = async (listener: RequestListener) => {
  const server = createServer(listener)
  await new Promise<void>((resolve) => void server.listen(0, "127.0.0.1", resolve))
  const address = server.address()
  const port = typeof address === "object" && address !== null ? address.port : 0
  return {
    url: `http://127.0.0.1:${port}`,
    close: () => new Promise((resolve) => server.close(resolve).closeAllConnections())
  }
}

/** OpenAI's Responses wire: one function call, then words. It keeps what it was asked. */
const vendor = async () => {
  const asked: Array<{ readonly authorization: string | undefined; readonly body: string }> = []
  const event = (type: string, data: object) => `event: ${type}\ndata: ${JSON.stringify({ type, ...data })}\n\n`
  const item = { id: "fc_1", type: "function_call", call_id: "call_1", name: "get_weather", status: "in_progress" }
  const done = { ...item, arguments: '{"city":"Paris"}', status: "completed" }
  const completed = (output: ReadonlyArray<unknown>) =>
    event("response.completed", { response: { id: "r", status: "completed", output, usage: null } })
  const answers = [
    event("response.output_item.added", { output_index: 0, item: { ...item, arguments: "" } }) +
      event("response.output_item.done", { output_index: 0, item: done }) +
      completed([done]),
    ["It is ", "sunny."]
      .map((delta) => event("response.output_text.delta", { output_index: 0, item_id: "m", delta }))
      .join("") + completed([])
  ]
  const server = await serve((request, response) => {
    if (request.method === "GET") return void response.end('{"object":"list","data":[]}')
    let body = ""
    request.setEncoding("utf8")
    request.on("data", (piece: string) => (body += piece))
    request.on("end", () => {
      asked.push({ authorization: request.headers.authorization, body })
      response.writeHead(200, { "content-type": "text/event-stream" }).end(answers[asked.length - 1])
    })
  })
  return { ...server, asked }
}

const weather = tool({
  name: "get_weather",
  description: "The weather of a city",
  parameters: z.object({ city: z.string() }),
  execute: ({ city }) => `sunny in ${city}`
})

const streamedText = async (events: AsyncIterable<TurnEvent>): Promise<string> => {
  let text = ""
  for await (const event of events) if (event._tag === "TextDelta") text += event.text
  return text
}

const keepsEverything = (makeStore: () => Store) => {
  const open = (steps: Parameters<typeof scripted>[0]) =>
    Colloquy.open({ store: makeStore(), providers: [scripted(steps)], model: "scripted-model", owner: "ada" })

  it("keeps a conversation over the end of a kernel", async () => {
    const first = await open([say("Hello.")])
    const { threadId } = await first.send({ content: "Hi" })
    await first.close()
    const second = await open([say("Again.")])
    assert.strictEqual((await second.send({ threadId, content: "Still there?" })).content, "Again.")
    const { messages } = await second.threads.get(threadId)
    assert.deepStrictEqual(
      messages.map(({ content }) => content),
      ["Hi", "Hello.", "Still there?", "Again."]
    )
    for (const id of ["no uuid", "00000000-0000-7000-8000-000000000000"]) {
      const missing = await second.threads.get(id).catch((error: unknown) => error)
      assert.deepInclude(missing, { _tag: "ThreadNotFound" })
    }
    await second.close()
  })

  it("cancels a run when its reader leaves and asks for that, and lets it go on otherwise", async () => {
    const colloquy = await open([[say("Half"), gate()], say("Whole.")])
    const leave = async (options: { readonly onLeave?: "cancel" }) => {
      const turn = await colloquy.start({ content: "Hi", stream: true }, options)
      for await (const event of turn.events) if (event._tag === "TextDelta") break
      return (await turn.reply()).status
    }
    assert.strictEqual(await leave({ onLeave: "cancel" }), "CANCELLED")
    assert.strictEqual(await leave({}), "COMPLETED")
    await colloquy.close()
  })
}

onEmbedded("PGlite", () => {
  describe("a kernel without Effect", () => {
    const folder = mkdtemp(join(tmpdir(), "colloquy-"))
    const dataDir = folder.then((path) => join(path, "data"))
    let path = ""
    it("finds its folder", async () => {
      path = await dataDir
      assert.isNotEmpty(path)
    })
    keepsEverything(() => pglite({ dataDir: path }))

    it("rejects a folder that another kernel has open", async () => {
      const options = { providers: [scripted([])], model: "scripted-model" }
      const first = await Colloquy.open({ store: pglite({ dataDir: path }), ...options })
      const fault = await Colloquy.open({ store: pglite({ dataDir: path }), ...options }).catch(
        (error: unknown) => error
      )
      assert.deepInclude(fault, { _tag: "FolderInUse" })
      await first.close()
      await rm(await folder, { recursive: true })
    })
  })
})

onPostgres((url) => {
  describe("a kernel without Effect", () => {
    const schema = `test_${globalThis.crypto.randomUUID().replaceAll("-", "").slice(0, 16)}`
    afterAll(async () => {
      const client = new pg.Client(url)
      await client.connect()
      await client.query(`drop schema if exists ${schema} cascade`)
      await client.end()
    })
    keepsEverything(() => postgres({ url, schema }))
  })
})

describe("a kernel without Effect", () => {
  it("rejects a database that does not answer", async () => {
    const store = postgres({ url: "postgres://nobody:secret@127.0.0.1:1/none", timeout: "1 second" })
    const fault = await Colloquy.open({ store, providers: [scripted([])], model: "m" }).catch((error: unknown) => error)
    assert.deepInclude(fault, { _tag: "StoreUnavailable" })
    assert.notInclude(String(fault), "secret")
  })

  it("talks to a vendor with plain settings, and runs a typed tool", async () => {
    const { asked, close, url } = await vendor()
    const colloquy = await Colloquy.open({
      store: pglite(),
      providers: [openai({ apiKey: "sk-1", baseUrl: url })],
      model: "gpt-5",
      tools: [weather],
      owner: "ada"
    })
    assert.strictEqual(await streamedText(colloquy.stream({ content: "How is the weather in Paris?" })), "It is sunny.")
    assert.deepStrictEqual(
      asked.map(({ authorization }) => authorization),
      ["Bearer sk-1", "Bearer sk-1"]
    )
    const { tools } = JSON.parse(asked[0]?.body ?? "")
    assert.deepInclude(tools[0], { type: "function", name: "get_weather" })
    assert.deepNestedInclude(tools[0], { "parameters.properties": { city: { type: "string" } } })
    assert.include(asked[1]?.body, "sunny in Paris")
    await colloquy.close()
    await close()
  })

  it("serves the HTTP API to node:http", async () => {
    const colloquy = await Colloquy.open({ store: pglite(), providers: [scripted([say("Hello.")])], model: "m" })
    const { node } = await colloquy.handler({ authenticate: () => "ada" })
    const server = await serve(node)
    const response = await fetch(`${server.url}/threads/messages`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: '{"content":"Hi","stream":true}'
    })
    assert.include(await response.text(), '"run_ended","status":"completed"')
    assert.lengthOf(await colloquy.as("ada").threads.list(), 1)
    await server.close()
    await colloquy.close()
  })
})
