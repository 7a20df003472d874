/** Rooms as plain values: what each adds to the kernel, to messages, to replies and to events. Files are read in processes of their own. */
import { Colloquy, type TurnEvent } from "colloquy"
import { answers } from "colloquy/answers"
import { documents, FileUnreadable, IndexingFailed } from "colloquy/documents"
import { inMemory } from "colloquy/in-memory"
import { images, videos } from "colloquy/media"
import { mcp } from "colloquy/mcp"
import { memory, type PlainReranker, reranker } from "colloquy/memory"
import { realtime } from "colloquy/realtime"
import { summaries } from "colloquy/summaries"
import { callTool, say, scripted } from "colloquy/testing"
import { voice } from "colloquy/voice"
import { webSearch, type WebSearchPort } from "colloquy/web-search"
import { noUsage, wavHeader } from "@colloquy/core/adapters"
import { assert, describe, expectTypeOf, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { mkdtemp, rm, writeFile } from "node:fs/promises"
import { createServer } from "node:http"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { Readable } from "node:stream"
import { openAccountDesk } from "../../adapters/test/mcp/AccountDesk.ts"

const store = () => ({ store: inMemory(), model: "scripted-model", owner: "ada" })
const script = (...steps: Parameters<typeof scripted>[0]) => ({ ...store(), providers: [scripted(steps)] })
const toFault = (work: Promise<unknown>): Promise<unknown> =>
  work.then(
    () => null,
    (fault: unknown) => fault
  )

/** A picture of one pixel. */
const pixel = Buffer.from(
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==",
  "base64"
)

const handbook = "# Holidays\n\nEmployees have thirty days of holiday a year."

describe("the room of an MCP server at which owners have accounts", () => {
  it("grants access for the owner of the call, with several of them in one kernel", async () => {
    await using desk = await openAccountDesk()
    const account = (name: string) =>
      mcp({ name, url: desk.url, oauth: { redirectUrl: "https://host.example/back", secret: `the secret of ${name}` } })
    const steps = [callTool("notes_access", {}), say("Grant it."), callTool("files_whoami", {}), say("You are Ada.")]
    await using colloquy = await Colloquy.open({ ...script(...steps), rooms: [account("notes"), account("files")] })
    const asked = await colloquy.send({ content: "Who am I?" })
    assert.deepStrictEqual([asked.status, asked.toolAccessRequired], ["COMPLETED", ["notes"]])

    const { url } = await colloquy.toolAccess.begin("files")
    const back = await desk.agree(url, "ada-desk")
    const refused = await toFault(colloquy.as("bob").toolAccess.finish(back))
    assert.deepInclude(refused, { _tag: "ToolAccessFailed", reason: "state" })
    assert.deepStrictEqual(await colloquy.toolAccess.finish(back), { server: "files" })
    assert.deepStrictEqual(
      (await colloquy.toolAccess.list()).map(({ isGranted, server }) => [server, isGranted]),
      [
        ["notes", false],
        ["files", true]
      ]
    )
    const answered = await colloquy.send({ content: "And now?" })
    assert.deepStrictEqual(answered.toolAccessRequired, [])
    assert.isTrue(await colloquy.toolAccess.forget("files"))
    assert.isFalse((await colloquy.toolAccess.get("files")).isGranted)
  })
})

describe("the room of documents", () => {
  it("takes a file in every form, waits until it is indexed, and tells what an answer was given", async () => {
    const colloquy = await Colloquy.open({ ...script(say("Thirty [d1]. [d99]")), rooms: [documents()] })
    const { id: assistantId } = await colloquy.assistants.create({ name: "Clerk" })
    const folder = await mkdtemp(join(tmpdir(), "colloquy-"))
    const path = join(folder, "handbook.md")
    await writeFile(path, handbook)
    const bytes = new TextEncoder().encode(handbook)
    const forms = [
      { file: new File([handbook], "handbook.md") },
      { file: new Blob([handbook]), filename: "handbook.md" },
      { file: Buffer.from(bytes), filename: "handbook.md" },
      { file: path },
      { file: new Blob([handbook]).stream(), filename: "handbook.md" },
      { file: Readable.from([bytes]), filename: "handbook.md" }
    ]
    for (const form of forms) {
      const { filename, id } = await colloquy.documents.upload({ assistantId, ...form })
      const statuses: Array<string> = []
      const indexed = await colloquy.documents.indexed(id, { onProgress: ({ status }) => statuses.push(status) })
      assert.deepInclude(indexed, { filename: "handbook.md", status: "completed" })
      assert.deepStrictEqual([filename, statuses.at(-1)], ["handbook.md", "completed"])
      assert.deepStrictEqual(await colloquy.documents.content(id), bytes)
    }
    const reply = await colloquy.send({ assistantId, content: "How many days of holiday do employees have?" })
    const [first] = reply.retrieved
    assert.deepInclude(first, { index: 0, filename: "handbook.md", heading: "Holidays" })
    assert.include(first?.text, "thirty days")
    assert.strictEqual(first?.text, handbook.slice(first?.start ?? -1, first?.end ?? -1))
    assert.strictEqual(reply.content, "Thirty [d1].")
    assert.deepStrictEqual([reply.citations, reply.citationsDropped], [[{ index: 0, start: 7, end: 11 }], 1])
    const found = await colloquy.documents.search({ assistantId, query: "holiday", limit: 1 })
    assert.lengthOf(found, 1)
    assert.lengthOf(await colloquy.documents.list({ assistantId }), forms.length)
    const ofAda = first?.documentId ?? ""
    assert.deepInclude(await toFault(colloquy.as("bob").documents.indexed(ofAda)), { _tag: "DocumentNotFound" })
    await colloquy.documents.remove(ofAda)
    assert.deepInclude(await toFault(colloquy.documents.indexed(ofAda)), { _tag: "DocumentNotFound" })
    assert.deepInclude(await toFault(colloquy.documents.get(first?.documentId ?? "")), { _tag: "DocumentNotFound" })
    await rm(folder, { recursive: true })
    await colloquy.close()
  })

  it("sends files with a message, and refuses in sentences", async () => {
    const colloquy = await Colloquy.open({
      ...script(say("A cat.")),
      rooms: [documents({ attachmentWait: "1 minute" })]
    })
    const files = [{ file: new File([handbook], "handbook.md") }]
    const reply = await colloquy.send({ content: "How many holidays?", files })
    assert.strictEqual(reply.retrieved[0]?.filename, "handbook.md")
    assert.lengthOf(await colloquy.documents.list({ threadId: reply.threadId }), 1)
    const threadId = reply.threadId
    const nameless = await toFault(colloquy.documents.upload({ threadId, file: new Blob(["x"]) }))
    assert.include(String(nameless), "Give the `filename`")
    const missing = await toFault(colloquy.documents.upload({ threadId, file: "/nowhere/a.md" }))
    assert.instanceOf(missing, FileUnreadable)
    assert.include(String(missing), "The file could not be read: ENOENT")
    assert.deepInclude(missing.cause, { code: "ENOENT" })
    const { id } = await colloquy.documents.upload({ threadId, file: new Blob(["%PDF-1.7 no"]), filename: "a.pdf" })
    const failed = await toFault(colloquy.documents.indexed(id))
    assert.instanceOf(failed, IndexingFailed)
    assert.include(String(failed), '"a.pdf" could not be indexed: ')
    await colloquy.close()
  })
})

const learned = '{"operations": [{"op": "ADD", "text": "Ada lives in Oslo.", "message": 1, "quote": "I live in Oslo"}]}'

describe("the room of memories", () => {
  it("learns, waits for that, recalls in another thread, and tells it", async () => {
    const colloquy = await Colloquy.open({ ...script(say("Nice."), say(learned), say("In Oslo.")), rooms: [memory()] })
    const first = await colloquy.send({ content: "I live in Oslo.", memory: "auto" })
    const operation = await colloquy.memories.learned(first)
    assert.deepInclude(operation, { status: "COMPLETED", id: first.runId })
    const { assistantId } = first
    const told: Array<string> = []
    for await (const event of colloquy.stream({
      assistantId,
      content: "Where do I live?",
      memory: { mode: "readonly" }
    })) {
      if (event._tag === "MemoriesRetrieved") told.push(...event.memories.map((each) => each.memory))
    }
    assert.deepStrictEqual(told, ["Ada lives in Oslo."])
    const [added, ...rest] = await colloquy.memories.list({ assistantId })
    assert.deepStrictEqual([added?.content, rest.length], ["Ada lives in Oslo.", 0])
    const place = { assistantId, memoryId: added?.id ?? "" }
    assert.deepInclude(await colloquy.memories.update({ ...place, content: "Ada moved." }), { content: "Ada moved." })
    assert.lengthOf(await colloquy.memories.search({ assistantId, query: "moved" }), 1)
    await colloquy.memories.remove(place)
    assert.deepInclude(await toFault(colloquy.memories.get(place)), { _tag: "MemoryNotFound" })
    assert.isNull(await colloquy.memories.learned({ runId: "none" }))
    await colloquy.close()
  })

  it("orders what it found by a reranker of plain code", async () => {
    const asked: Array<string> = []
    class ByLength implements PlainReranker {
      private readonly asked = asked
      async rerank({ query, texts }: { readonly query: string; readonly texts: ReadonlyArray<string> }) {
        this.asked.push(query)
        return texts.map((_, index) => index).toSorted((a, b) => (texts[a]?.length ?? 0) - (texts[b]?.length ?? 0))
      }
    }
    const byLength = reranker(new ByLength())
    const colloquy = await Colloquy.open({ ...script(say("Tea.")), rooms: [memory({ reranker: byLength })] })
    const { id: assistantId } = await colloquy.assistants.create({ name: "Clerk" })
    for (const content of ["Ada drinks tea in the morning.", "Ada drinks."])
      await colloquy.memories.add({ assistantId, content })
    const wish = { mode: "readonly", pro: true } as const
    const { memories } = await colloquy.send({ assistantId, content: "What does Ada drink?", memory: wish })
    assert.deepStrictEqual(
      memories.map((each) => each.memory),
      ["Ada drinks.", "Ada drinks tea in the morning."]
    )
    assert.lengthOf(asked, 1)
    await colloquy.close()
  })

  it("gives a reply its memories, and refuses a wrong word", async () => {
    const colloquy = await Colloquy.open({ ...script(say("In Oslo.")), rooms: [memory({ recalled: 3 })] })
    const { id: assistantId } = await colloquy.assistants.create({ name: "Clerk" })
    await colloquy.memories.add({ assistantId, content: "Ada lives in Oslo." })
    const reply = await colloquy.send({ assistantId, content: "Where does Ada live?", memory: "readonly" })
    assert.deepStrictEqual(
      reply.memories.map((each) => each.memory),
      ["Ada lives in Oslo."]
    )
    // @ts-expect-error a caller in plain JavaScript
    const wrong = await toFault(colloquy.send({ content: "Hi", memory: "always" }))
    assert.deepInclude(wrong, { _tag: "TurnRefused" })
    await colloquy.close()
  })
})

const engine: WebSearchPort = {
  id: "engine",
  priceUsd: 0,
  search: () =>
    Effect.succeed({
      results: [{ url: "https://foxes.example/", title: "Foxes", text: "They dig.", publishedAt: null }],
      costUsd: 0
    })
}

describe("rooms that a model uses", () => {
  it("answers typed questions, and takes their outcomes", async () => {
    const colloquy = await Colloquy.open({ ...script(say('{"Yes": 0.9, "No": 0.1}')), rooms: [answers()] })
    const questions = { urgent: { type: "noul", instructions: "Is it urgent?" } } as const
    const reply = await colloquy.send({ content: "Fire!", questions })
    assert.deepStrictEqual(reply.answers, { urgent: { type: "noul", noul: 0.9 } })
    await colloquy.answers.record({ ...reply, question: "urgent", outcome: true })
    assert.strictEqual((await colloquy.answers.report(reply.assistantId)).cases, 1)
    await colloquy.close()
  })

  it("searches and paints in one turn", async () => {
    const provider = {
      ...scripted([
        callTool("web_search", { query: "foxes" }),
        callTool("generate_image", { prompt: "A fox" }),
        say(".")
      ]),
      image: { generate: () => Effect.succeed({ images: [pixel], usage: noUsage, model: null }) }
    }
    const rooms = [webSearch(engine), images({ model: "painter" }), videos(), summaries()] as const
    const colloquy = await Colloquy.open({ ...store(), providers: [provider], rooms })
    const wish: object = { provider: undefined, model: undefined }
    const turn = await colloquy.start({ content: "A fox, please.", webSearch: "auto", images: wish, stream: true })
    const made: Array<string> = []
    for await (const event of turn.events) if (event._tag === "MediaGenerated") made.push(event.media.mimeType)
    const { media, sources } = await turn.reply()
    assert.deepStrictEqual([made, media.map(({ mimeType }) => mimeType)], [["image/png"], ["image/png"]])
    assert.strictEqual(sources[0]?.title, "Foxes")
    assert.deepStrictEqual(await colloquy.videos.models(), [])
    await colloquy.close()
  })

  it("hears a recording before the turn", async () => {
    const words = { text: "Good morning.", seconds: 1, language: "en", usage: noUsage }
    const ear = { defaultModel: "ear", maxBytes: 1_000_000, transcribe: () => Effect.succeed(words) }
    const provider = { ...scripted([say("Morning.")]), speechToText: ear }
    const colloquy = await Colloquy.open({ ...store(), providers: [provider], rooms: [voice()] })
    const file = Buffer.concat([wavHeader({ sampleRate: 8000, channels: 1 }, 16_000), Buffer.alloc(16_000)])
    const reply = await colloquy.send({ content: "", recording: { file, filename: "morning.wav" } })
    assert.deepInclude(reply.heard, { transcript: "Good morning.", language: "en" })
    assert.isNull(reply.spoken)
    const noSound = { file: Buffer.from("no sound"), filename: "a.mp3" }
    const refused = await toFault(colloquy.send({ content: "", recording: noSound }))
    assert.deepInclude(refused, { _tag: "FileTypeUnsupported" })
    assert.deepStrictEqual(await colloquy.voice.models(), { hear: [], speak: [] })
    await colloquy.close()
  })

  it("opens voice sessions on a server", async () => {
    const colloquy = await Colloquy.open({ ...script(), rooms: [realtime({ models: [] })] })
    const ticket = await colloquy.realtime.ticket()
    assert.strictEqual(ticket.expiresIn, 60)
    assert.isNotEmpty(ticket.ticket)
    const server = createServer()
    const detach = colloquy.realtime.attach(server)
    assert.strictEqual(server.listenerCount("upgrade"), 1)
    detach()
    assert.strictEqual(server.listenerCount("upgrade"), 0)
    await colloquy.realtime.drain()
    await colloquy.close()
  })
})

describe("a kernel's type", () => {
  it("has the calls, fields and events of its rooms, and no others", async () => {
    const plain = await Colloquy.open(script())
    const full = await Colloquy.open({ ...script(), rooms: [documents(), memory()] })
    expectTypeOf(plain).not.toHaveProperty("documents")
    expectTypeOf(full).toHaveProperty("documents")
    expectTypeOf(full).toHaveProperty("memories")
    expectTypeOf(full.as("bob")).toHaveProperty("memories")
    expectTypeOf(full).not.toHaveProperty("answers")
    expectTypeOf<Awaited<ReturnType<typeof full.send>>>().toHaveProperty("retrieved")
    expectTypeOf<Awaited<ReturnType<typeof full.send>>>().toHaveProperty("citations")
    expectTypeOf<Awaited<ReturnType<typeof full.send>>>().toHaveProperty("memories")
    expectTypeOf<Awaited<ReturnType<typeof plain.send>>>().not.toHaveProperty("memories")
    expectTypeOf(plain.stream({ content: "" })).toEqualTypeOf<AsyncIterable<TurnEvent>>()
    assert.notProperty(plain, "documents")
    assert.property(full.as("bob"), "memories")
    // @ts-expect-error the room of memories is not there
    const refused = await toFault(plain.send({ content: "Hi", memory: "auto" }))
    assert.include(String(refused), 'A message has no field "memory".')
    // @ts-expect-error no text
    const wordless = await toFault(plain.send({ message: "Hi" }))
    assert.include(String(wordless), 'A message has no field "message".')
    // @ts-expect-error parts as other libraries have them
    const inParts = await toFault(plain.send({ content: [{ type: "text", text: "Hi" }] }))
    assert.include(String(inParts), "A message has its text as `content`.")
    // @ts-expect-error the name of the wire
    const misnamed = await toFault(plain.send({ content: "Hi", modelOptions: { max_steps: 3 } }))
    assert.include(String(misnamed), '`modelOptions` has no field "max_steps". Fields: maxOutputTokens, maxSteps, ')
    // @ts-expect-error its text is called `content`
    const textless = await toFault(full.memories.add({ assistantId: "a", text: "Likes tea" }))
    assert.include(String(textless), "A memory has its text as `content`.")
    await plain.close()
    await full.close()
  })
})
