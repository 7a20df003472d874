/**
 * The vendors' own clients and ours against one server: each dials, sets up and speaks, and what they send is compared; what the server says
 * is typed by the vendor's package and understood by both.
 */
import { GoogleGenAI, Modality, type LiveServerMessage } from "@google/genai"
import { assert, describe, it } from "@effect/vitest"
import type { PreparedSession, VendorEvent } from "@colloquy/core/realtime"
import * as Effect from "effect/Effect"
import * as Redacted from "effect/Redacted"
import * as Result from "effect/Result"
import OpenAI from "openai"
import type { RealtimeClientEvent, RealtimeServerEvent } from "openai/resources/realtime/realtime"
import { OpenAIRealtimeWS } from "openai/realtime/ws"
import { GeminiLive, OpenAiRealtime } from "../../src/realtime/index.ts"
import { localCertificate } from "../providers/LocalCertificate.ts"
import { type FakeVendor, startVendor, type VendorSocket } from "./FakeVendor.ts"
import { setup } from "./Mapped.ts"

const vendor = (certificate?: { readonly key: string; readonly cert: string }) =>
  Effect.acquireRelease(
    Effect.promise(() => startVendor(certificate)),
    (started) => Effect.promise(started.close)
  )

const pcm = Buffer.from(Array.from({ length: 960 }, (_, index) => (index * 31) % 256))
const tool = { name: "get_time", description: "The time", parameters: { type: "object", properties: {} } }

/** Our adapter on a server: everything that it tells. */
const ours = Effect.fnUntraced(function* (prepared: PreparedSession) {
  const events: Array<VendorEvent> = []
  const audio: Array<string> = []
  const looks = new Set<() => void>()
  const link = yield* prepared.connect({
    event: (event) => {
      events.push(event)
      for (const look of looks) look()
    },
    audio: (_, base64) => audio.push(Buffer.from(base64).toString("latin1"))
  })
  const heard = (tag: VendorEvent["_tag"]) =>
    Effect.promise(
      () =>
        new Promise<void>((resolve) => {
          const look = () => {
            if (!events.some(({ _tag }) => _tag === tag)) return
            looks.delete(look)
            resolve()
          }
          looks.add(look)
          look()
        })
    )
  return { link, events, audio, heard }
})

const finals = (events: ReadonlyArray<VendorEvent>) =>
  events.flatMap((event) => (event._tag === "TranscriptFinal" ? [[event.role, event.text]] : []))

describe("OpenAI's own client", () => {
  const session = { id: "s", object: "realtime.session", type: "realtime", model: "voice-1" } as const
  const opening: ReadonlyArray<RealtimeServerEvent> = [{ type: "session.created", event_id: "e1", session }]
  const answer: ReadonlyArray<RealtimeServerEvent> = [
    { type: "session.updated", event_id: "e2", session },
    { type: "input_audio_buffer.committed", event_id: "e3", item_id: "u1", previous_item_id: null },
    {
      type: "conversation.item.input_audio_transcription.completed",
      event_id: "e4",
      item_id: "u1",
      content_index: 0,
      transcript: "What time is it?",
      usage: { type: "duration", seconds: 1 }
    },
    { type: "response.created", event_id: "e5", response: { id: "r1", object: "realtime.response" } },
    {
      type: "response.output_audio.delta",
      event_id: "e6",
      response_id: "r1",
      item_id: "a1",
      output_index: 0,
      content_index: 0,
      delta: pcm.toString("base64")
    },
    {
      type: "response.output_audio_transcript.done",
      event_id: "e7",
      response_id: "r1",
      item_id: "a1",
      output_index: 0,
      content_index: 0,
      transcript: "It is ten."
    },
    {
      type: "response.done",
      event_id: "e8",
      response: {
        id: "r1",
        object: "realtime.response",
        status: "completed",
        usage: { input_tokens: 3, output_tokens: 4 }
      }
    }
  ]
  const of = async (there: VendorSocket, type: RealtimeClientEvent["type"]) => {
    const { event_id: _, ...message } = await there.message((each) => each["type"] === type)
    return message
  }
  const play = (there: VendorSocket, events: ReadonlyArray<RealtimeServerEvent>) => {
    for (const event of events) there.say(event)
  }

  it.live("dials, sets up and speaks as ours does, and both hear the same answer", () =>
    Effect.scoped(
      Effect.gen(function* () {
        const certificate = localCertificate()
        const [plain, secure] = [yield* vendor(), yield* vendor(certificate)]
        const model = OpenAiRealtime.model({
          url: plain.url.replace("/realtime", "/v1/realtime"),
          apiKey: Redacted.make("sk-1"),
          models: { "voice-1": {} }
        })
        const mine = yield* ours(Result.getOrThrow(model.prepare(setup({ instructions: "Be brief.", tools: [tool] }))))
        const here = yield* Effect.promise(plain.connection)
        play(here, opening)
        const update = yield* Effect.promise(() => of(here, "session.update"))

        const heard: Array<RealtimeServerEvent> = []
        const sdk = new OpenAIRealtimeWS(
          { model: "voice-1", options: { ca: certificate.cert } },
          new OpenAI({ apiKey: "sk-1", baseURL: secure.url.replace("wss:", "https:").replace("/realtime", "/v1") })
        )
        const isOpen = new Promise<void>((resolve) => void sdk.socket.once("open", () => resolve()))
        const done = new Promise<void>((resolve, reject) => {
          sdk.on("event", (event) => heard.push(event))
          sdk.on("response.done", () => resolve())
          sdk.on("error", reject)
        })
        const there = yield* Effect.promise(secure.connection)
        assert.strictEqual(there.request.url, here.request.url)
        assert.strictEqual(there.request.headers.authorization, here.request.headers.authorization)
        assert.isUndefined(there.request.headers["openai-beta"])
        yield* Effect.promise(() => isOpen)
        sdk.send({
          type: "session.update",
          session: {
            type: "realtime",
            instructions: "Be brief.",
            output_modalities: ["audio"],
            audio: {
              input: {
                format: { type: "audio/pcm", rate: 24_000 },
                transcription: { model: "gpt-4o-mini-transcribe" },
                turn_detection: {
                  type: "semantic_vad",
                  eagerness: "auto",
                  create_response: true,
                  interrupt_response: true
                }
              },
              output: { format: { type: "audio/pcm", rate: 24_000 } }
            },
            tools: [{ type: "function", ...tool }]
          }
        })
        assert.deepStrictEqual(update, yield* Effect.promise(() => of(there, "session.update")))
        play(here, answer)
        play(there, answer)
        yield* Effect.promise(() => done)
        yield* mine.heard("ResponseDone")
        assert.deepStrictEqual(
          heard.map(({ type }) => type),
          answer.map(({ type }) => type)
        )
        assert.deepStrictEqual(finals(mine.events), [
          ["user", "What time is it?"],
          ["assistant", "It is ten."]
        ])
        assert.deepStrictEqual(mine.audio, [pcm.toString("base64")])

        mine.link.sendAudio(pcm)
        sdk.send({ type: "input_audio_buffer.append", audio: pcm.toString("base64") })
        mine.link.send({ _tag: "Text", text: "Hello" })
        sdk.send({
          type: "conversation.item.create",
          item: { type: "message", role: "user", content: [{ type: "input_text", text: "Hello" }] }
        })
        for (const type of ["input_audio_buffer.append", "conversation.item.create"] as const) {
          const [own, theirs] = yield* Effect.promise(() => Promise.all([of(here, type), of(there, type)]))
          assert.deepStrictEqual(withoutId(own), theirs)
        }
        sdk.close()
      })
    )
  )
})

/** Ours names its items. */
const withoutId = (message: { readonly [field: string]: unknown }): object => {
  const { item, ...rest } = message
  if (typeof item !== "object" || item === null) return rest
  return { ...rest, item: Object.fromEntries(Object.entries(item).filter(([name]) => name !== "id")) }
}

describe("Google's own client", () => {
  it.live("dials, sets up and speaks as ours does, and both hear the same answer", () =>
    Effect.scoped(
      Effect.gen(function* () {
        const server: FakeVendor = yield* vendor()
        const base = server.url.replace("/realtime", "")
        const path = "/ws/google.ai.generativelanguage.v1beta.GenerativeService.BidiGenerateContent"
        const model = GeminiLive.model({ url: base + path, apiKey: Redacted.make("key-1"), models: { "voice-1": {} } })
        const mine = yield* ours(Result.getOrThrow(model.prepare(setup({ instructions: "Be brief.", tools: [tool] }))))
        const here = yield* Effect.promise(server.connection)
        const { setup: own } = yield* Effect.promise(() => here.message((each) => "setup" in each))

        const heard: Array<LiveServerMessage> = []
        const looks = new Set<() => void>()
        const ai = new GoogleGenAI({
          apiKey: "key-1",
          httpOptions: { baseUrl: base.replace("ws:", "http:"), apiVersion: "v1beta" }
        })
        const connecting = ai.live.connect({
          model: "voice-1",
          config: {
            responseModalities: [Modality.AUDIO],
            systemInstruction: "Be brief.",
            tools: [
              {
                functionDeclarations: [
                  { name: tool.name, description: tool.description, parametersJsonSchema: tool.parameters }
                ]
              }
            ],
            inputAudioTranscription: {},
            outputAudioTranscription: {}
          },
          callbacks: {
            onmessage: (message) => {
              heard.push(message)
              for (const look of looks) look()
            }
          }
        })
        const there = yield* Effect.promise(server.connection)
        const { setup: theirs } = yield* Effect.promise(() => there.message((each) => "setup" in each))
        assert.strictEqual(requestPath(there), path)
        assert.strictEqual(requestPath(here), path)
        assert.strictEqual(sentKey(here), sentKey(there) ?? "key-1")
        assert.deepInclude(
          plain(own),
          plain(theirs, ["model", "generationConfig", "inputAudioTranscription", "outputAudioTranscription"])
        )
        assert.deepStrictEqual(
          JSON.stringify(plain(own)["tools"]).includes(tool.name),
          JSON.stringify(plain(theirs)["tools"]).includes(tool.name)
        )

        const said = [
          { setupComplete: {} },
          { serverContent: { inputTranscription: { text: "What time is it?" } } },
          {
            serverContent: {
              modelTurn: {
                parts: [{ inlineData: { mimeType: "audio/pcm;rate=24000", data: pcm.toString("base64") } }]
              },
              outputTranscription: { text: "It is ten." }
            }
          },
          { serverContent: { turnComplete: true }, usageMetadata: { promptTokenCount: 3, responseTokenCount: 4 } }
        ]
        for (const message of said) {
          here.say(message, { binary: true })
          there.say(message, { binary: true })
        }
        const sdk = yield* Effect.promise(() => connecting)
        yield* mine.heard("ResponseDone")
        yield* Effect.promise(
          () =>
            new Promise<void>((resolve) => {
              const look = () => {
                if (heard.some(({ serverContent }) => serverContent?.turnComplete === true)) resolve()
              }
              looks.add(look)
              look()
            })
        )
        assert.deepStrictEqual(finals(mine.events), [
          ["user", "What time is it?"],
          ["assistant", "It is ten."]
        ])
        assert.deepStrictEqual(mine.audio, [pcm.toString("base64")])
        const sounds = heard.flatMap(({ serverContent }) => serverContent?.modelTurn?.parts ?? [])
        assert.strictEqual(sounds[0]?.inlineData?.data, mine.audio[0])

        mine.link.sendAudio(pcm)
        sdk.sendRealtimeInput({ audio: { data: pcm.toString("base64"), mimeType: "audio/pcm;rate=16000" } })
        const [ownAudio, theirAudio] = yield* Effect.promise(() =>
          Promise.all([here, there].map((each) => each.message((message) => "realtimeInput" in message)))
        )
        assert.deepStrictEqual(ownAudio, theirAudio)
        sdk.close()
      })
    )
  )
})

/** The client writes two slashes at the beginning, which would be a host. */
const requestAddress = (url = ""): URL => new URL(url.replace(/^\/+/u, "/"), "http://x")

const requestPath = ({ request }: VendorSocket): string => requestAddress(request.url).pathname

/** In the query, or as a header. */
const sentKey = ({ request }: VendorSocket): string | null =>
  requestAddress(request.url).searchParams.get("key") ?? String(request.headers["x-goog-api-key"] ?? "")

const plain = (value: unknown, only?: ReadonlyArray<string>): Record<string, unknown> =>
  Object.fromEntries(
    Object.entries(typeof value === "object" && value !== null ? value : {}).filter(
      ([name]) => only === undefined || only.includes(name)
    )
  )
