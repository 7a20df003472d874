/** The typed client in the same process: the same types for promises and for Effect, the same wire as from afar. */
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { assert, describe, it } from "@effect/vitest"
import { callTool, gate, say } from "@colloquy/testing"
import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"
import * as ClientAlone from "../src/client/index.ts"
import { Client, WireErrors } from "../src/index.ts"
import { keys, open, type Service, tool } from "./Service.ts"

const connect = (service: Service) =>
  Client.connect({ baseUrl: "http://in.process/ai", apiKey: keys.ada, handler: service.handler })

const http = { basePath: "/ai" }

describe("the client for promises", () => {
  it("does everything that the service does", async () => {
    await using service = await open([callTool("weather", { city: "Paris" }), say("It is ", "sunny."), say("Hello.")], {
      http
    })
    const { assistants, messages, runs, threads } = await connect(service)
    const { assistant_id } = await assistants.create({
      name: "Guide",
      tools: [{ ...tool("weather"), type: "function" }]
    })
    assert.strictEqual((await assistants.update(assistant_id, { tok_k: 3 })).tok_k, 3)
    assert.strictEqual((await assistants.clone(assistant_id)).assistant.name, "Guide Copy")
    assert.lengthOf(await assistants.list({ name: "Guide" }), 1)
    const { thread_id } = await assistants.createThread(assistant_id, { metadata: { a: 1 } })

    const asked = await messages.send(thread_id, { content: "Weather?" }, { idempotencyKey: "one" })
    assert.strictEqual(
      (await messages.send(thread_id, { content: "Weather?" }, { idempotencyKey: "one" })).run_id,
      asked.run_id
    )
    const outputs = { tool_outputs: (asked.tool_calls ?? []).map(({ id }) => ({ tool_call_id: id, output: "sun" })) }
    const told: Array<Client.ClientEvent> = []
    for await (const event of runs.streamToolOutputs(thread_id, asked.run_id, outputs)) told.push(event)
    assert.strictEqual(
      told.map((event) => (event.type === "content_streaming" ? event.content : "")).join(""),
      "It is sunny."
    )

    for (const event of told) {
      assert.deepStrictEqual([event.thread_id, event.run_id], [thread_id, asked.run_id], event.type)
      assert.strictEqual(event.assistant_id, assistant_id)
    }
    const again: Array<string> = []
    for await (const event of runs.events(thread_id, asked.run_id, told[0]?.sequence)) again.push(event.type)
    assert.strictEqual(again.at(-1), "run_ended")
    for await (const _ of runs.events(thread_id, asked.run_id, told.at(-1)?.sequence)) assert.fail("nothing was left")

    assert.strictEqual((await messages.sendStateless({ content: "Hi", thread_id })).content, "Hello.")
    assert.strictEqual((await runs.get(thread_id, asked.run_id)).status, "COMPLETED")
    assert.isTrue((await runs.cancel(thread_id, asked.run_id)).cancelled)
    assert.lengthOf((await threads.get(thread_id)).messages, 5)
    assert.lengthOf(await threads.list({ include_messages: false, limit: 1 }), 1)
    assert.lengthOf(await assistants.listThreads(assistant_id), 1)
    assert.strictEqual((await threads.remove(thread_id)).thread_id, thread_id)
    assert.strictEqual((await assistants.remove(assistant_id)).assistant_id, assistant_id)
  })

  it("rejects with the error of the wire", async () => {
    await using service = await open([], { http })
    const { assistants, messages } = await connect(service)
    const nobody = "00000000-0000-0000-0000-000000000000"
    const failure = (promise: Promise<unknown>): Promise<unknown> =>
      promise.then(
        () => "nothing failed",
        (error: unknown) => error
      )
    assert.instanceOf(await failure(assistants.get(nobody)), WireErrors.NotFound)
    const invalid = await failure(messages.send(nobody, { content: "" }))
    assert.instanceOf(invalid, WireErrors.HTTPValidationError)
    assert.deepStrictEqual(invalid instanceof WireErrors.HTTPValidationError && invalid.detail[0]?.loc, [
      "body",
      "content"
    ])
    const stranger = await Client.connect({ baseUrl: "http://in.process/ai", handler: service.handler })
    assert.instanceOf(await failure(stranger.assistants.list()), WireErrors.Unauthorized)
  })

  it("sends no body where there is nothing to say, so that strict parsers of a host take it", async () => {
    await using service = await open([], { http })
    const bodies: Array<string> = []
    const handler = async (request: Request) => {
      bodies.push(await request.clone().text())
      return service.handler(request)
    }
    const { assistants } = await Client.connect({ baseUrl: "http://in.process/ai", apiKey: keys.ada, handler })
    const { assistant_id } = await assistants.create({ name: "Guide" })
    await assistants.createThread(assistant_id)
    await assistants.clone(assistant_id)
    assert.deepStrictEqual(bodies.slice(1), ["", ""])
    const client = await Effect.runPromise(Client.make({ baseUrl: "http://in.process/ai", apiKey: keys.ada, handler }))
    await Effect.runPromise(client.assistants.createThread({ params: { assistant_id }, payload: null }))
    await Effect.runPromise(client.assistants.clone({ params: { assistant_id }, payload: null }))
    assert.deepStrictEqual(bodies.slice(3), ["", ""])
  })

  it("rejects with errors that have a tag, a status, and words", async () => {
    await using service = await open([], { http })
    const { messages, threads } = await connect(service)
    const nobody = "00000000-0000-0000-0000-000000000000"
    const told = async (promise: Promise<unknown>) => {
      const error = await promise.catch((reason: unknown) => reason)
      if (!(error instanceof Error) || !("_tag" in error) || !("status" in error)) return assert.fail(String(error))
      return [error._tag, error.status, error.message]
    }
    assert.deepStrictEqual(await told(threads.get(nobody)), ["NotFound", 404, `There is no thread ${nobody}.`])
    const [tag, status, words] = await told(messages.send("x", { content: "" }))
    assert.deepStrictEqual([tag, status], ["HTTPValidationError", 422])
    assert.match(String(words), /path\.thread_id: .*UUID.*; body\.content: /u)
    const answers = (answer: Response) =>
      Client.connect({ baseUrl: "http://in.process", handler: async () => answer }).then((client) =>
        client.threads.list()
      )
    const page = new Response("<html>Bad Gateway</html>", { status: 502 })
    assert.deepStrictEqual((await told(answers(page)))[0], "UnexpectedAnswer")
    const other = new Response('{"error":"no"}', { status: 404 })
    assert.deepStrictEqual((await told(answers(other)))[0], "UnexpectedAnswer")
    const { HTTPValidationError, UnexpectedAnswer: _, ValidationError: __, ...plain } = WireErrors
    for (const [name, Class] of Object.entries(plain)) {
      const error = new Class({ detail: "what was wrong" })
      assert.deepStrictEqual([error._tag, error.message], [name, "what was wrong"])
      const answer = Response.json({ detail: "what was wrong" }, { status: error.status })
      assert.deepStrictEqual(await told(answers(answer)), [name, error.status, "what was wrong"])
    }
    const invalid = new HTTPValidationError({
      detail: [{ loc: ["body", "a", 0], msg: "Field required", type: "missing" }]
    })
    assert.deepStrictEqual([invalid._tag, invalid.message], ["HTTPValidationError", "body.a.0: Field required"])
  })

  it("has an entry of its own, with the same classes of errors", () => {
    assert.strictEqual(ClientAlone.connect, Client.connect)
    assert.strictEqual(ClientAlone.WireErrors.NotFound, WireErrors.NotFound)
  })

  it("has each of its methods in the document for people", async () => {
    await using service = await open([], { http })
    const document = readFileSync(join(import.meta.dirname, "../../../docs/http.md"), "utf8")
    for (const [group, methods] of Object.entries(await connect(service)))
      for (const method of Object.keys(methods)) assert.include(document, `\`${group}.${method}(`)
  })

  it("closes a stream that is left early, and the run goes on", async () => {
    await using service = await open([[say("One, "), gate(), say("two.")]], { http })
    const { messages, runs, threads } = await connect(service)
    for await (const event of messages.streamStateless({ content: "Count" }))
      if (event.type === "content_streaming") break
    await service.run(service.model.release())
    const [thread] = await threads.list()
    const { run_id } = thread?.messages[0] ?? {}
    for await (const event of runs.events(thread?.thread_id ?? "", run_id ?? "")) {
      if (event.type === "run_ended") assert.strictEqual(event.content, "One, two.")
    }
  })

  it("ends the request of a stream that is left while its model is silent, or while nothing was answered", async () => {
    await using service = await open([[say("One, "), gate(), say("two.")]], { http })
    const { messages } = await connect(service)
    const stream = messages.streamStateless({ content: "Count" })
    for (let next = await stream.next(); next.value?.type !== "content_streaming";) next = await stream.next()
    const silent = stream.next()
    assert.isTrue((await stream.return()).done)
    assert.isTrue((await silent).done)
    const aborted: Array<boolean> = []
    const handler = ({ signal }: Request) =>
      new Promise<Response>((_, reject) => {
        signal.addEventListener("abort", () => {
          aborted.push(true)
          reject(signal.reason)
        })
      })
    const { runs } = await Client.connect({ baseUrl: "http://in.process", handler })
    for (const each of [runs.updates(), runs.events("t", "r")]) {
      const unanswered = each.next()
      await each.return()
      assert.isTrue((await unanswered).done)
    }
    assert.deepStrictEqual(aborted, [true, true])
  })
})

describe("the client for Effect", () => {
  it.effect("has the same calls, with typed failures and streams", () =>
    Effect.gen(function* () {
      const service = yield* Effect.acquireRelease(
        Effect.promise(() => open([say("Hello, ", "Ada.")])),
        (opened) => Effect.promise(() => opened[Symbol.asyncDispose]())
      )
      const client = yield* Client.make({ baseUrl: "http://in.process", apiKey: keys.ada, handler: service.handler })
      const answer = yield* client.messages.sendStateless({ headers: {}, payload: { content: "Hello", stream: true } })
      assert.isTrue(Stream.isStream(answer))
      if (!Stream.isStream(answer)) return
      const events = yield* Stream.runCollect(answer)
      assert.strictEqual(events.at(-1)?.type, "run_ended")
      const missing = yield* Effect.flip(
        client.threads.get({ params: { thread_id: "00000000-0000-0000-0000-000000000000" } })
      )
      assert.instanceOf(missing, WireErrors.NotFound)
    })
  )
})
