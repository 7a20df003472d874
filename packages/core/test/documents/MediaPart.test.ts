/** Pictures, sound and video of messages: what reaches the model, what is refused, and what later turns and legs read again. */
import { callTool, say } from "@colloquy/testing"
import {
  defaultTurnSettings,
  type ModelInfo,
  Principal,
  Threads,
  TurnRefused,
  Turns,
  TurnSettings
} from "@colloquy/core"
import type { ChatRequest, ContentPart } from "@colloquy/core/adapters"
import {
  type Document,
  Documents,
  type DocumentScope,
  ExtractionFailed,
  PictureConverter,
  PictureUnreadable
} from "@colloquy/core/documents"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import * as TestClock from "effect/testing/TestClock"
import { memoryStorage, openRoom, readText, type RoomOptions } from "../support/DocumentRoom.ts"
import { weather } from "../support/Story.ts"
import { openPlace } from "./DocumentStories.ts"

const test = <E>(title: string, body: Effect.Effect<void, E, Principal | Scope.Scope>) =>
  it.effect(title, () => body.pipe(Principal.provide("ada")))

const png = (size = 40, fill = 7) => withMark([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a], size, fill)
const mp3 = (size = 40) => withMark([0x49, 0x44, 0x33], size, 0)
const bmp = (size = 60) => {
  const bytes = withMark([0x42, 0x4d], size, 0)
  bytes[14] = 40
  return bytes
}

const withMark = (mark: ReadonlyArray<number>, size: number, fill: number) => {
  const bytes = new Uint8Array(size).fill(fill)
  bytes.set(mark)
  return bytes
}

/** Pictures without a reader, as a host without OCR has them. */
const extract: RoomOptions["extract"] = (file) =>
  file.type.family === "image"
    ? Effect.fail(new ExtractionFailed({ reason: "unsupported", sentence: "The words in pictures are not read here." }))
    : readText(file)

const opened = Effect.fnUntraced(function* (
  info: Partial<ModelInfo>,
  options: RoomOptions & { readonly settings?: Layer.Layer<never> } = {}
) {
  const asked: Array<ChatRequest> = []
  const { storage, state } = yield* memoryStorage
  const { settings = Layer.empty, ...others } = options
  const steps = [say("Fine."), say("Fine."), say("Fine.")]
  const room = yield* openRoom(Layer.provideMerge(storage, settings), { asked, steps, info, extract, ...others })
  const { threadId } = yield* room.run(openPlace)
  const scope = { _tag: "Thread", threadId } as const
  const upload = (filename: string, bytes: Uint8Array) =>
    room.run(uploaded(scope, filename, bytes)).pipe(Effect.tap(() => TestClock.adjust("1 millis")))
  const send = (content: string, ...documents: ReadonlyArray<Document>) =>
    room.run(
      Turns.use((turns) =>
        turns.send({ content, threadId, options: { documents: { attachments: documents.map(({ id }) => id) } } })
      )
    )
  return { asked, room, send, state, threadId, upload }
})

const uploaded = (scope: DocumentScope, filename: string, bytes: Uint8Array) =>
  Documents.use((documents) => documents.upload({ scope, filename, bytes: Stream.make(bytes), purpose: "attachment" }))

const userParts = (request: ChatRequest | undefined): ReadonlyArray<ContentPart> =>
  (request?.messages ?? []).flatMap((message) => (message.role === "user" ? message.content : []))

const refusalText = <A, E, R>(effect: Effect.Effect<A, E, R>) =>
  Effect.map(Effect.flip(effect), (error) => {
    if (error instanceof TurnRefused) return error.problems.map(({ message }) => message).join(" ")
    throw error
  })

const part = (type: "image" | "audio", mediaType: string, filename: string, bytes: Uint8Array): ContentPart => ({
  type,
  mediaType,
  filename,
  source: { bytes }
})
const text = (written: string): ContentPart => ({ type: "text", text: written })

describe("media of a message", () => {
  test(
    "reach the model as they are, in this turn and in later ones; the stored message has their ids alone",
    Effect.gen(function* () {
      const { asked, room, send, state, threadId, upload } = yield* opened({
        supportsVision: true,
        supportsAudioInput: true
      })
      const picture = yield* upload("cat.png", png())
      const sound = yield* upload("purr.mp3", mp3())
      yield* send("What is this?", picture, sound)
      const first = [
        text("What is this?"),
        part("image", "image/png", "cat.png", png()),
        part("audio", "audio/mpeg", "purr.mp3", mp3())
      ]
      assert.deepStrictEqual(userParts(asked[0]), first)
      yield* send("And now?")
      assert.deepStrictEqual(userParts(asked[1]), [...first, text("And now?")])
      const { messages } = yield* room.run(Threads.use((threads) => threads.get(threadId)))
      assert.notInclude(JSON.stringify(messages), "source")
      assert.include(JSON.stringify(messages[0]), picture.id)
      assert.isAtLeast(messages[0]?.tokens ?? 0, 1600)
      for (const { id } of [picture, sound]) {
        const document = [...state.documents.values()].find((row) => row.document.id === id)?.document
        assert.deepInclude(document, { status: "completed", chunkCount: null })
      }
    })
  )

  test(
    "are read again with equal bytes by the leg after the client's tools",
    Effect.gen(function* () {
      const steps = [callTool("weather", {}, "c1"), say("Sunny.")]
      const { asked, room, threadId, upload } = yield* opened({ supportsVision: true }, { steps })
      const { id } = yield* upload("sky.png", png())
      const options = { documents: { attachments: [id] } }
      yield* room.run(Turns.use((turns) => turns.send({ content: "Look.", threadId, tools: [weather], options })))
      yield* room.run(
        Turns.use((turns) =>
          Effect.flatMap(
            turns.submitToolOutputs({ threadId, outputs: [{ toolCallId: "c1", output: "sun" }] }),
            (next) => next.reply
          )
        )
      )
      assert.deepStrictEqual(asked[1]?.messages[0], asked[0]?.messages[0])
      assert.deepStrictEqual(userParts(asked[1]), [text("Look."), part("image", "image/png", "sky.png", png())])
    })
  )

  test(
    "that the model does not take are refused in words, and nothing is stored",
    Effect.gen(function* () {
      const { room, send, threadId, upload } = yield* opened({ supportsVision: false, supportsAudioInput: false })
      const [picture, sound] = [yield* upload("cat.png", png()), yield* upload("purr.mp3", mp3())]
      const refusal = yield* refusalText(send("Look.", picture, sound))
      assert.match(refusal, /"cat\.png": scripted-model does not take pictures, and no words were found in this one\./u)
      assert.match(refusal, /"purr\.mp3": scripted-model does not take sound\. Choose a model that does\./u)
      assert.deepStrictEqual((yield* room.run(Threads.use((threads) => threads.get(threadId)))).messages, [])
    })
  )

  test(
    "that a model cannot see are found by their words, where somebody reads those",
    Effect.gen(function* () {
      const { asked, send, upload } = yield* opened({ supportsVision: false }, { extract: () => readWords })
      const picture = yield* upload("sign.png", png())
      yield* send("Where do badgers live?", picture)
      const [material, note, question] = [...userParts(asked[0])].map((each) =>
        each.type === "text" ? each.text : each.type
      )
      assert.include(material, "[sign.png]\nBadgers live here.")
      assert.strictEqual(note, "Where do badgers live?")
      assert.strictEqual(
        question,
        '["sign.png" (image/png) was attached here and is not shown. This model does not accept files of this type.]'
      )
    })
  )

  test(
    "that no vendor reads are converted, or refused where nothing converts them",
    Effect.gen(function* () {
      const plain = yield* opened({ supportsVision: true })
      assert.include(
        yield* refusalText(plain.send("Look.", yield* plain.upload("scan.bmp", bmp()))),
        "Send PNG, JPEG, WebP or GIF of at most 3.7 MB."
      )
      const big = yield* plain.upload("big.png", png(3_700_001))
      assert.include(yield* refusalText(plain.send("Look.", big)), "of at most 3.7 MB")
      const { asked, send, upload } = yield* opened({ supportsVision: true }, { settings: converting })
      yield* send("Look.", yield* upload("scan.bmp", bmp(60)), yield* upload("big.png", png(3_700_001)))
      assert.deepStrictEqual(userParts(asked[0]), [
        text("Look."),
        part("image", "image/jpeg", "scan.bmp", Uint8Array.of(60)),
        text('["big.png" (image/png) was attached here and is not shown. The picture is broken.]')
      ])
    })
  )

  test(
    "that are more than a prompt may hold are refused together, and of earlier turns the oldest stay behind",
    Effect.gen(function* () {
      const settings = Layer.succeed(TurnSettings, Object.assign({}, defaultTurnSettings, { mediaBytes: 100 }))
      const { asked, send, upload } = yield* opened({ supportsVision: true }, { settings })
      const [one, two, three] = [
        yield* upload("1.png", png(60, 1)),
        yield* upload("2.png", png(60, 2)),
        yield* upload("3.png", png(30, 3))
      ]
      assert.include(
        yield* refusalText(send("Look.", one, two)),
        "have 120 bytes together; a model is sent at most 100."
      )
      yield* send("First.", one)
      yield* send("Second.", two, three)
      assert.deepStrictEqual(userParts(asked[1]), [
        text("First."),
        text('["1.png" (image/png) was attached here and is not shown. There is no more room for it.]'),
        text("Second."),
        part("image", "image/png", "2.png", png(60, 2)),
        part("image", "image/png", "3.png", png(30, 3))
      ])
    })
  )

  test(
    "that were deleted since are named to the model",
    Effect.gen(function* () {
      const { asked, room, send, upload } = yield* opened({ supportsVision: null })
      const picture = yield* upload("cat.png", png())
      yield* send("Look.", picture)
      yield* room.run(Documents.use((documents) => documents.remove(picture.id)))
      yield* send("Again.")
      assert.deepStrictEqual(userParts(asked[1]), [
        text("Look."),
        text('["cat.png" (image/png) was attached here and is not shown. It was deleted.]'),
        text("Again.")
      ])
    })
  )

  test(
    "do not matter where no model is asked",
    Effect.gen(function* () {
      const { asked, room, threadId, upload } = yield* opened({ supportsAudioInput: false })
      const { id } = yield* upload("purr.mp3", mp3())
      const options = { documents: { attachments: [id] } }
      yield* room.run(Turns.use((turns) => turns.send({ content: "", threadId, sendToModel: false, options })))
      const { messages } = yield* room.run(Threads.use((threads) => threads.get(threadId)))
      assert.lengthOf(messages, 1)
      assert.deepStrictEqual(asked, [])
    })
  )
})

const readWords = Effect.succeed([
  { heading: null, page: null, slide: null, sheet: null, row: null, form: "prose" as const, text: "Badgers live here." }
])

const converting = Layer.succeed(PictureConverter, {
  reads: () => true,
  convert: ({ bytes, mimeType }, limits) =>
    mimeType === "image/bmp" && limits.side === 2048
      ? Effect.succeed({ mimeType: "image/jpeg", bytes: Uint8Array.of(bytes.length) })
      : Effect.fail(new PictureUnreadable({ sentence: "The picture is broken." }))
})
