/** Providers and parts of turns as plain async code. */
import { Colloquy, guard, ModelError, part, type PlainProvider, provider, tool } from "colloquy"
import { inMemory } from "colloquy/in-memory"
import { assert, describe, it } from "@effect/vitest"
import * as Logger from "effect/Logger"
import * as Schema from "effect/Schema"
import * as z from "zod"

type Chat = NonNullable<PlainProvider["chat"]>
const open = (chat: Chat, options: Partial<Parameters<typeof Colloquy.open>[0]> = {}) =>
  Colloquy.open({
    store: inMemory(),
    providers: [provider({ id: "house", chat, models: ["house-1"] })],
    model: "house-1",
    owner: "ada",
    settings: { chat: { retries: 0 } },
    layers: [Logger.layer([])],
    ...options
  })

describe("a provider of plain code", () => {
  it("streams text and reasoning, and reports its usage", async () => {
    const asked: Array<unknown> = []
    const colloquy = await open(async function* ({ messages, model, system }) {
      asked.push({ model, system, messages })
      yield { reasoning: "Hm." }
      yield "Good "
      yield { text: "morning.", usage: { inputTokens: 7, outputTokens: 2 } }
    })
    const texts: Array<string> = []
    for await (const event of colloquy.stream({ content: "Hi", systemPrompt: "Be kind." })) {
      if (event._tag === "TextDelta") texts.push(event.text)
      if (event._tag === "RunEnded")
        assert.deepInclude(event.usage, { inputTokens: 7, outputTokens: 2, estimated: false })
    }
    assert.deepStrictEqual(texts, ["Good ", "morning."])
    const question = { role: "user", content: [{ type: "text", text: "Hi" }] }
    assert.deepStrictEqual(asked, [{ model: "house-1", system: "Be kind.", messages: [question] }])
    const reply = await colloquy.send({ content: "Hi" })
    assert.deepInclude(reply, { content: "Good morning.", reasoning: "Hm.", provider: "house", model: "house-1" })
    await colloquy.close()
  })

  it("calls tools, and reads their results in the next step", async () => {
    const clock = tool({ name: "clock", description: "The time", parameters: z.object({}), execute: () => "noon" })
    const ids: Array<string> = []
    const colloquy = await open(
      async function* ({ messages, tools }) {
        const last = messages.at(-1)
        if (last?.role === "tool") {
          ids.push(last.toolCallId)
          yield `It is ${last.output}.`
        } else yield { toolCall: { name: tools[0]?.name ?? "" } }
      },
      { tools: [clock] }
    )
    assert.strictEqual((await colloquy.send({ content: "What time is it?" })).content, "It is noon.")
    // Chat Completions takes no longer id, if the conversation goes on there.
    assert.match(ids.join(), /^[\w-]{1,40}$/u)
    await colloquy.close()
  })

  it("says why it stopped, and which model answered", async () => {
    const colloquy = await open(async function* () {
      yield { text: "Long", model: "house-1-mini" }
      yield { stop: "length" }
    })
    const reply = await colloquy.send({ content: "Hi" })
    assert.deepInclude(reply, { status: "COMPLETED", content: "Long", model: "house-1-mini" })
    await colloquy.close()
  })

  it("fails with the reason that its error tells, and the sentence names the provider", async () => {
    const errors: ReadonlyArray<readonly [unknown, string]> = [
      [new ModelError({ reason: "quota", provider: "house", model: "house-1" }), "quota"],
      [Object.assign(new Error("Incorrect key sk-1234567890"), { status: 401 }), "auth"],
      [Object.assign(new Error("Slow down"), { status: 429 }), "rate_limited"],
      [new TypeError("fetch failed", { cause: new Error("connect ECONNREFUSED 127.0.0.1:1") }), "connection"],
      // As Node says it where a connection ends within the body of an answer.
      [new TypeError("terminated", { cause: new Error("other side closed") }), "connection"],
      [new Error("It broke"), "unknown"],
      ["a text", "unknown"]
    ]
    for (const [error, code] of errors) {
      // oxlint-disable-next-line require-yield -- it throws before its first word
      const colloquy = await open(async function* () {
        throw error
      })
      const reply = await colloquy.send({ content: "Hi" })
      assert.deepNestedInclude(reply, { status: "FAILED", "fault.code": code, content: "" })
      if (reply.status === "FAILED") {
        assert.include(reply.fault.message, "house/house-1")
        assert.notMatch(reply.fault.message, /sk-1|ECONNREFUSED|broke/u)
      }
      await colloquy.close()
    }
  })

  it("is told when nobody waits any more, also while it waits itself", async () => {
    let signalled: AbortSignal | undefined
    const colloquy = await open(async function* (_, { signal }) {
      signalled = signal
      yield "Once"
      await new Promise(() => {})
    })
    const turn = await colloquy.start({ content: "Hi", stream: true })
    for await (const event of turn.events) if (event._tag === "TextDelta") break
    await colloquy.cancel(turn)
    assert.strictEqual((await turn.reply()).content, "Once")
    assert.isTrue(signalled?.aborted)
    await colloquy.close()
  })

  it("embeds, and lists its models", async () => {
    const house = provider({
      id: "house",
      chat: async function* () {
        yield "Hi."
      },
      embed: async ({ texts }) => texts.map((text) => [text.length, 1, 0]),
      embedding: { model: "house-vectors", dimensions: 3 },
      models: ["house-1", { name: "house-vectors", modelType: "embedding", embeddingDimensions: 3 }]
    })
    const colloquy = await Colloquy.open({ store: inMemory(), providers: [house], model: "house-1", owner: "ada" })
    const { models } = await colloquy.models.list()
    assert.deepStrictEqual(
      models.map(({ modelType, name }) => [name, modelType]),
      [
        ["house-1", "llm"],
        ["house-vectors", "embedding"]
      ]
    )
    const { embedding } = await colloquy.assistants.create({ name: "Clerk" })
    assert.deepStrictEqual(embedding, { provider: "house", model: "house-vectors", dimensions: 3 })
    await colloquy.close()
  })
})

describe("a part of plain code", () => {
  it("gives the model what it recalled, and keeps a note with the answer", async () => {
    const orders = part({
      name: "orders",
      recall: async ({ content, keep, owner }) => {
        keep({ owner })
        return content.includes("order") ? ["Order A-17 arrives on Friday."] : null
      }
    })
    const read: Array<string> = []
    const colloquy = await open(
      async function* ({ messages }) {
        read.push(JSON.stringify(messages))
        yield "On Friday."
      },
      { parts: [orders] }
    )
    const { supplements } = await colloquy.send({ content: "Where is my order?" })
    await colloquy.send({ content: "Hi" })
    assert.deepStrictEqual(supplements["orders"], { owner: "ada" })
    assert.include(read[0], "Order A-17 arrives on Friday.")
    assert.notInclude(read[1], "A-17")
    await colloquy.close()
  })
})

describe("a guard of plain code", () => {
  const echo = async function* ({ messages }: Parameters<Chat>[0]) {
    const last = messages.at(-1)
    yield last?.role === "user" && last.content[0]?.type === "text" ? last.content[0].text : ""
  }

  it("changes or refuses what comes in, and changes or stops what goes out", async () => {
    const house = guard({
      before: async (text, { owner }) =>
        text.includes("bomb") ? { refuse: `Not here, ${owner}.` } : text.replaceAll("sk-123", "[key]"),
      after: async (text) => {
        if (text.includes("stop")) return { stop: "It said stop." }
        return text.includes("replace") ? { replace: "Something else." } : text.replaceAll("Oslo", "[town]")
      }
    })
    const colloquy = await open(echo, { parts: [house] })
    const said = async (content: string) => (await colloquy.send({ content })).content
    assert.strictEqual(await said("My key is sk-123."), "My key is [key].")
    assert.strictEqual(await said("I live in Oslo."), "I live in [town].")
    assert.strictEqual(await said("Please replace this."), "Something else.")
    const stopped = await colloquy.send({ content: "It is fine. Please stop. Or not." })
    assert.deepNestedInclude(stopped, { status: "FAILED", "fault.message": "It said stop." })
    const refused = await colloquy.send({ content: "A bomb" }).catch((error: unknown) => error)
    assert.include(JSON.stringify(refused), "Not here, ada.")
    await colloquy.close()
  })

  it("that fails lets nothing pass", async () => {
    const broken = guard({ after: () => Promise.reject(new Error("It broke")) })
    const colloquy = await open(echo, { parts: [broken] })
    assert.deepInclude(await colloquy.send({ content: "Hi." }), { status: "FAILED", content: "" })
    await colloquy.close()
  })
})

const Inspected = Schema.Struct({ failures: Schema.Array(Schema.JsonObject) })

describe("a provider that fails", () => {
  it("is explained to the operator, in the log and in the inspection of the run, and to nobody else", async () => {
    const lines: Array<string> = []
    const logger = Logger.make(({ message }) => void lines.push(String(message)))
    const refusal = Object.assign(new Error("Your organization has no access. Key sk-1234567890"), { status: 403 })
    const colloquy = await open(
      async function* () {
        yield "Well,"
        throw refusal
      },
      { layers: [Logger.layer([logger])] }
    )
    const reply = await colloquy.send({ content: "Hi" })
    const said = "Your organization has no access. Key [hidden]"
    assert.notInclude(JSON.stringify(reply), "organization")
    assert.include(lines.join("\n"), `Run ${reply.runId} failed.`)
    assert.include(lines.join("\n"), `Status 403. It said: ${said}`)
    const { handler } = await colloquy.handler({ authenticate: () => "ada" })
    const path = `/threads/${reply.threadId}/runs/${reply.runId}`
    const inspection = await (await handler(new Request(`http://in.process${path}/inspection`))).json()
    const { failures } = Schema.decodeUnknownSync(Inspected)(inspection)
    assert.deepInclude(failures[0], { model_provider: "house", reason: "auth", status: 403, code: null, said })
    const events = await (await handler(new Request(`http://in.process${path}/events`))).text()
    assert.include(events, "run_failed")
    assert.notInclude(events, "organization")
    await colloquy.close()
  })
})
