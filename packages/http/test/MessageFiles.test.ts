/** Messages with files that are refused, or sent while documents are processed: what is kept then, and what is not. */
import { InMemory } from "@colloquy/adapters/in-memory"
import { assert, describe, it } from "@effect/vitest"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import { type DocumentOptions, fileForm, openWithDocuments, readText } from "./DocumentService.ts"
import { until } from "../../../test/until.ts"

const note = (name = "note.txt") => new File(["The tide turns at four."], name)

/** A service over a state that can be looked at, whose files are read when the gate is opened. */
const openGated = async (options: DocumentOptions = {}) => {
  const state = InMemory.makeState()
  const gate = Deferred.makeUnsafe<void>()
  const service = await openWithDocuments(InMemory.layerFrom(state), {
    extract: (file) => Effect.andThen(Deferred.await(gate), readText(file)),
    ...options
  })
  return {
    service,
    state,
    open: async () => {
      Deferred.doneUnsafe(gate, Effect.void)
      await until(() => [...state.documents.values()].every(({ document }) => document.status !== "processing"))
    },
    kept: () => ({
      documents: state.documents.size,
      blobs: state.blobs.size,
      threads: state.threads.size,
      assistants: state.assistants.size
    }),
    [Symbol.asyncDispose]: () => service[Symbol.asyncDispose]()
  }
}

/** Messages do not wait for their files. */
const hurried: DocumentOptions = { settings: { attachmentWait: "1 millis" } }

const nothing = { documents: 0, blobs: 0, threads: 0, assistants: 0 }

describe("a message with files", () => {
  it("that are not indexed in time is a 400 with their ids; with these it is sent again", async () => {
    await using room = await openGated(hurried)
    const { service } = room
    const form = fileForm({ files: [note("a.txt"), note("b.txt")] }, { content: "When does the tide turn?" })
    const refused = await service.call("POST", "/threads/messages", form)
    assert.strictEqual(refused.status, 400, refused.text)
    const { detail, document_ids, thread_id } = refused.body
    assert.lengthOf(document_ids, 2)
    for (const id of document_ids) assert.include(detail, id)
    assert.include(detail, '"a.txt"')
    assert.deepStrictEqual(room.kept(), { documents: 2, blobs: 2, threads: 1, assistants: 1 })
    assert.deepStrictEqual((await service.call("GET", `/threads/${thread_id}`)).body.messages, [])
    const again = { content: "When does the tide turn?", attachments: document_ids }
    assert.strictEqual((await service.call("POST", `/threads/${thread_id}/messages`, again)).status, 400)
    await room.open()
    const reply = await service.call("POST", `/threads/${thread_id}/messages`, again)
    assert.strictEqual(reply.status, 200, reply.text)
    assert.sameMembers(
      reply.body.attachments.map(({ document_id }: { document_id: string }) => document_id),
      document_ids
    )
    assert.include(reply.body.content, "The tide turns at four.")
    assert.deepStrictEqual(room.kept(), { documents: 2, blobs: 2, threads: 1, assistants: 1 })
  })

  it("that is refused and sent again with its bytes stores nothing a second time, in its thread and under one key", async () => {
    await using room = await openGated(hurried)
    const { service } = room
    const form = () => fileForm({ files: [note("a.txt"), note("b.txt")] }, { content: "When does the tide turn?" })
    const keyed = { headers: { "idempotency-key": "one" } }
    const refused = await service.call("POST", "/threads/messages", form(), keyed)
    assert.strictEqual(refused.status, 400, refused.text)
    const kept = { documents: 2, blobs: 2, threads: 1, assistants: 1 }
    for (let again = 0; again < 3; again++) {
      const repeated = await service.call("POST", "/threads/messages", form(), keyed)
      assert.strictEqual(repeated.status, 400, repeated.text)
      assert.deepStrictEqual(repeated.body.document_ids, refused.body.document_ids)
      const inThread = await service.call("POST", `/threads/${refused.body.thread_id}/messages`, form())
      assert.strictEqual(inThread.status, 400, inThread.text)
    }
    assert.deepStrictEqual(room.kept(), kept)
    await room.open()
    const reply = await service.call("POST", "/threads/messages", form(), keyed)
    assert.strictEqual(reply.status, 200, reply.text)
    assert.strictEqual(reply.body.thread_id, refused.body.thread_id)
    assert.deepStrictEqual(room.kept(), kept)
  })

  it("that has to wait for another document is refused before anything is stored for it", async () => {
    await using room = await openGated(hurried)
    const { service } = room
    const { assistant_id } = (await service.call("POST", "/assistants", { name: "A" })).body
    await service.call("POST", `/assistants/${assistant_id}/documents`, fileForm({ file: note("whole.md") }))
    const before = room.kept()
    const answer = await service.call(
      "POST",
      "/threads/messages",
      fileForm({ files: [note()] }, { content: "x", assistant_id })
    )
    assert.deepStrictEqual([answer.status, answer.body.document_ids], [400, undefined])
    assert.include(answer.body.detail, '"whole.md"')
    assert.deepStrictEqual(room.kept(), before)
  })

  it("is refused while another document of its thread or assistant is processed, by name", async () => {
    await using room = await openGated(hurried)
    const { service } = room
    const { assistant_id } = (await service.call("POST", "/assistants", { name: "A" })).body
    const { thread_id } = (await service.call("POST", `/assistants/${assistant_id}/threads`)).body
    const ofAssistant = await service.call(
      "POST",
      `/assistants/${assistant_id}/documents`,
      fileForm({ file: note("whole.md") })
    )
    const answer = await service.call("POST", `/threads/${thread_id}/messages`, { content: "Hello" })
    assert.deepStrictEqual([answer.status, answer.body.document_ids], [400, undefined])
    assert.include(answer.body.detail, '"whole.md"')
    assert.include(answer.body.detail, ofAssistant.body.document_id)
    await room.open()
    assert.strictEqual((await service.call("POST", `/threads/${thread_id}/messages`, { content: "Hello" })).status, 200)
  })

  const refusals: ReadonlyArray<
    readonly [string, number, Record<string, string>, Record<string, File | ReadonlyArray<File>>]
  > = [
    ["a provider that nobody has", 422, { llm_provider: "none" }, { files: note() }],
    ["a field that is wrong", 422, { memory: "sometimes" }, { files: note() }],
    [
      "an assistant that is not there",
      404,
      { assistant_id: "0197c7b2-0000-7000-8000-000000000001" },
      { files: note() }
    ],
    ["a thread that is not there", 404, { thread_id: "0197c7b2-0000-7000-8000-000000000001" }, { files: note() }],
    ["one empty file among good ones", 422, {}, { files: [note(), new File([], "empty.txt")] }],
    ["one file of an unknown type among good ones", 415, {}, { files: [note(), new File(["x"], "x.exe")] }],
    [
      "an attachment that is not there",
      404,
      { attachments: '["0197c7b2-0000-7000-8000-000000000001"]' },
      { files: note() }
    ],
    ["a text that is too long", 413, { content: "x".repeat(101) }, { files: note() }],
    [
      "typed questions",
      422,
      { system_one: '{"questions":{"a":{"type":"noul","instructions":"?"}}}' },
      { files: note() }
    ]
  ]
  it.each(refusals)("that is refused for %s leaves nothing", async (_name, status, fields, files) => {
    await using room = await openGated({ http: { limits: { text: 100 } } })
    await room.open()
    const answer = await room.service.call("POST", "/threads/messages", fileForm(files, fields))
    assert.strictEqual(answer.status, status, answer.text)
    assert.deepStrictEqual(room.kept(), nothing)
  })

  it("on a thread that is there leaves the thread as it was", async () => {
    await using room = await openGated()
    await room.open()
    const { service } = room
    const { assistant_id } = (await service.call("POST", "/assistants", { name: "A" })).body
    const { thread_id } = (await service.call("POST", `/assistants/${assistant_id}/threads`)).body
    const before = room.kept()
    const answer = await service.call(
      "POST",
      `/threads/${thread_id}/messages`,
      fileForm({ files: [note(), note("b.md")] }, { content: "x", llm_provider: "none" })
    )
    assert.strictEqual(answer.status, 422)
    assert.deepStrictEqual(room.kept(), before)
  })

  it("lists every problem of every file and field at once", async () => {
    await using room = await openGated()
    const form = fileForm(
      { files: [new File([], "one.txt"), note(), new File([], "three.pdf")] },
      { stream: "perhaps", thinking: "{" }
    )
    form.append("files", "no file at all")
    const { body, status } = await room.service.call("POST", "/threads/messages", form)
    assert.strictEqual(status, 422)
    assert.sameMembers(
      body.detail.map(({ loc, type }: { loc: ReadonlyArray<string>; type: string }) => `${loc.join(".")} ${type}`),
      [
        "body.files.0 file_empty",
        "body.files.2 file_empty",
        "body.files file_type",
        "body.stream bool_parsing",
        "body.thinking json_invalid"
      ]
    )
  })
})
