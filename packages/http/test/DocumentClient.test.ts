/** Documents by the typed client: files of the platform, bytes under a name, and streams. */
import { InMemory } from "@colloquy/adapters/in-memory"
import { assert, describe, it } from "@effect/vitest"
import { Client, WireErrors } from "../src/index.ts"
import { openWithDocuments } from "./DocumentService.ts"
import { keys } from "./Service.ts"
import { until } from "../../../test/until.ts"

const textStream = (...texts: ReadonlyArray<string>) =>
  new ReadableStream<Uint8Array>({
    start: (controller) => {
      for (const text of texts) controller.enqueue(new TextEncoder().encode(text))
      controller.close()
    }
  })

describe("the client for documents", () => {
  it("uploads in every form, asks, reads and deletes", async () => {
    await using service = await openWithDocuments(InMemory.layer)
    const { assistants, documents, messages, threads } = await Client.connect({
      baseUrl: "http://in.process",
      apiKey: keys.ada,
      handler: service.handler
    })
    const { assistant_id: assistantId } = await assistants.create({ name: "A" })
    const { thread_id: threadId } = await assistants.createThread(assistantId)
    const file = await documents.upload({ assistantId }, new File(["Gulls nest on roofs."], "gulls.txt"), {
      metadata: { page: 1 }
    })
    assert.deepStrictEqual([file.assistant_id, file.metadata_], [assistantId, { page: 1 }])
    const blob = await documents.upload(
      { threadId },
      { filename: 'terns "arctic".txt', bytes: new Blob(["Terns dive."]) }
    )
    assert.strictEqual(blob.filename, 'terns "arctic".txt')
    const stream = await documents.upload({ threadId }, { filename: "auks.txt", bytes: textStream("Auks ", "swim.") })
    assert.strictEqual(await (await documents.content(stream.document_id)).text(), "Auks swim.")
    await until(async () => (await documents.list({ threadId })).every(({ status }) => status !== "processing"))
    assert.strictEqual((await documents.status(stream.document_id)).document_type, "txt")
    assert.strictEqual((await documents.chunks(stream.document_id, { limit: 1 })).chunks[0]?.text, "Auks swim.")
    assert.strictEqual(
      (await documents.search({ threadId }, { query: "swim", limit: 1 })).excerpts[0]?.filename,
      "auks.txt"
    )
    assert.include((await documents.url(file.document_id, { expires_in: 60 })).url, file.document_id)

    const reply = await messages.send(
      threadId,
      { content: "What do puffins eat?", metadata: '{"a":1}' },
      {
        files: [
          { filename: "puffins.txt", bytes: textStream("Puffins eat sand eels.") },
          new File(["x y"], "other.txt")
        ]
      }
    )
    assert.deepStrictEqual(
      reply.attachments?.map(({ filename }) => filename),
      ["puffins.txt", "other.txt"]
    )
    assert.include(reply.retrieved_files ?? [], "puffins.txt")
    const lines = { content: "What do\npuffins\r\neat?" }
    await messages.send(threadId, lines, { files: [new File(["z"], "z.txt")] })
    assert.strictEqual((await threads.get(threadId)).messages.at(-2)?.content, lines.content)

    assert.strictEqual((await documents.remove(stream.document_id)).document_id, stream.document_id)
    const gone = await documents.status(stream.document_id).then(
      () => assert.fail("The document is still there"),
      (error: unknown) => error
    )
    assert.instanceOf(gone, WireErrors.NotFound)
  })
})
