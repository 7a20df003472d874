/** The way without Effect, as a backend engineer meets it: open, send, stream, tools, the HTTP API, tests with a clock in the hand. */
import {
  Colloquy,
  HostedToolFailed,
  InsufficientCredit,
  KernelClosed,
  ThreadNotFound,
  tool,
  type TurnEvent,
  TurnFailed
} from "colloquy"
import { inMemory } from "colloquy/in-memory"
import { memory } from "colloquy/memory"
import { openai } from "colloquy/openai"
import { summaries } from "colloquy/summaries"
import { callTool, fail, gate, pause, say, scripted, TestKernel } from "colloquy/testing"
import { Metering } from "@colloquy/core"
import { Answers } from "@colloquy/core/answers"
import { assert, describe, expectTypeOf, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { getEventListeners } from "node:events"
import * as z from "zod"

const streamedText = async (events: AsyncIterable<TurnEvent>): Promise<string> => {
  let text = ""
  for await (const event of events) if (event._tag === "TextDelta") text += event.text
  return text
}

const open = (steps: Parameters<typeof scripted>[0], options: Partial<Parameters<typeof Colloquy.open>[0]> = {}) =>
  Colloquy.open({ store: inMemory(), providers: [scripted(steps)], model: "scripted-model", ...options })

const weather = tool({
  name: "get_weather",
  description: "The weather of a city",
  parameters: z.object({ city: z.string(), days: z.int().default(1) }),
  execute: async ({ city, days }, { owner, signal, threadId }) => {
    expectTypeOf(city).toEqualTypeOf<string>()
    expectTypeOf(days).toEqualTypeOf<number>()
    if (city === "Atlantis") throw new HostedToolFailed({ message: "It is under water." })
    return { city, days, owner, hasThread: threadId.length > 0, isAborted: signal.aborted }
  }
})

describe("a kernel in production", () => {
  it("streams an answer, and keeps the conversation", async () => {
    const colloquy = await open([say("Hello, ", "Ada."), say("Still here.")])
    const ada = colloquy.as("ada")
    const turn = await ada.start({ content: "Hi", stream: true })
    assert.strictEqual(await streamedText(turn.events), "Hello, Ada.")
    assert.strictEqual((await ada.send({ threadId: turn.threadId, content: "And now?" })).content, "Still here.")
    assert.lengthOf((await ada.threads.get(turn.threadId)).messages, 4)
    await colloquy.close()
  })

  it("takes parts: typed answers in a turn, and over the HTTP API", async () => {
    const colloquy = await open([say('{"Yes": 0.9, "No": 0.1}'), say('{"Yes": 0.2, "No": 0.8}')], {
      parts: [Answers.layer()]
    })
    const questions = { urgent: { type: "noul", instructions: "Is it urgent?" } }
    const reply = await colloquy.as("ada").send({ content: "Fire!", options: { answers: { questions } } })
    assert.deepStrictEqual(JSON.parse(reply.content), { urgent: { type: "noul", noul: 0.9 } })
    const { handler } = await colloquy.handler({ authenticate: () => "ada" })
    const post = (path: string, body: object) =>
      handler(
        new Request(`http://in.process${path}`, {
          method: "POST",
          headers: { "content-type": "application/json" },
          body: JSON.stringify(body)
        })
      )
    const answer = await post("/threads/messages", { content: "Tea?", system_one: { questions } })
    assert.deepInclude(await answer.json(), { content: '{"urgent":{"type":"noul","noul":0.2}}', status: "COMPLETED" })
    const path = `/threads/${reply.threadId}/messages/${reply.messageId}/outcomes`
    assert.strictEqual((await post(path, { question: "urgent", outcome: true })).status, 200)
    await colloquy.close()
  })

  it("runs typed tools inside the turn, and tells the model what was wrong with a call", async () => {
    const seen: Array<string> = []
    const provider = scripted([
      callTool("get_weather", { city: 7, days: "x" }),
      callTool("get_weather", { city: "Atlantis" }),
      callTool("get_weather", { city: "Paris" }),
      say("Sunny.")
    ])
    const colloquy = await open([], { providers: [provider], tools: [weather], owner: "ada" })
    for await (const event of colloquy.stream({ content: "How is the weather?" })) {
      if (event._tag === "HostedResult") seen.push(event.output)
    }
    assert.match(seen[0] ?? "", /^- city: .+\n- days: .+$/mu)
    assert.strictEqual(seen[1], "Error: It is under water.")
    assert.deepStrictEqual(JSON.parse(seen[2] ?? ""), {
      city: "Paris",
      days: 1,
      owner: "ada",
      hasThread: true,
      isAborted: false
    })
    await colloquy.close()
  })

  it("has one store for each time it is opened in memory", async () => {
    const store = inMemory()
    const first = await open([say("One.")], { store, owner: "ada" })
    const second = await open([], { store, owner: "ada" })
    const { threadId } = await first.send({ content: "Hi" })
    const missing = await second.threads.get(threadId).catch((error: unknown) => error)
    assert.instanceOf(missing, ThreadNotFound)
    await first.close()
    await second.close()
  })

  it("takes its default model from any provider, and its settings in part", async () => {
    const providers = [scripted([], { id: "one" }), scripted([say("Two.")], { id: "two" })]
    const colloquy = await open([], {
      providers,
      model: { provider: "two", model: "large" },
      settings: { busy: "reject" },
      owner: "ada"
    })
    const { model, provider, threadId } = await colloquy.send({ content: "Hi" })
    assert.deepStrictEqual([provider, model], ["two", "large"])
    const missing = await colloquy.send({ content: "Hi", threadId, provider: "three" }).catch((error: unknown) => error)
    assert.deepInclude(missing, { _tag: "ProviderNotFound", registered: ["one", "two"] })
    await colloquy.close()
  })

  it("takes references of the kernel from a host with Effect, such as its own metering", async () => {
    const metering = { ensureCredit: () => Effect.fail(new InsufficientCredit()), record: () => Effect.void }
    const colloquy = await open([], { layers: [Layer.succeed(Metering, metering)], owner: "ada" })
    assert.deepInclude(await colloquy.send({ content: "Hi" }).catch((error: unknown) => error), {
      _tag: "InsufficientCredit"
    })
    await colloquy.close()
  })

  it("gives a failed turn as a reply with its reason, or rejects", async () => {
    const colloquy = await open([[say("Half"), fail("refused")], fail("auth"), say("Well.")], { owner: "ada" })
    const reply = await colloquy.send({ content: "Hi" })
    assert.deepInclude(reply, { status: "FAILED", content: "Half" })
    if (reply.status === "FAILED") assert.deepInclude(reply.fault, { code: "refused", retryable: false })
    // @ts-expect-error only a failed reply has a fault
    assert.isDefined(reply.fault)
    const fault = await colloquy.send({ content: "Hi" }, { throw: true }).catch((error: unknown) => error)
    assert.instanceOf(fault, TurnFailed)
    assert.deepInclude(fault, { _tag: "TurnFailed", code: "auth", content: "" })
    assert.include(String(fault), "did not accept the key")
    const good = await colloquy.send({ content: "Hi" }, { throw: true })
    expectTypeOf(good.status).toEqualTypeOf<"IN_PROGRESS" | "REQUIRES_ACTION" | "COMPLETED" | "CANCELLED">()
    assert.notProperty(good, "fault")
    await colloquy.close()
  })

  it("takes its embedding model by name, with the length of its vectors", async () => {
    const providers = [scripted([]), openai({ apiKey: "sk-1" })]
    const colloquy = await open([], { providers, owner: "ada", embedding: "text-embedding-3-small" })
    const { embedding } = await colloquy.assistants.create({ name: "Clerk" })
    assert.deepStrictEqual(embedding, { provider: "openai", model: "text-embedding-3-small", dimensions: 1536 })
    await colloquy.close()
    const fault = await open([], { embedding: "none" }).catch((error: unknown) => error)
    assert.include(String(fault), 'No provider embeds with "none".')
  })

  it("takes settings in part at every depth", async () => {
    const colloquy = await open([fail("overloaded"), say("Hi.")], { owner: "ada", settings: { chat: { retries: 0 } } })
    assert.deepInclude(await colloquy.send({ content: "Hi" }), { status: "FAILED" })
    await colloquy.close()
  })

  it("is not opened without a provider", async () => {
    const fault = await open([], { providers: [] }).catch((error: unknown) => error)
    assert.include(String(fault), "No provider is given")
  })

  it("shows no key of a provider", () => {
    assert.notInclude(JSON.stringify(openai({ apiKey: "sk-secret" })), "sk-secret")
  })

  it("is opened by its first call when it is lazy, once, and again after a failure", async () => {
    const asked: Array<string> = []
    const colloquy = Colloquy.lazy(() => {
      asked.push("options")
      if (asked.length === 1) throw new Error("No address yet")
      return {
        store: inMemory(),
        providers: [scripted([say("Hello."), say("Over HTTP.")])],
        model: "m",
        owner: "ada",
        rooms: [memory()]
      }
    })
    const post = colloquy.handler({ authenticate: () => "ada" })
    assert.deepStrictEqual(asked, [])
    assert.include(String(await colloquy().catch((error: unknown) => error)), "No address yet")
    const [first, second] = await Promise.all([colloquy(), colloquy()])
    assert.strictEqual(first, second)
    assert.lengthOf(asked, 2)
    assert.deepStrictEqual((await first.send({ content: "Hi" })).memories, [])
    const message = { method: "POST", headers: { "content-type": "application/json" }, body: '{"content":"Hi"}' }
    const answer = await post(new Request("http://in.process/threads/messages", message))
    assert.include(await answer.text(), "Over HTTP.")
    await colloquy.close()
    assert.instanceOf(await first.threads.list().catch((error: unknown) => error), KernelClosed)
  })

  it("that is lazy and could not be opened has nothing to close", async () => {
    const colloquy = Colloquy.lazy(() => Promise.reject(new Error("No address yet")))
    const opening = colloquy().catch((error: unknown) => error)
    await colloquy.close()
    assert.include(String(await opening), "No address yet")
  })

  it("has one end, however often it is closed", async () => {
    const colloquy = await open([], { owner: "ada" })
    await colloquy.handler()
    const closing = colloquy.close()
    assert.strictEqual(colloquy.close(), closing)
    await closing
  })

  it("rejects where an id is missing, and throws nothing before there is a promise", async () => {
    const colloquy = await open([], { owner: "ada" })
    const promises = [
      colloquy.fork({ threadId: "" }),
      colloquy.rewind({ threadId: "", messageId: "" }),
      colloquy.approvals.decide({ threadId: "", runId: "", decisions: [] })
    ]
    for (const { reason, status } of await Promise.allSettled(promises).then((all) =>
      all.map((each) => ({ status: each.status, reason: each.status === "rejected" ? each.reason : null }))
    )) {
      assert.strictEqual(status, "rejected")
      assert.instanceOf(reason, TypeError)
    }
    await colloquy.close()
  })

  it("keeps nothing of a reader who leaves while the first event is asked for", async () => {
    const colloquy = await open([], { owner: "ada" })
    const stop = new AbortController()
    const events = colloquy.runs.events({}, { signal: stop.signal })[Symbol.asyncIterator]()
    const next = events.next()
    await Promise.resolve()
    await events.return?.()
    assert.isTrue((await next).done)
    assert.lengthOf(getEventListeners(stop.signal, "abort"), 0)
    await colloquy.close()
  })

  it("is disposed of at the end of a block", async () => {
    const colloquy = await open([], { owner: "ada" })
    await colloquy[Symbol.asyncDispose]()
    assert.deepInclude(await colloquy.threads.list().catch((error: unknown) => error), { _tag: "KernelClosed" })
  })
})

describe("the HTTP API over an open kernel", () => {
  it("works on the same conversations, under the host's own sign-in, and ends with the kernel", async () => {
    const colloquy = await open([say("Hello."), say("Over HTTP.")])
    const { threadId } = await colloquy.as("ada").send({ content: "Hi" })
    const { handler } = await colloquy.handler({
      basePath: "/ai",
      authenticate: ({ headers }) => headers["x-user"] ?? null
    })
    const ask = (user: string) =>
      handler(
        new Request(`http://localhost/ai/threads/${threadId}/messages`, {
          method: "POST",
          headers: { "content-type": "application/json", "x-user": user },
          body: JSON.stringify({ content: "And here?" })
        })
      )
    assert.strictEqual((await ask("bob")).status, 404)
    const answer = await ask("ada")
    assert.strictEqual(answer.status, 200)
    assert.include(await answer.text(), "Over HTTP.")
    assert.lengthOf((await colloquy.as("ada").threads.get(threadId)).messages, 4)
    const mounting = colloquy.handler()
    await colloquy.close()
    assert.strictEqual((await ask("ada")).status, 503)
    for (const late of [mounting, colloquy.handler()]) {
      assert.instanceOf(await late.catch((error: unknown) => error), KernelClosed)
    }
  })

  it("takes keys that were made without Effect", async () => {
    const kernel = await TestKernel.open([])
    const { handler } = await kernel.handler()
    const { key } = await kernel.as("ada").keys.make("first")
    const list = async (text: string) =>
      (await handler(new Request("http://localhost/assistants", { headers: { "x-api-key": text } }))).status
    assert.deepStrictEqual([await list(key), await list("wrong")], [200, 401])
    await kernel.close()
  })
})

describe("a test without Effect", () => {
  it("has the type that production has", () => {
    expectTypeOf<TestKernel>().toExtend<Colloquy>()
  })

  it("moves the clock: a pause of the model takes no time", async () => {
    const kernel = await TestKernel.open([[pause("10 seconds"), say("At last.")]])
    const turn = await kernel.start({ content: "Hi" })
    const reply = turn.reply()
    await kernel.adjust("10 seconds")
    assert.strictEqual((await reply).content, "At last.")
    await kernel.close()
  })

  it("takes what production takes: tools, rooms, settings, providers and a store", async () => {
    const clock = tool({ name: "clock", description: "The time", parameters: z.object({}), execute: () => "noon" })
    const store = inMemory()
    const kernel = await TestKernel.open([callTool("clock"), say("Noon."), say("Tea.")], {
      store,
      tools: [clock],
      rooms: [memory()],
      providers: [scripted([say("Other.")], { id: "other" })],
      settings: { chat: { retries: 0 } },
      quota: () => ({ turnsPerMinute: 10 })
    })
    const { content, threadId } = await kernel.send({ content: "Time?", memory: "readonly" })
    assert.strictEqual(content, "Noon.")
    assert.strictEqual((await kernel.send({ content: "Hi", provider: "other", model: "m" })).content, "Other.")
    assert.strictEqual((await kernel.send({ content: "Hi", threadId })).memories.length, 0)
    assert.lengthOf(kernel.model.requests, 3)
    await kernel.close()
  })

  it("summarises what no longer fits by default, where it was not turned off, and shows what the summary covers", async () => {
    const info = { contextLimit: 1000, maxOutputTokens: 100 }
    const long = { scripted: { otherwise: say("Rex is a dog."), info } }
    const inside = z.object({
      prompts: z.array(z.object({ parts: z.array(z.object({ part: z.string() })) })),
      summary: z
        .object({ text: z.string(), messages: z.number(), through_message_id: z.string(), tokens: z.number() })
        .nullable()
    })
    const talk = async (kernel: TestKernel) => {
      const { threadId } = await kernel.send({ content: "My dog is Rex." })
      for (let n = 0; n < 14; n++) {
        await kernel.send({ content: `${n} ${"word ".repeat(80)}`, threadId })
        await kernel.adjust("1 second")
      }
      const { runId } = await kernel.send({ content: "And now?", threadId })
      const { handler } = await kernel.handler({ authenticate: () => "owner" })
      const found = await handler(new Request(`http://service/threads/${threadId}/runs/${runId}/inspection`))
      const { prompts, summary } = inside.parse(await found.json())
      const { messages } = await kernel.threads.get(threadId)
      const purposes = (await kernel.billing.recentUsage()).days.map(({ purpose }) => purpose)
      await kernel.close()
      return { messages, parts: prompts[0]?.parts.map(({ part }) => part), purposes, summary }
    }
    const usual = await talk(await TestKernel.open([], long))
    if (usual.summary === null) return assert.fail("no summary")
    assert.strictEqual(usual.summary.text, "Rex is a dog.")
    assert.strictEqual(usual.messages[usual.summary.messages - 1]?.id, usual.summary.through_message_id)
    assert.include(usual.parts ?? [], "summary")
    assert.include(usual.purposes, "summary")
    const without = await talk(await TestKernel.open([], { ...long, summaries: false }))
    assert.isNull(without.summary)
    assert.notInclude(without.purposes, "summary")
    const own = await talk(await TestKernel.open([], { ...long, rooms: [summaries({ summaryTokens: 3 })] }))
    assert.isAtMost(own.summary?.tokens ?? 9, 3)
  })

  it("says which limit a pause was longer than", async () => {
    const settings = { chat: { retries: 0, firstEventTimeout: "5 seconds", idleTimeout: "7 seconds" } } as const
    const kernel = await TestKernel.open([pause("1 minute"), [say("Well,"), pause("1 minute")]], { settings })
    for (const limit of ["firstEventTimeout", "idleTimeout"]) {
      const turn = await kernel.start({ content: "Hi" })
      const reply = turn.reply()
      await kernel.adjust("8 seconds")
      const { fault } = Object.assign({ fault: null }, await reply)
      assert.deepNestedInclude(fault, { code: "timeout" })
      assert.include(JSON.stringify(fault), `[${limit}]`)
    }
    await kernel.close()
  })

  it("cancels in the middle, and what was said is kept", async () => {
    const kernel = await TestKernel.open([[say("In the beginning"), gate()]])
    const turn = await kernel.start({ content: "Tell me everything", stream: true })
    for await (const event of turn.events) if (event._tag === "TextDelta") break
    assert.strictEqual((await kernel.cancel(turn)).status, "CANCELLED")
    assert.strictEqual((await turn.reply()).content, "In the beginning")
    await kernel.close()
  })
})
