/** Every realtime model against a server that speaks its wire. */
import type { RealtimeModel } from "@colloquy/core/realtime"
import { type OpenVendor, realtimeModelSuite, type VoicePlay } from "@colloquy/testing/contracts"
import * as Effect from "effect/Effect"
import * as Redacted from "effect/Redacted"
import { GeminiLive, OpenAiRealtime, XaiRealtime } from "../../src/realtime/index.ts"
import { startVendor, type VendorSocket } from "./FakeVendor.ts"

interface Wire {
  readonly model: (url: string) => RealtimeModel
  /** Answers the setup. */
  readonly accept: (there: VendorSocket) => Promise<void>
  /** The messages of an answer or a call; `number` makes their ids. */
  readonly render: (play: Exclude<VoicePlay, { readonly closes: string }>, number: number) => ReadonlyArray<object>
  /** The audio of the client in one of its messages, in base64; undefined if the message has none. */
  readonly audioIn: (message: { readonly [field: string]: unknown }) => string | undefined
}

const settings = (url: string) => ({ url, apiKey: Redacted.make("sk-of-the-host"), models: { "voice-1": {} } })

const base64 = (audio: Uint8Array) => Buffer.from(audio).toString("base64")

/** A session is ready when the items of its history are acknowledged. */
const acknowledgeItems = (there: VendorSocket): void => {
  there.socket.on("message", () => {
    const { item, type } = there.received.at(-1) ?? {}
    if (type === "conversation.item.create") there.say({ type: "conversation.item.added", item })
  })
}

const openAi: Wire = {
  model: (url) => OpenAiRealtime.model(settings(url)),
  accept: async (there) => {
    there.say({ type: "session.created", session: {} })
    await there.message(({ type }) => type === "session.update")
    acknowledgeItems(there)
    there.say({ type: "session.updated", session: {} })
  },
  render: (play, number) => {
    const [response_id, item_id] = [`r${number}`, `i${number}`]
    const said =
      "says" in play
        ? [
            { type: "response.output_audio_transcript.delta", response_id, item_id, delta: play.says },
            { type: "response.output_audio.delta", response_id, item_id, delta: base64(play.audio) },
            { type: "response.output_audio_transcript.done", response_id, item_id, transcript: play.says }
          ]
        : [
            {
              type: "response.function_call_arguments.done",
              response_id,
              item_id,
              call_id: play.calls.id,
              name: play.calls.name,
              arguments: play.calls.arguments
            }
          ]
    const usage = "says" in play ? { input_tokens: play.usage.inputTokens, output_tokens: play.usage.outputTokens } : {}
    return [
      { type: "response.created", response: { id: response_id } },
      ...said,
      { type: "response.done", response: { id: response_id, status: "completed", usage } }
    ]
  },
  audioIn: ({ audio }) => (typeof audio === "string" ? audio : undefined)
}

const xai: Wire = {
  ...openAi,
  model: (url) => XaiRealtime.model(settings(url)),
  accept: async (there) => {
    there.say({ type: "conversation.created", conversation: {} })
    await there.message(({ type }) => type === "session.update")
    acknowledgeItems(there)
    there.say({ type: "session.updated", session: {} })
  }
}

const gemini: Wire = {
  model: (url) => GeminiLive.model(settings(url)),
  accept: async (there) => {
    await there.message(({ setup }) => setup !== undefined)
    there.say({ setupComplete: {} })
  },
  render: (play) => {
    if ("calls" in play) {
      const { arguments: args, id, name } = play.calls
      return [{ toolCall: { functionCalls: [{ id, name, args: JSON.parse(args) }] } }]
    }
    const inlineData = { mimeType: "audio/pcm;rate=24000", data: base64(play.audio) }
    return [
      { serverContent: { modelTurn: { role: "model", parts: [{ inlineData }] } } },
      { serverContent: { outputTranscription: { text: play.says } } },
      {
        serverContent: { turnComplete: true, interactionStatus: "IDLE" },
        usageMetadata: { promptTokenCount: play.usage.inputTokens, responseTokenCount: play.usage.outputTokens }
      }
    ]
  },
  audioIn: ({ realtimeInput }) => JSON.parse(JSON.stringify(realtimeInput ?? {})).audio?.data
}

const opening =
  ({ accept, audioIn, model, render }: Wire): OpenVendor =>
  (plays) =>
    Effect.gen(function* () {
      const server = yield* Effect.acquireRelease(
        Effect.promise(() => startVendor()),
        ({ close }) => Effect.promise(close)
      )
      if (plays === "refused") server.refuse(401, '{"error":{"message":"The key sk-of-the-host is wrong."}}')
      let received: VendorSocket["received"] = []
      const connection = plays === "refused" ? new Promise<VendorSocket>(() => {}) : server.connection()
      const perform = async (there: VendorSocket) => {
        received = there.received
        await accept(there)
        for (const [number, play] of (plays === "refused" ? [] : plays).entries()) {
          if ("closes" in play) there.socket.close(1000, play.closes)
          else for (const message of render(play, number)) there.say(message)
        }
      }
      const performed = connection.then(perform)
      // Only a session that ends early has a setup that never comes.
      performed.catch(() => {})
      return {
        model: model(server.url),
        left: Effect.promise(async () => void (await (await connection).closed)),
        heard: (bytes) =>
          Effect.promise(async () => {
            const there = await connection
            const all = () =>
              Buffer.concat(there.received.map((message) => Buffer.from(audioIn(message) ?? "", "base64")))
            await there.message(() => all().length >= bytes)
            return all()
          }),
        received: () =>
          received.filter((each) => audioIn(each) === undefined).map((message) => JSON.stringify(message)),
        key: Effect.promise(async () => {
          const { request } = await connection
          return `${request.url} ${request.headers.authorization}`
        })
      }
    })

realtimeModelSuite("OpenAI", opening(openAi))
realtimeModelSuite("xAI", opening(xai))
realtimeModelSuite("Gemini", opening(gemini))
