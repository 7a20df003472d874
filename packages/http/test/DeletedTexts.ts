/**
 * After the deletion of a memory or a document no reader gets its text any more: not the thread, not the inspection, not a stream that is
 * read again, not a repeat of the request, not an export. On every store, in the process that answered and in another one.
 */
import type { InMemory } from "@colloquy/adapters/in-memory"
import { callTool, say, ScriptedModel, type ScriptStep } from "@colloquy/testing"
import { Kernel, Providers } from "@colloquy/core"
import { Documents, TextExtractor } from "@colloquy/core/documents"
import { Memory } from "@colloquy/core/memory"
import { Outputs } from "@colloquy/core/outputs"
import { afterAll, assert, beforeAll, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as ManagedRuntime from "effect/ManagedRuntime"
import type { RoutesOptions } from "../src/index.ts"
import { uiMessages } from "../src/ai-sdk/index.ts"
import { openai } from "../src/openai/index.ts"
import { fileForm, readText } from "./DocumentService.ts"
import { serve, type Service, tool } from "./Service.ts"
import { until } from "../../../test/until.ts"

export const openBoth = (
  stores: Layer.Layer<InMemory.Stores, unknown>,
  steps: ReadonlyArray<ScriptStep>,
  excerpts: "recall" | "tool" = "recall",
  http?: RoutesOptions<never>,
  extract = readText
): Promise<Service> =>
  serve(
    Layer.mergeAll(Documents.layer({ excerpts }), Memory.layer(), Outputs.layer()).pipe(
      Layer.provideMerge(Kernel.layer),
      Layer.provide([Layer.succeed(TextExtractor, { readable: ["txt"], extract })]),
      Layer.provideMerge(
        Layer.unwrap(
          Effect.map(ScriptedModel, ({ provider }) =>
            Providers.layer({ providers: [provider], defaults: { provider: "scripted", model: "scripted-model" } })
          )
        )
      ),
      Layer.provideMerge(ScriptedModel.layer(steps)),
      Layer.provideMerge(stores),
      Layer.fresh
    ),
    http
  )

interface Turn {
  readonly thread_id: string
  readonly run_id: string
  readonly repeat: (service: Service, stream: boolean) => Promise<string>
}

/** Everything that a client can read of a turn, by the name of the reading. */
const readings = async (service: Service, { repeat, run_id, thread_id }: Turn): Promise<Record<string, string>> => {
  const run = `/threads/${thread_id}/runs/${run_id}`
  const text = async (path: string) => (await service.call("GET", path)).text
  const thread = await service.call("GET", `/threads/${thread_id}`)
  return {
    thread: thread.text,
    "history of a chat": JSON.stringify(uiMessages(thread.body)),
    threads: await text("/threads?include_messages=true"),
    inspection: await text(`${run}/inspection`),
    "stream again": await text(`${run}/events`),
    repeat: await repeat(service, false),
    "streamed repeat": await repeat(service, true),
    export: await text("/owners/me/export")
  }
}

const namesWith = (found: Record<string, string>, secret: string): Array<string> =>
  Object.keys(found).filter((name) => found[name]?.includes(secret) === true)

export const deletedTexts = (stores: Layer.Layer<InMemory.Stores, unknown>): void => {
  let runtime: ManagedRuntime.ManagedRuntime<InMemory.Stores, unknown>
  let shared: Layer.Layer<InMemory.Stores>
  beforeAll(async () => {
    runtime = ManagedRuntime.make(stores)
    shared = Layer.succeedContext(await runtime.context())
  }, 60_000)
  afterAll(() => runtime.dispose())

  /** An assistant with a memory and a document, as they were made. */
  const prepare = async (service: Service) => {
    const word = globalThis.crypto.randomUUID().slice(0, 8)
    const secrets = { document: `walrus${word}`, memory: `ocelot${word}` }
    const { assistant_id } = (await service.call("POST", "/assistants", { name: "A" })).body
    const memories = `/assistants/${assistant_id}/memories`
    const { memory_id } = (await service.call("POST", memories, { content: `The pet is an ${secrets.memory}.` })).body
    const file = new File([`# A ${secrets.document}\n\nThe pet of the zoo is a ${secrets.document}.`], "zoo.txt")
    const upload = await service.call("POST", `/assistants/${assistant_id}/documents`, fileForm({ file }))
    const document = `/documents/${upload.body.document_id}`
    await until(async () => (await service.call("GET", `${document}/status`)).body.status !== "processing")
    return { assistant_id, memory: `${memories}/${memory_id}`, document, secrets }
  }

  const sendOn = async (service: Service, assistant_id: string, more: object = {}): Promise<Turn> => {
    const key = { headers: { "idempotency-key": globalThis.crypto.randomUUID() } }
    const { thread_id } = (await service.call("POST", `/assistants/${assistant_id}/threads`)).body
    const path = `/threads/${thread_id}/messages`
    const body = { content: "What pet is it, and what pet has the zoo?", memory: "Readonly", ...more }
    const first = await service.call("POST", path, body, key)
    assert.strictEqual(first.status, 200, first.text)
    return {
      thread_id,
      run_id: first.body.run_id,
      repeat: async (from, stream) => (await from.call("POST", path, { ...body, stream }, key)).text
    }
  }

  it("excerpts and memories of a prompt are shown as long as their document and their memory exist", async () => {
    await using service = await openBoth(shared, [say("Pets.")], "recall")
    await using other = await openBoth(shared, [], "recall")
    const { assistant_id, document, memory, secrets } = await prepare(service)
    const turn = await sendOn(service, assistant_id)
    const before = await readings(service, turn)
    assert.include(namesWith(before, secrets.document), "inspection")
    assert.includeMembers(namesWith(before, secrets.memory), [
      "thread",
      "inspection",
      "stream again",
      "repeat",
      "export"
    ])

    assert.strictEqual((await service.call("DELETE", document)).status, 200)
    for (const each of [service, other]) {
      const left = await readings(each, turn)
      assert.deepStrictEqual(namesWith(left, secrets.document), [])
      assert.deepStrictEqual(namesWith(left, secrets.memory), namesWith(before, secrets.memory))
    }
    assert.strictEqual((await service.call("DELETE", memory)).status, 200)
    for (const each of [service, other]) {
      const left = await readings(each, turn)
      assert.deepStrictEqual(namesWith(left, secrets.memory), [])
      assert.include(left["thread"], "zoo.txt")
    }
    const { body } = await service.call("GET", `/threads/${turn.thread_id}`)
    // The entry stays: citations in the answer count it.
    assert.deepStrictEqual(
      body.messages[1].retrieved_memories.map((each: { memory: string }) => each.memory),
      [""]
    )
  })

  it("what a search tool found is shown, and read by models, as long as its document exists", async () => {
    const steps = [callTool("search_documents", { query: "pet of the zoo" }), say("Found."), say("Later.")]
    await using service = await openBoth(shared, steps, "tool")
    await using other = await openBoth(shared, [], "tool")
    const { assistant_id, document, secrets } = await prepare(service)
    const turn = await sendOn(service, assistant_id)
    const before = await readings(service, turn)
    assert.includeMembers(namesWith(before, secrets.document), ["thread", "history of a chat", "inspection", "export"])

    assert.strictEqual((await service.call("DELETE", document)).status, 200)
    for (const each of [service, other]) {
      assert.deepStrictEqual(namesWith(await readings(each, turn), secrets.document), [])
    }
    await service.call("POST", `/threads/${turn.thread_id}/messages`, { content: "And then?" })
    const asked = JSON.stringify(service.model.requests.at(-1)?.messages)
    assert.include(asked, "has been deleted since")
    assert.notInclude(asked, secrets.document)
  })

  it("a run that waits for its client goes on without what was deleted meanwhile", async () => {
    await using service = await openBoth(shared, [callTool("weather", {}), say("So.")], "recall")
    const { assistant_id, document, memory, secrets } = await prepare(service)
    const turn = await sendOn(service, assistant_id, { tools: [tool("weather")] })
    assert.include(JSON.stringify(service.model.requests.at(-1)), secrets.document)
    for (const each of [document, memory]) await service.call("DELETE", each)
    const run = `/threads/${turn.thread_id}/runs/${turn.run_id}`
    const { tool_calls } = (await service.call("GET", `/threads/${turn.thread_id}`)).body.messages.at(-1)
    const outputs = { tool_outputs: [{ tool_call_id: tool_calls[0].id, output: "sun" }] }
    assert.strictEqual((await service.call("POST", `${run}/submit-tool-outputs`, outputs)).body.content, "So.")
    const asked = JSON.stringify(service.model.requests.at(-1))
    for (const secret of Object.values(secrets)) {
      assert.notInclude(asked, secret)
      assert.deepStrictEqual(namesWith(await readings(service, turn), secret), [])
    }
  })

  it("OpenAI's responses: what is read and streamed again, and what a model reads that goes on", async () => {
    const steps = [callTool("search_documents", { query: "pet of the zoo" }), say("Pets [d1]."), say("Later.")]
    await using service = await openBoth(shared, steps, "tool", { wings: [openai] })
    await using other = await openBoth(shared, [], "tool", { wings: [openai] })
    const { assistant_id, document, secrets } = await prepare(service)
    const body = { model: assistant_id, input: "What pet has the zoo?", store: true }
    const first = await service.call("POST", "/v1/responses", body)
    assert.strictEqual(first.status, 200, first.text)
    assert.include(JSON.stringify(service.model.requests.at(-1)?.messages), secrets.document)
    const path = `/v1/responses/${first.body.id}`
    const everything = async (from: Service) => ({
      record: (await from.call("GET", path)).text,
      stream: (await from.call("GET", `${path}?stream=true`)).text,
      items: (await from.call("GET", `${path}/input_items`)).text
    })
    assert.include((await everything(service)).record, "Pets")
    assert.strictEqual((await service.call("DELETE", document)).status, 200)
    for (const each of [service, other]) {
      const left = await everything(each)
      assert.include(left.record, "Pets")
      assert.deepStrictEqual(namesWith(left, secrets.document), [])
    }
    const next = { model: assistant_id, input: "And then?", previous_response_id: first.body.id }
    const later = await service.call("POST", "/v1/responses", next)
    assert.strictEqual(later.status, 200, later.text)
    const asked = JSON.stringify(service.model.requests.at(-1)?.messages)
    assert.include(asked, "And then?")
    assert.notInclude(asked, secrets.document)
    assert.notInclude(later.text, secrets.document)
  })

  it("all memories of an assistant that are forgotten at once are shown nowhere", async () => {
    await using service = await openBoth(shared, [say("Pets.")], "recall")
    const { assistant_id, secrets } = await prepare(service)
    const turn = await sendOn(service, assistant_id)
    assert.strictEqual((await service.call("DELETE", `/assistants/${assistant_id}/memories`)).status, 200)
    assert.deepStrictEqual(namesWith(await readings(service, turn), secrets.memory), [])
  })
}
