/** Models of the AI SDK's specification as voices and ears: what they are asked, what they give, how they fail and are left. */
import {
  APICallError,
  type SpeechModelV4,
  type SpeechModelV4CallOptions,
  type TranscriptionModelV4
} from "@ai-sdk/provider"
import { assert, describe, it } from "@effect/vitest"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Redacted from "effect/Redacted"
import * as Stream from "effect/Stream"
import * as AiSdk from "../../src/providers/AiSdk.ts"

const response = { timestamp: new Date(0), modelId: "m" }

const voice = (
  generate: (options: SpeechModelV4CallOptions) => Promise<string | Uint8Array>,
  keys: Array<string | null> = []
) =>
  AiSdk.provider({
    id: "sdk",
    defaultSpeechModel: "voice-1",
    speechModel: (modelId, apiKey): SpeechModelV4 => {
      keys.push(apiKey === null ? null : Redacted.value(apiKey))
      return {
        specificationVersion: "v4",
        provider: "made",
        modelId,
        doGenerate: async (options) => ({ audio: await generate(options), warnings: [], response })
      }
    }
  }).textToSpeech

const request = {
  provider: "sdk",
  model: "voice-1",
  voice: "v",
  text: "Hello.",
  format: "mp3",
  speed: 1.5,
  apiKey: null
} as const

const apiError = (statusCode: number) =>
  new APICallError({
    message: "sk-secret",
    url: "http://x",
    requestBodyValues: {},
    statusCode,
    responseHeaders: { "retry-after": "7" }
  })

describe("a speech model of the AI SDK", () => {
  for (const [what, audio] of [
    ["bytes", Uint8Array.of(1, 2, 3)],
    ["base64", "AQID"]
  ] as const) {
    it.effect(`is asked with all that a message may say, and gives its sound as ${what}`, () =>
      Effect.gen(function* () {
        const asked: Array<SpeechModelV4CallOptions> = []
        const keys: Array<string | null> = []
        const driver = voice(async (options) => {
          asked.push(options)
          return audio
        }, keys)
        if (driver === undefined) throw new Error("It has no voice.")
        assert.strictEqual(driver.defaultModel, "voice-1")
        const pieces = yield* Stream.runCollect(driver.speak({ ...request, apiKey: Redacted.make("sk-own") }))
        assert.deepStrictEqual(pieces, [Uint8Array.of(1, 2, 3)])
        const { abortSignal, ...rest } = asked[0] ?? { text: "" }
        assert.instanceOf(abortSignal, AbortSignal)
        assert.deepStrictEqual(rest, { text: "Hello.", outputFormat: "mp3", voice: "v", speed: 1.5 })
        assert.deepStrictEqual(keys, ["sk-own"])
      })
    )
  }

  for (const [what, generate, fields] of [
    ["a wrong key", () => Promise.reject(apiError(401)), { reason: "auth" }],
    ["a limit", () => Promise.reject(apiError(429)), { reason: "rate_limited", retryAfterMillis: 7000 }],
    ["no sound", () => Promise.resolve(new Uint8Array()), { reason: "malformed" }]
  ] as const) {
    it.effect(`tells ${what}, without a word of what the vendor wrote`, () =>
      Effect.gen(function* () {
        const error = yield* Effect.flip(Stream.runDrain(voice(generate)?.speak(request) ?? Stream.empty))
        assert.deepInclude(error, { _tag: "ModelError", ...fields })
        assert.notInclude(error.message, "sk-secret")
      })
    )
  }

  it.effect("is left when it is interrupted", () =>
    Effect.gen(function* () {
      const asked = Deferred.makeUnsafe<AbortSignal>()
      const driver = voice(({ abortSignal }) => {
        if (abortSignal !== undefined) Deferred.doneUnsafe(asked, Effect.succeed(abortSignal))
        return new Promise(() => {})
      })
      const fiber = yield* Effect.forkChild(Stream.runDrain(driver?.speak(request) ?? Stream.empty))
      const signal = yield* Deferred.await(asked)
      yield* Fiber.interrupt(fiber)
      assert.isTrue(signal.aborted)
    })
  )
})

describe("a transcription model of the AI SDK", () => {
  const recording = { bytes: Uint8Array.of(1, 2), mimeType: "audio/wav", filename: "recording.wav" }
  const heard = { provider: "sdk", model: "ear-1", recording, language: null, prompt: null, apiKey: null }
  const ear = (generate: TranscriptionModelV4["doGenerate"]) =>
    AiSdk.provider({
      id: "sdk",
      transcriptionModel: (modelId): TranscriptionModelV4 => ({
        specificationVersion: "v4",
        provider: "made",
        modelId,
        doGenerate: generate
      })
    }).speechToText

  it.effect("gives text, language and length", () =>
    Effect.gen(function* () {
      const driver = ear(async ({ audio, mediaType }) => ({
        text: `${mediaType} of ${audio.length}`,
        segments: [],
        language: "en",
        durationInSeconds: 3,
        warnings: [],
        response
      }))
      const transcript = yield* driver?.transcribe(heard) ?? Effect.die("none")
      assert.deepStrictEqual(transcript, { text: "audio/wav of 2", seconds: 3, language: "en", usage: null })
    })
  )

  it.effect("tells a wrong key", () =>
    Effect.gen(function* () {
      const error = yield* Effect.flip(
        ear(() => Promise.reject(apiError(401)))?.transcribe(heard) ?? Effect.die("none")
      )
      assert.deepInclude(error, { _tag: "ModelError", reason: "auth" })
    })
  )
})
