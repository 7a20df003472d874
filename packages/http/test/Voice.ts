/** Voice over HTTP: recordings in forms, events of the stream, what replies say of it, and every refusal. Runs on every store. */
import type { InMemory } from "@colloquy/adapters/in-memory"
import type { Provider } from "@colloquy/core"
import {
  describeModel,
  ModelError,
  type TranscriptEvent,
  type TranscriptionRequest,
  wavHeader
} from "@colloquy/core/adapters"
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import type * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import { StreamEvent } from "../src/wire/StreamEvents.ts"
import { keys, readEvents, type Service } from "./Service.ts"
import { openSpeaking } from "./VoiceService.ts"

const samples = new Uint8Array(16_000)
const wav = new Uint8Array([...wavHeader({ sampleRate: 8000, channels: 1 }, samples.length), ...samples])

const delta = (text: string): TranscriptEvent => ({ _tag: "TranscriptDelta", text })
const done = (text: string): TranscriptEvent => ({
  _tag: "Transcribed",
  transcript: { text, seconds: null, language: "en", usage: null }
})
const away = new ModelError({ reason: "overloaded", provider: "toy", model: "ear-1", shouldRetry: false })
const late = new ModelError({ reason: "timeout", provider: "toy", model: "ear-1", shouldRetry: false })

type Ear = (request: TranscriptionRequest) => Stream.Stream<TranscriptEvent, ModelError>

const hearing: Ear = () => Stream.make(delta("Hello "), delta("there."), done("Hello there."))

type Mouth = (text: string) => Stream.Stream<Uint8Array, ModelError>

const speaking: Mouth = (text) => Stream.make(new Uint8Array(text.length * 160).fill(7))

/** Its ear and its mouth may be others for each test. */
const voiceWith = (ear: Ear, mouth: Mouth): Provider => ({
  id: "toy",
  speechToText: {
    defaultModel: "ear-1",
    maxBytes: 1_000_000,
    transcribe: (request) =>
      Effect.flatMap(Stream.runLast(ear(request)), (last) =>
        last._tag === "Some" && last.value._tag === "Transcribed"
          ? Effect.succeed(last.value.transcript)
          : Effect.fail(away)
      ),
    stream: ear
  },
  textToSpeech: {
    defaultModel: "mouth-1",
    formats: ["pcm"],
    sampleRate: 8000,
    maxCharacters: 4096,
    speak: ({ text }) => mouth(text)
  },
  listModels: Effect.succeed([
    describeModel({ name: "ear-1", provider: "toy", modelType: "stt" }),
    describeModel({ name: "mouth-1", provider: "toy", modelType: "tts" })
  ])
})

const audio = (bytes: Uint8Array<ArrayBuffer> = wav, name = "hello.wav") => new File([bytes], name)

const form = (fields: Readonly<Record<string, string>>, ...files: ReadonlyArray<File>): FormData => {
  const body = new FormData()
  for (const [name, value] of Object.entries(fields)) body.append(name, value)
  for (const file of files) body.append("audio_file", file)
  return body
}

const stt = (more: object = {}) => JSON.stringify({ stt: {}, ...more })

const send = (open: Service, body: unknown, headers: Readonly<Record<string, string>> = {}) =>
  open.call("POST", "/threads/messages", body, { headers })

const turnEvents = async (open: Service, body: unknown) => {
  const response = await open.fetch("POST", "/threads/messages", body)
  assert.strictEqual(response.status, 200)
  const events = []
  for await (const { data } of readEvents(response)) events.push(data)
  return events
}

const eventTypes = (events: ReadonlyArray<{ readonly type: string }>) => events.map(({ type }) => type)

const threadCount = async (open: Service): Promise<number> => (await open.call("GET", "/threads?limit=200")).body.length

export const voice = (stores: Layer.Layer<InMemory.Stores, unknown>): void => {
  let service: Service
  let [ear, mouth] = [hearing, speaking]
  beforeAll(async () => {
    service = await openSpeaking(
      stores,
      voiceWith(
        (request) => ear(request),
        (text) => mouth(text)
      )
    )
  }, 60_000)
  afterAll(() => service[Symbol.asyncDispose]())

  /** The service, with another ear or mouth for one test. */
  const opened = (nextEar: Ear = hearing, nextMouth: Mouth = speaking): Service => {
    ear = nextEar
    mouth = nextMouth
    return service
  }

  describe("a spoken message with a spoken answer", () => {
    it("is a stream of words heard, words written and sound, in this order", async () => {
      const open = opened()
      const events = await turnEvents(open, form({ stream: "true", voice: stt({ tts: { format: "wav" } }) }, audio()))
      for (const event of events) assert.isTrue(Schema.is(StreamEvent)(event), JSON.stringify(event))
      const types = eventTypes(events)
      assert.deepStrictEqual(types.slice(0, 6), [
        "stt_stream_start",
        "stt_text_delta",
        "stt_text_delta",
        "stt_stream_end",
        "user_message",
        "run_started"
      ])
      assert.deepInclude(events[3], { transcript: "Hello there." })
      assert.strictEqual(events.find(({ type }) => type === "user_message")?.content, "Hello there.")
      assert.deepStrictEqual(types.slice(-2), ["tts_stream_end", "run_ended"])
      assert.isAbove(types.indexOf("tts_audio_chunk"), types.indexOf("tts_stream_start"))
      assert.strictEqual(events.find(({ type }) => type === "tts_stream_start")?.content_type, "audio/wav")
      const chunk = events.find(({ type }) => type === "tts_audio_chunk")
      assert.deepStrictEqual(Object.keys(chunk).toSorted(), ["data", "sequence", "type"])
      const end = events.at(-2)
      assert.isString(end.document_id)
      const sound = await open.call("GET", end.audio_url, undefined, { key: null })
      assert.deepStrictEqual([sound.status, sound.headers.get("content-type")], [200, "audio/wav"])
    })

    it("tells in its reply what was heard and where it can be listened to, in parts, by nobody else's key", async () => {
      const open = opened()
      const answer = await send(open, form({ content: "Typed.", voice: stt({ tts: {} }) }, audio()))
      assert.strictEqual(answer.status, 200)
      const { stt: heard, tts } = answer.body.voice_records
      assert.deepInclude(heard, {
        transcript: "Hello there.",
        duration: 1,
        language: "en",
        provider: "toy",
        model: "ear-1"
      })
      assert.deepInclude(tts, { provider: "toy", model: "mouth-1", content_type: "audio/wav", error: null })
      assert.isAbove(tts.duration, 0)
      const part = await open.call("GET", tts.audio_url, undefined, { key: null, headers: { range: "bytes=0-3" } })
      assert.deepStrictEqual([part.status, part.text], [206, "RIFF"])
      const whole = await open.fetch("GET", heard.audio_url, undefined, { key: null })
      assert.deepStrictEqual(new Uint8Array(await whole.arrayBuffer()), wav)
      const path = `/documents/${tts.document_id}/content`
      assert.strictEqual((await open.call("GET", path)).status, 200)
      assert.strictEqual((await open.call("GET", path, undefined, { key: keys.bob })).status, 404)
      const thread = await open.call("GET", `/threads/${answer.body.thread_id}`)
      assert.strictEqual(thread.body.messages[0].content, "Typed.\n\nHello there.")
      const documents = await open.call("GET", `/threads/${answer.body.thread_id}/documents`)
      assert.deepStrictEqual(
        documents.body.map(({ status }: { readonly status: string }) => status),
        ["completed", "completed"]
      )
      await open.call("DELETE", `/threads/${answer.body.thread_id}`)
      assert.strictEqual((await open.call("GET", path)).status, 404)
    })

    it("is asked for in JSON and in both kinds of forms alike", async () => {
      const open = opened()
      const tts = { format: "wav", speed: 1.5, voice: null }
      for (const body of [
        { content: "Hello.", voice: { tts } },
        form({ content: "Hello.", voice: JSON.stringify({ tts, stt: null }) }),
        new URLSearchParams({ content: "Hello.", voice: JSON.stringify({ tts }) })
      ]) {
        const answer = await send(open, body)
        assert.strictEqual(answer.status, 200, answer.text)
        assert.isNull(answer.body.voice_records.stt)
        assert.deepInclude(answer.body.voice_records.tts, { content_type: "audio/wav", error: null })
      }
      for (const nothing of [
        { content: "Hello." },
        { content: "Hello.", voice: null },
        { content: "Hello.", voice: {} }
      ]) {
        assert.isNull((await send(open, nothing)).body.voice_records)
      }
    })

    it("stops with a cancel, and what was said until then is kept and told in the same order", async () => {
      const open = opened(hearing, (text) => Stream.concat(speaking(text), Stream.never))
      const response = await open.fetch("POST", "/threads/messages", {
        content: "One sentence.",
        stream: true,
        voice: { tts: { format: "wav" } }
      })
      type Told = { readonly [Field in "type" | "thread_id" | "run_id" | "audio_url"]: string }
      const events: Array<Told> = []
      for await (const { data } of readEvents(response)) {
        events.push(data)
        if (data.type !== "tts_audio_chunk") continue
        const { run_id, thread_id } = events.find(({ type }) => type === "run_started") ?? assert.fail("No run.")
        const cancelled = await open.call("POST", `/threads/${thread_id}/runs/${run_id}/cancel`)
        assert.strictEqual(cancelled.status, 200)
      }
      assert.deepStrictEqual(eventTypes(events).slice(-3), ["tts_audio_chunk", "tts_stream_end", "run_cancelled"])
      const { messages } = (await open.call("GET", `/threads/${events.at(-1)?.thread_id}`)).body
      assert.deepInclude(messages[1], { status: "CANCELLED", content: "One sentence." })
      const sound = await open.call("GET", events.at(-2)?.audio_url ?? "", undefined, { key: null })
      assert.deepStrictEqual([sound.status, sound.text.slice(0, 4)], [200, "RIFF"])
    })

    it("is one message however often it is sent under one key", async () => {
      const open = opened()
      const sendAgain = (bytes = wav) => send(open, form({ voice: stt() }, audio(bytes)), { "idempotency-key": "one" })
      const first = await sendAgain()
      assert.strictEqual((await sendAgain()).body.run_id, first.body.run_id)
      const other = wav.slice()
      other[100] = 1
      assert.strictEqual((await sendAgain(other)).status, 409)
    })

    it("uses models that the catalogue lists by their kind", async () => {
      const open = opened()
      for (const [kind, name] of [
        ["stt", "ear-1"],
        ["tts", "mouth-1"]
      ]) {
        const { body } = await open.call("GET", `/models?model_type=${kind}`)
        assert.deepStrictEqual(
          body.models.map((model: { readonly name: string }) => model.name),
          [name]
        )
      }
    })
  })

  describe("a message with voice is refused", () => {
    const refused: ReadonlyArray<readonly [title: string, body: unknown, status: number, place: string | null]> = [
      ["without its recording", { content: "x", voice: { stt: {} } }, 422, "audio_file"],
      ["with a recording and nobody to hear it", form({ content: "x" }, audio()), 422, "audio_file"],
      ["with two recordings", form({ voice: stt() }, audio(), audio()), 422, "audio_file"],
      ["with an empty recording", form({ voice: stt() }, audio(new Uint8Array())), 422, "audio_file"],
      ["with a recording that is text", form({ voice: stt() }, audio(new TextEncoder().encode("no sound"))), 415, null],
      [
        "with a recording that is too large",
        form({ voice: stt() }, audio(new Uint8Array(26 * 1024 * 1024))),
        413,
        null
      ],
      [
        "with a recording that is too large for the provider",
        form({ voice: stt() }, audio(new Uint8Array([...wav, ...new Uint8Array(1_000_000)]))),
        413,
        null
      ],
      ["with an unknown member", { content: "x", voice: { tts: {}, ttx: {} } }, 422, "voice.ttx"],
      ["with an unknown member of a direction", { content: "x", voice: { tts: { pitch: 1 } } }, 422, "voice.tts.pitch"],
      ["with a direction that is no object", { content: "x", voice: { tts: true } }, 422, "voice.tts"],
      ["with a speed out of range", { content: "x", voice: { tts: { speed: 40 } } }, 422, "voice.tts.speed"],
      [
        "with a format that its provider cannot give",
        { content: "x", voice: { tts: { format: "mp3" } } },
        422,
        "voice.tts.format"
      ],
      [
        "with a provider that does not speak",
        { content: "x", voice: { tts: { provider: "endless" } } },
        422,
        "voice.tts.provider"
      ],
      ["with a voice that is text", { content: "x", voice: "loud" }, 422, "voice"],
      ["with a voice that is no JSON", form({ content: "x", voice: "{" }), 422, "voice"]
    ]
    for (const [title, body, status, place] of refused) {
      it(`because it comes ${title}`, async () => {
        const open = opened()
        const before = await threadCount(open)
        const answer = await send(open, body)
        assert.strictEqual(answer.status, status, answer.text)
        if (place !== null) {
          assert.deepStrictEqual(
            [
              ...new Set(
                answer.body.detail.map(({ loc }: { readonly loc: ReadonlyArray<string> }) => loc.slice(1).join("."))
              )
            ],
            [place]
          )
        }
        assert.strictEqual(await threadCount(open), before)
      })
    }

    it("when nothing was heard in it, with words of its own", async () => {
      const open = opened(() => Stream.make(done("")))
      const before = await threadCount(open)
      const answer = await send(open, form({ voice: stt(), stream: "true" }, audio()))
      assert.strictEqual(answer.status, 422)
      assert.deepStrictEqual(answer.body.detail[0].loc, ["body", "audio_file"])
      assert.include(answer.body.detail[0].msg, "Nothing was heard")
      assert.strictEqual(await threadCount(open), before)
    })

    for (const [title, error, status] of [
      ["fails", away, 502],
      ["is too late", late, 504]
    ] as const) {
      it(`when the provider ${title} before the first word, streamed or not`, async () => {
        const open = opened(() => Stream.fail(error))
        const before = await threadCount(open)
        for (const stream of ["true", "false"]) {
          assert.strictEqual((await send(open, form({ voice: stt(), stream }, audio()))).status, status)
        }
        assert.strictEqual(await threadCount(open), before)
      })
    }

    it("by the end of its stream when the provider fails behind the first word", async () => {
      const open = opened(() => Stream.concat(Stream.make(delta("Hel")), Stream.fail(away)))
      const before = await threadCount(open)
      const events = await turnEvents(open, form({ voice: stt(), stream: "true" }, audio()))
      assert.deepStrictEqual(eventTypes(events), ["stt_stream_start", "stt_text_delta", "run_failed"])
      assert.strictEqual(events.at(-1).code, "transcription_failed")
      assert.strictEqual(await threadCount(open), before)
    })
  })
}
