/** Documents as inputs of a clip: whose may be used, and in which form a provider gets them. Specification part 4, "Video tool rules" 4, 5. */
import { ScriptedVideo } from "@colloquy/testing"
import { Assistants, Principal, type ThreadId } from "@colloquy/core"
import { BlobId, type ChatDriver, type ChatEvent, type ChatRequest, newId } from "@colloquy/core/adapters"
import { sampleDocument } from "@colloquy/testing/contracts"
import { BlobStore, DocumentLinks, type DocumentScope, DocumentStore } from "@colloquy/core/documents"
import { assert, describe } from "@effect/vitest"
import * as Effect from "effect/Effect"
import type * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import { toolResultsIn, turnWith, videoStory, wishes } from "../support/VideoRoom.ts"

const bytes = Uint8Array.of(1, 2, 3)

const place = (scope: DocumentScope, extension: string, mimeType: string) =>
  Effect.gen(function* () {
    const blobId = yield* newId(BlobId)
    yield* (yield* BlobStore).put(blobId, Stream.make(bytes))
    const document = yield* sampleDocument(scope, { extension, mimeType, blobId, size: 3, status: "completed" })
    yield* (yield* DocumentStore).insert(document, [])
    return document.id
  })

const openThread = Effect.gen(function* () {
  const assistants = yield* Assistants
  const { id } = yield* assistants.create({ name: "a" })
  return yield* assistants.createThread(id, null)
})

const ofThread = (threadId: ThreadId): DocumentScope => ({ _tag: "Thread", threadId })

const everything = {
  name: "acme/all",
  supportsVision: true,
  supportsAudioInput: true,
  supportsVideoInput: true
}

const publicly = DocumentLinks.use((links) =>
  links.serve({
    url: (id) => `/${id}`,
    signed: (id, lifetime) => `https://media.example.com/${id}?for=${JSON.stringify(lifetime)}`
  })
)

/** A model that calls the tool with the arguments of the moment, and then says something. */
const scene = (model: Parameters<typeof ScriptedVideo.make>[0] = { models: [everything] }) => {
  const asked: Array<ChatRequest> = []
  const studio = ScriptedVideo.make(model)
  let call = "{}"
  const finished: ChatEvent = { _tag: "Finished", reason: "stop", model: null, providerData: null }
  const chat: ChatDriver = ({ messages }) =>
    messages.at(-1)?.role === "tool"
      ? Stream.make({ _tag: "TextDelta", text: "Done." } as const, finished)
      : Stream.make(
          { _tag: "ToolCallReady", call: { id: "c", name: "generate_video", arguments: call } } as const,
          finished
        )
  return {
    asked,
    studio,
    chat,
    ask: (threadId: ThreadId, args: Schema.JsonObject, name = everything.name) =>
      Effect.gen(function* () {
        call = JSON.stringify(Object.assign({ prompt: "A boat" }, args))
        yield* turnWith({ threadId, options: wishes(name) })
        return toolResultsIn(asked).at(-1) ?? ""
      })
  }
}

const picture = { bytes, mimeType: "image/png" }

describe("documents as inputs of a clip", () => {
  const frames = scene()
  videoStory(
    "pictures travel inside of the order: as first and last frame, and as references",
    frames,
    Effect.gen(function* () {
      const thread = yield* openThread
      const first = yield* place(ofThread(thread.id), "png", "image/png")
      const ofAssistant = yield* place({ _tag: "Assistant", assistantId: thread.assistantId }, "png", "image/png")
      yield* frames.ask(thread.id, { input_image_document_id: first, input_last_frame_document_id: ofAssistant })
      yield* frames.ask(thread.id, { input_reference_document_ids: [ofAssistant] })
      const [framed, referred] = frames.studio.orders
      assert.deepInclude(framed, { firstFrame: picture, lastFrame: picture, references: [] })
      assert.deepInclude(referred, { firstFrame: null, lastFrame: null, references: [{ kind: "image", picture }] })
    })
  )

  const heard = scene()
  videoStory(
    "audio and video references are sent as HTTPS addresses that are signed for a while; so is the video of video-to-video",
    heard,
    Effect.gen(function* () {
      yield* publicly
      const { id } = yield* openThread
      const audio = yield* place(ofThread(id), "mp3", "audio/mpeg")
      const video = yield* place({ _tag: "Thread", threadId: id }, "mp4", "video/mp4")
      yield* heard.ask(id, { input_reference_document_ids: [audio, video] })
      yield* heard.ask(id, { input_video_document_id: video })
      const address = (document: string) => `https://media.example.com/${document}?for="1 hour"`
      assert.deepStrictEqual(heard.studio.orders[0]?.references, [
        { kind: "audio", url: address(audio) },
        { kind: "video", url: address(video) }
      ])
      assert.deepStrictEqual(heard.studio.orders[1]?.references, [{ kind: "video", url: address(video) }])
    })
  )

  for (const [title, signed] of [
    ["serves no documents", null],
    ["has no HTTPS address", "http://media.example.com/x"],
    ["has an address that only itself knows", "https://localhost:8787/x"],
    ["has an address in a private network", "https://192.168.1.7/x"],
    ["has an address of IPv6 in its own network", "https://[fd00::1]/x"],
    ["has an address of IPv4 written as one of IPv6", "https://[::ffff:10.0.0.1]/x"],
    ["has an address written as a number", "https://2130706433/x"],
    ["has an address of a carrier's network", "https://100.64.0.7/x"],
    ["has a name with a dot at its end", "https://localhost./x"],
    ["has a name that only its network knows", "https://media/x"],
    ["gives bytes instead of an address", "data:video/mp4;base64,AAAA"]
  ] as const) {
    const hidden = scene()
    videoStory(
      `audio and video references get a clear refusal from a host that ${title}`,
      hidden,
      Effect.gen(function* () {
        yield* DocumentLinks.use((links) => links.serve({ url: () => "", signed: () => signed }))
        const { id } = yield* openThread
        const video = yield* place(ofThread(id), "mp4", "video/mp4")
        assert.match(yield* hidden.ask(id, { input_video_document_id: video }), /no public HTTPS address/u)
        assert.strictEqual(hidden.studio.orders.length, 0)
      })
    )
  }

  const deaf = scene({ models: [{ ...everything, supportsAudioInput: null }] })
  videoStory(
    "audio and video references are forwarded only when the model advertises the modality",
    deaf,
    Effect.gen(function* () {
      yield* publicly
      const { id } = yield* openThread
      const audio = yield* place(ofThread(id), "mp3", "audio/mpeg")
      assert.match(yield* deaf.ask(id, { input_reference_document_ids: [audio] }), /takes no audio/u)
      assert.strictEqual(deaf.studio.orders.length, 0)
    })
  )

  const inline = scene()
  videoStory(
    "inline data URIs are refused for audio and video references",
    inline,
    Effect.gen(function* () {
      yield* publicly
      const { id } = yield* openThread
      const uri = "data:video/mp4;base64,AAAA"
      const calls = [
        { input_reference_document_ids: [uri] },
        { input_reference_document_ids: [{ type: "video_url", video_url: { url: uri } }] },
        { input_video_document_id: uri }
      ]
      for (const call of calls) {
        assert.match(yield* inline.ask(id, call), /There is no document data:|a list of up to 16 ids/u)
      }
      assert.strictEqual(inline.studio.orders.length, 0)
    })
  )

  const strict = scene()
  videoStory(
    "frame images and references cannot be combined; refused is also a frame that is no picture, and a video that is none",
    strict,
    Effect.gen(function* () {
      yield* publicly
      const { id } = yield* openThread
      const image = yield* place(ofThread(id), "png", "image/png")
      const pdf = yield* place(ofThread(id), "pdf", "application/pdf")
      const both = { input_image_document_id: image, input_reference_document_ids: [image] }
      assert.match(yield* strict.ask(id, both), /cannot be combined/u)
      assert.match(yield* strict.ask(id, { input_image_document_id: pdf }), /no picture/u)
      assert.match(yield* strict.ask(id, { input_reference_document_ids: [pdf] }), /no picture, sound or video/u)
      assert.match(yield* strict.ask(id, { input_video_document_id: image }), /is no video/u)
      assert.strictEqual(strict.studio.orders.length, 0)
    })
  )

  const alien = scene()
  videoStory(
    "a document of another owner, of another conversation and of none look the same",
    alien,
    Effect.gen(function* () {
      const { id } = yield* openThread
      const elsewhere = yield* openThread
      const foreign = yield* Effect.flatMap(openThread, (thread) =>
        place(ofThread(thread.id), "png", "image/png")
      ).pipe(Principal.provide("eve"))
      const other = yield* place(ofThread(elsewhere.id), "png", "image/png")
      for (const document of [foreign, other, "nothing"]) {
        const told = yield* alien.ask(id, { input_image_document_id: document })
        assert.include(told, `There is no document ${document} in this conversation or its assistant.`)
      }
      assert.strictEqual(alien.studio.orders.length, 0)
    })
  )
})
