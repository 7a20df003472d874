/** Documents over the whole surface, the same on every store: upload, list, status, content, chunks, search, messages, clone, deletion. */
import type { InMemory } from "@colloquy/adapters/in-memory"
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import type * as Layer from "effect/Layer"
import { fileForm, openWithDocuments } from "./DocumentService.ts"
import { allEvents, type Answer, keys, type Service } from "./Service.ts"
import { until } from "../../../test/until.ts"

const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}$/u
const time = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{3}Z$/u

const text = (content: string, name = "notes.txt") => new File([content], name)

/** Addresses change with the time; ids do not. */
const idsIn = ({ attachments }: { readonly attachments: ReadonlyArray<{ readonly document_id: string }> }) =>
  attachments.map(({ document_id }) => document_id)

export const documentStories = (stores: Layer.Layer<InMemory.Stores, unknown>): void => {
  describe("documents over HTTP", () => {
    let service: Service
    beforeAll(async () => {
      service = await openWithDocuments(stores)
    }, 60_000)
    afterAll(() => service[Symbol.asyncDispose]())

    const ok = async (method: string, path: string, body?: unknown): Promise<Answer["body"]> => {
      const answer = await service.call(method, path, body)
      assert.strictEqual(answer.status, 200, `${method} ${path}: ${answer.text}`)
      return answer.body
    }
    const newAssistant = async () => (await ok("POST", "/assistants", { name: "Reader" })).assistant_id as string
    const newThread = async (assistant: string) =>
      (await ok("POST", `/assistants/${assistant}/threads`)).thread_id as string
    const upload = (path: string, file: File, fields: Readonly<Record<string, string>> = {}) =>
      ok("POST", `${path}/documents`, fileForm({ file }, fields))
    /** Looks again until the indexing has ended. */
    const indexed = async (id: string): Promise<Answer["body"]> => {
      let status: Answer["body"]
      await until(async () => {
        status = await ok("GET", `/documents/${id}/status`)
        return status.status !== "processing"
      })
      return status
    }

    it("a file becomes a document that is indexed, listed, found and read again", async () => {
      const assistant = await newAssistant()
      const words = "The lighthouse of Alexandria stood on Pharos."
      const document = await upload(`/assistants/${assistant}`, text(words), { metadata: '{"shelf":3}' })
      assert.match(document.document_id, uuid)
      assert.deepStrictEqual(document, {
        document_id: document.document_id,
        filename: "notes.txt",
        status: "processing",
        status_message: null,
        summary: null,
        assistant_id: assistant,
        thread_id: null,
        created_at: document.created_at,
        updated_at: document.created_at,
        metadata_: { shelf: 3 }
      })
      assert.match(document.created_at, time)
      const status = await indexed(document.document_id)
      assert.deepStrictEqual(status, {
        ...document,
        status: "completed",
        updated_at: status.updated_at,
        document_type: "txt",
        file_size_bytes: words.length,
        total_tokens: status.total_tokens,
        chunk_count: 1,
        processing_started_at: status.processing_started_at,
        processing_completed_at: status.processing_completed_at
      })
      assert.isAbove(status.total_tokens, 5)
      for (const at of [status.processing_started_at, status.processing_completed_at]) assert.match(at, time)

      const other = await upload(`/assistants/${assistant}`, text("A second one", "second.md"))
      await indexed(other.document_id)
      const listed = await ok("GET", `/assistants/${assistant}/documents`)
      assert.deepStrictEqual(
        listed.map((each: { document_id: string; status: string }) => [each.document_id, each.status]),
        [
          [document.document_id, "completed"],
          [other.document_id, "completed"]
        ]
      )

      assert.deepStrictEqual(await ok("GET", `/documents/${document.document_id}/chunks`), {
        chunks: [
          {
            ordinal: 0,
            text: words,
            heading: null,
            page: null,
            slide: null,
            sheet: null,
            row: null,
            token_count: status.total_tokens
          }
        ],
        total: 1
      })
      assert.deepStrictEqual(await ok("GET", `/documents/${document.document_id}/chunks?skip=1`), {
        chunks: [],
        total: 1
      })

      const thread = await newThread(assistant)
      for (const place of [`/assistants/${assistant}`, `/threads/${thread}`]) {
        const { excerpts, total_count } = await ok("POST", `${place}/documents/search`, {
          query: "Where was the lighthouse?"
        })
        assert.strictEqual(total_count, 1)
        const [best] = excerpts
        assert.deepStrictEqual(
          [best.document_id, best.filename, best.ordinal, best.text, best.heading, best.semantic],
          [document.document_id, "notes.txt", 0, words, null, null]
        )
        assert.isTrue(best.score > 0 && best.score <= 1 && best.lexical > 0)
      }
      const content = await service.call("GET", `/documents/${document.document_id}/content`)
      assert.strictEqual(content.text, words)
    })

    it("a search of many words is by 64 of them and says so; one of more than 32 KiB is refused", async () => {
      const assistant = await newAssistant()
      const { document_id } = await upload(`/assistants/${assistant}`, text("The harbour closes at nine."))
      await indexed(document_id)
      const path = `/assistants/${assistant}/documents/search`
      const query = `${Array.from({ length: 500 }, (_, at) => `word${at}`).join(" ")} harbour`
      const found = await ok("POST", path, { query })
      assert.deepStrictEqual([found.total_count, typeof found.note], [1, "string"])
      assert.notProperty(await ok("POST", path, { query: "When does the harbour close?" }), "note")
      assert.strictEqual((await service.call("POST", path, { query: "word ".repeat(7_000) })).status, 413)
    })

    it("a document of a thread is listed there only, and is told when it goes", async () => {
      const assistant = await newAssistant()
      const [one, two] = [await newThread(assistant), await newThread(assistant)]
      const document = await upload(`/threads/${one}`, text("Only here."))
      assert.deepStrictEqual([document.assistant_id, document.thread_id], [null, one])
      await indexed(document.document_id)
      assert.lengthOf(await ok("GET", `/threads/${one}/documents`), 1)
      assert.lengthOf(await ok("GET", `/threads/${two}/documents`), 0)
      assert.lengthOf(await ok("GET", `/assistants/${assistant}/documents`), 0)
      const gone = await ok("DELETE", `/documents/${document.document_id}`)
      assert.match(gone.deleted_at, time)
      assert.deepStrictEqual(gone, {
        message: "The document was deleted.",
        document_id: document.document_id,
        filename: "notes.txt",
        document_type: "txt",
        deleted_at: gone.deleted_at
      })
      const id = document.document_id
      for (const [method, path] of [
        ["DELETE", `/documents/${id}`],
        ["GET", `/documents/${id}/status`],
        ["GET", `/documents/${id}/chunks`],
        ["GET", `/documents/${id}/content`],
        ["POST", `/documents/${id}/url`]
      ] as const) {
        assert.strictEqual((await service.call(method, path)).status, 404, path)
      }
      const { excerpts } = await ok("POST", `/threads/${one}/documents/search`, { query: "only" })
      assert.deepStrictEqual(excerpts, [])
    })

    it("a message is told from the documents of its thread and its assistant, as JSON and as a stream", async () => {
      const assistant = await newAssistant()
      const thread = await newThread(assistant)
      const facts = await upload(`/assistants/${assistant}`, text("The harbour closes at nine.", "harbour.txt"))
      const notes = await upload(`/threads/${thread}`, text("The harbour master is Ida.", "master.txt"))
      for (const { document_id } of [facts, notes]) await indexed(document_id)
      const reply = await ok("POST", `/threads/${thread}/messages`, { content: "What about the harbour?" })
      assert.sameMembers(reply.retrieved_files, ["harbour.txt", "master.txt"])
      assert.strictEqual(reply.retrieved_files_count, 2)
      assert.include(reply.content, "The harbour closes at nine.")
      assert.isNull(reply.attachments)
      const stored = (await ok("GET", `/threads/${thread}`)).messages.at(-1)
      assert.sameMembers(stored.retrieved_files, ["harbour.txt", "master.txt"])
      assert.strictEqual(stored.retrieved_files_count, 2)
      const events = await allEvents(
        await service.fetch("POST", `/threads/${thread}/messages`, { content: "The harbour again", stream: true })
      )
      assert.sameMembers(events.at(-1)?.data.retrieved_files, ["harbour.txt", "master.txt"])
    })

    it("the files of a message are indexed with it, shown with it, and found in later turns", async () => {
      const form = fileForm(
        { files: [text("Orcas live in pods.", "orcas.txt"), text("Bees live in hives.", "bees.md")] },
        { content: "Where do orcas live?" }
      )
      const reply = await ok("POST", "/threads/messages", form)
      assert.deepStrictEqual(
        reply.attachments.map(({ document_id, url, ...rest }: { document_id: string; url: string }) => {
          assert.match(document_id, uuid)
          assert.include(url, `/documents/${document_id}/content?expires=`)
          return rest
        }),
        [
          { filename: "orcas.txt", status: "completed", file_size_bytes: 19, summary: null, mime_type: "text/plain" },
          { filename: "bees.md", status: "completed", file_size_bytes: 19, summary: null, mime_type: "text/markdown" }
        ]
      )
      assert.include(reply.retrieved_files, "orcas.txt")
      assert.include(reply.content, "Orcas live in pods.")
      const { messages } = await ok("GET", `/threads/${reply.thread_id}`)
      assert.deepStrictEqual(idsIn(messages[0]), idsIn(reply))
      assert.isNull(messages[1].attachments)
      assert.lengthOf(await ok("GET", `/threads/${reply.thread_id}/documents`), 2)
      const later = await ok("POST", `/threads/${reply.thread_id}/messages`, { content: "And the bees?" })
      assert.include(later.retrieved_files, "bees.md")
      assert.isNull(later.attachments)
      const again = await ok("POST", `/threads/${reply.thread_id}/messages`, {
        content: "Sum up",
        attachments: [reply.attachments[1].document_id]
      })
      assert.deepStrictEqual(idsIn(again), [reply.attachments[1].document_id])
    })

    it("a message may be files alone, with stream and idempotency", async () => {
      const assistant = await newAssistant()
      const thread = await newThread(assistant)
      const send = () =>
        service.fetch(
          "POST",
          `/threads/${thread}/messages`,
          fileForm({ files: text("Just this.") }, { stream: "true" }),
          {
            headers: { "idempotency-key": `files of ${thread}` }
          }
        )
      const first = await allEvents(await send())
      assert.strictEqual(first.at(-1)?.data.type, "run_ended")
      assert.include(first.at(-1)?.data.content, "Just this.")
      assert.deepStrictEqual(await allEvents(await send()), first)
      assert.lengthOf(await ok("GET", `/threads/${thread}/documents`), 1)
      const other = await service.call(
        "POST",
        `/threads/${thread}/messages`,
        fileForm({ files: text("Something else.") }, { stream: "true" }),
        { headers: { "idempotency-key": `files of ${thread}` } }
      )
      assert.strictEqual(other.status, 409)
      assert.lengthOf(await ok("GET", `/threads/${thread}/documents`), 1)
    })

    it("a clone has the documents of its source, and they outlive it", async () => {
      const assistant = await newAssistant()
      const document = await upload(`/assistants/${assistant}`, text("Copied with its words."))
      await indexed(document.document_id)
      const bare = await ok("POST", `/assistants/${assistant}/clone`, { copy_documents: false })
      assert.strictEqual(bare.documents_cloned, 0)
      const clone = await ok("POST", `/assistants/${assistant}/clone`)
      assert.strictEqual(clone.documents_cloned, 1)
      const copy = clone.assistant.assistant_id
      await ok("DELETE", `/assistants/${assistant}`)
      assert.strictEqual((await service.call("GET", `/documents/${document.document_id}/status`)).status, 404)
      const [kept] = await ok("GET", `/assistants/${copy}/documents`)
      assert.deepStrictEqual([kept.filename, kept.status], ["notes.txt", "completed"])
      assert.notStrictEqual(kept.document_id, document.document_id)
      assert.strictEqual(
        (await service.call("GET", `/documents/${kept.document_id}/content`)).text,
        "Copied with its words."
      )
      const { excerpts } = await ok("POST", `/assistants/${copy}/documents/search`, { query: "words" })
      assert.lengthOf(excerpts, 1)
    })

    it("a thread and an assistant take their documents with them", async () => {
      const assistant = await newAssistant()
      const thread = await newThread(assistant)
      const ofThread = (await upload(`/threads/${thread}`, text("Of the thread."))).document_id
      const ofAssistant = (await upload(`/assistants/${assistant}`, text("Of the assistant."))).document_id
      const { url } = await ok("POST", `/documents/${ofThread}/url`)
      await ok("DELETE", `/threads/${thread}`)
      assert.strictEqual((await service.call("GET", url, undefined, { key: null })).status, 404)
      assert.strictEqual((await service.call("GET", `/documents/${ofThread}/status`)).status, 404)
      assert.strictEqual((await service.call("GET", `/documents/${ofAssistant}/status`)).status, 200)
      await ok("DELETE", `/assistants/${assistant}`)
      assert.strictEqual((await service.call("GET", `/documents/${ofAssistant}/status`)).status, 404)
    })

    it("a signed address opens one document, for a while, to anybody", async () => {
      const assistant = await newAssistant()
      const [one, two] = [
        await upload(`/assistants/${assistant}`, text("one")),
        await upload(`/assistants/${assistant}`, text("two"))
      ]
      const { expires_at, url } = await ok("POST", `/documents/${one.document_id}/url`, { expires_in: 60 })
      assert.match(expires_at, time)
      assert.approximately(Date.parse(expires_at), Date.now() + 60_000, 30_000)
      const open = (path: string, key: string | null = null) => service.call("GET", path, undefined, { key })
      assert.deepStrictEqual([(await open(url)).status, (await open(url)).text], [200, "one"])
      const wrong = [
        url.replace(one.document_id, two.document_id),
        url.replace(/expires=\d+/u, "expires=99999999999"),
        url.replace(/signature=./u, "signature=!"),
        url.replace(/expires=\d+&/u, ""),
        url.replace(/&signature=.*/u, ""),
        url.replace("/content?", "/status?")
      ]
      for (const path of wrong) assert.strictEqual((await open(path)).status, 401, path)
      assert.strictEqual((await open(url, keys.ada)).text, "one")
      assert.strictEqual((await open(url, keys.bob)).status, 404)
      assert.strictEqual((await open(url, "a wrong key")).status, 401)
    })
  })
}
