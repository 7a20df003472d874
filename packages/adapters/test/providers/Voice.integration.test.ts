/** Every provider of voice against a server that speaks its wire: the contracts of both ports, and what each sends in its own words. */
import type { SpeechToText, TextToSpeech } from "@colloquy/core/adapters"
import {
  type HearingVendor,
  type SpeakingVendor,
  speechToTextSuite,
  textToSpeechSuite,
  type VoiceVendor
} from "@colloquy/testing/contracts"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"
import * as Deepgram from "../../src/providers/Deepgram.ts"
import * as ElevenLabs from "../../src/providers/ElevenLabs.ts"
import * as OpenAi from "../../src/providers/OpenAi.ts"
import * as OpenAiCompatible from "../../src/providers/OpenAiCompatible.ts"
import { openAiSpeech } from "../../src/protocols/OpenAiSpeech.ts"
import { record, string } from "../../src/protocols/Wire.ts"
import * as FakeVendor from "./FakeVendor.ts"

const key = { apiKey: "sk-of-the-host", maxAnswerBytes: 1_000_000 }
const json = (body: unknown) => Buffer.from(JSON.stringify(body))

/** Between any two bytes, so that characters are cut, too. */
const cutEverywhere = (bytes: Uint8Array): ReadonlyArray<Uint8Array> =>
  Array.from(bytes, (_, at) => bytes.subarray(at, at + 1))

const jsonReply = (body: unknown): FakeVendor.Reply => ({
  headers: { "content-type": "application/json" },
  body: cutEverywhere(json(body))
})

const sentFile = async ({ bytes, headers }: FakeVendor.Seen): Promise<Uint8Array> => {
  const type = headers["content-type"] ?? ""
  if (!type.startsWith("multipart/")) return new Uint8Array(bytes)
  const form = await new Response(Buffer.from(bytes), { headers: { "content-type": type } }).formData()
  const file = form.get("file")
  return typeof file === "string" || file === null ? new Uint8Array() : new Uint8Array(await file.arrayBuffer())
}

interface Wire {
  readonly make: (baseUrl: string) => { readonly speechToText?: SpeechToText; readonly textToSpeech?: TextToSpeech }
  readonly hearing?: {
    readonly model: string
    readonly path: string
    readonly answer: (text: string) => unknown
    readonly streams?: boolean
  }
  readonly speaking?: {
    readonly model: string
    readonly path: (format: string) => string
    readonly textIn: string
    readonly streams: boolean
  }
  readonly keyHeader: string
}

const dialect = { model: "m", path: () => "/audio/speech", textIn: "input", streams: true }
const openAiHearing = {
  model: "gpt-4o-mini-transcribe",
  path: "/audio/transcriptions",
  answer: (text: string) => ({ text, usage: { type: "tokens", input_tokens: 14, output_tokens: 3, total_tokens: 17 } }),
  streams: true
}

const wires: { readonly [name: string]: Wire } = {
  OpenAI: {
    make: (baseUrl) => OpenAi.provider({ ...key, baseUrl }),
    hearing: openAiHearing,
    speaking: dialect,
    keyHeader: "authorization"
  },
  "a server of OpenAI's dialect": {
    make: (baseUrl) => OpenAiCompatible.provider({ ...key, id: "own", baseUrl, speech: openAiSpeech }),
    hearing: openAiHearing,
    speaking: dialect,
    keyHeader: "authorization"
  },
  ElevenLabs: {
    make: (baseUrl) => ElevenLabs.provider({ ...key, baseUrl, defaultVoice: "v1" }),
    hearing: {
      model: "scribe_v1",
      path: "/v1/speech-to-text",
      answer: (text) => ({
        language_code: "eng",
        language_probability: 0.98,
        text,
        words: [],
        audio_duration_secs: 1.5
      })
    },
    speaking: {
      model: "eleven_flash_v2_5",
      path: (format) =>
        `/v1/text-to-speech/v1/stream?output_format=${format === "mp3" ? "mp3_44100_128" : "pcm_24000"}`,
      textIn: "text",
      streams: true
    },
    keyHeader: "xi-api-key"
  },
  Deepgram: {
    make: (baseUrl) => Deepgram.provider({ ...key, baseUrl }),
    hearing: {
      model: "nova-3",
      path: "/v1/listen?model=nova-3&smart_format=true&detect_language=true",
      answer: (transcript) => ({
        metadata: { request_id: "r", duration: 2.5, channels: 1 },
        results: { channels: [{ detected_language: "de", alternatives: [{ transcript, confidence: 0.9, words: [] }] }] }
      })
    },
    speaking: {
      model: "aura-2-thalia-en",
      path: (format) =>
        `/v1/speak?model=aura-2-thalia-en&${format === "mp3" ? "encoding=mp3" : "encoding=linear16&sample_rate=24000&container=none"}`,
      textIn: "text",
      streams: true
    },
    keyHeader: "authorization"
  },
  xAI: {
    make: (baseUrl) => OpenAiCompatible.provider({ ...OpenAiCompatible.xAi, ...key, baseUrl }),
    hearing: { model: "grok-transcribe", path: "/stt", answer: (text) => ({ text, duration: 1.25, words: [] }) },
    keyHeader: "authorization"
  }
}

const voiceVendor = (
  fake: FakeVendor.FakeVendor,
  wire: Wire,
  model: string,
  paths: ReadonlyArray<string>
): VoiceVendor => {
  const script = (reply: FakeVendor.Reply) => {
    for (const path of paths) fake.script(path, reply)
  }
  return {
    model,
    answers: (status, headers, body) =>
      script({ status, headers: { "content-type": "application/json", ...headers }, body: [body] }),
    breaksOff: () => script({ headers: { "content-type": "audio/mpeg" }, body: ["{", FakeVendor.closed] }),
    neverEnds: () => script({ headers: { "content-type": "audio/mpeg" }, body: [{ forever: "x".repeat(10_000) }] }),
    hangs: () => {
      script({ body: [], headHeldBy: new FakeVendor.Gate() })
      return FakeVendor.firstRequest(fake)
    },
    keys: Effect.sync(() => fake.requests.map(({ headers }) => String(headers[wire.keyHeader] ?? "")))
  }
}

const ssePieces = (events: ReadonlyArray<unknown>): ReadonlyArray<Uint8Array> =>
  cutEverywhere(Buffer.from(events.map((event) => `data: ${JSON.stringify(event)}\n\n`).join("")))

for (const [name, wire] of Object.entries(wires)) {
  const { hearing, speaking } = wire
  if (hearing !== undefined) {
    speechToTextSuite(
      name,
      Effect.gen(function* () {
        const fake = yield* FakeVendor.make
        const driver = wire.make(fake.baseUrl).speechToText
        if (driver === undefined) throw new Error(`${name} does not hear.`)
        const deltas = (texts: ReadonlyArray<string>) =>
          texts.map((delta) => ({ type: "transcript.text.delta", delta }))
        const vendor: HearingVendor = {
          ...voiceVendor(fake, wire, hearing.model, [hearing.path]),
          driver,
          writes: (text) => fake.script(hearing.path, jsonReply(hearing.answer(text))),
          ...(hearing.streams === true
            ? {
                tells: (...texts: ReadonlyArray<string>) =>
                  fake.script(
                    hearing.path,
                    FakeVendor.sse(
                      ssePieces([...deltas(texts), { type: "transcript.text.done", text: texts.join("") }])
                    )
                  ),
                tellsAndBreaks: (...texts: ReadonlyArray<string>) =>
                  fake.script(hearing.path, FakeVendor.sse([...ssePieces(deltas(texts)), FakeVendor.closed]))
              }
            : {}),
          recordings: Effect.promise(() => Promise.all(fake.requests.map(sentFile)))
        }
        return vendor
      })
    )
  }
  if (speaking !== undefined) {
    textToSpeechSuite(
      name,
      Effect.gen(function* () {
        const fake = yield* FakeVendor.make
        const services = yield* Effect.context()
        const driver = wire.make(fake.baseUrl).textToSpeech
        if (driver === undefined) throw new Error(`${name} does not speak.`)
        const paths = [...new Set(driver.formats.map(speaking.path))]
        const vendor: SpeakingVendor = {
          ...voiceVendor(fake, wire, speaking.model, paths),
          driver,
          streams: speaking.streams,
          speaks: (...pieces) => {
            const body = pieces.map((piece): FakeVendor.Piece => {
              if (piece instanceof Uint8Array) return piece
              const gate = new FakeVendor.Gate()
              void Effect.runPromiseWith(services)(piece).then(() => gate.open())
              return gate
            })
            for (const path of paths) fake.script(path, { headers: { "content-type": "audio/mpeg" }, body })
          },
          texts: Effect.sync(() => fake.requests.map(({ body }) => string(record(body)[speaking.textIn]) ?? ""))
        }
        return vendor
      })
    )
  }
}

const speech = { provider: "p", voice: null, text: "Hello.", format: "mp3", speed: null, apiKey: null } as const
const recording = { bytes: Uint8Array.of(1, 2, 3), mimeType: "audio/wav", filename: "recording.wav" }
const heard = { provider: "p", recording, language: null, prompt: null, apiKey: null } as const

describe("what each says in its own words", () => {
  const asked = (wire: keyof typeof wires, path: string, reply: FakeVendor.Reply) =>
    Effect.gen(function* () {
      const fake = yield* FakeVendor.make
      fake.script(path, reply)
      return { fake, provider: wires[wire]?.make(fake.baseUrl) ?? {} }
    })

  const sound: FakeVendor.Reply = { headers: { "content-type": "audio/mpeg" }, body: ["xyz"] }

  it.effect("OpenAI: voice, format and speed of a speech; figures of a transcription", () =>
    Effect.gen(function* () {
      const { fake, provider } = yield* asked("OpenAI", "/audio/speech", sound)
      fake.script(
        "/audio/transcriptions",
        jsonReply(openAiHearing.answer("Hi.")),
        jsonReply({ text: "Hi.", usage: { type: "duration", seconds: 4 } })
      )
      const { speechToText, textToSpeech } = provider
      if (textToSpeech === undefined || speechToText === undefined) throw new Error("It has no voice.")
      yield* Stream.runDrain(
        textToSpeech.speak({ ...speech, model: "tts-1", voice: "coral", format: "pcm", speed: 1.25 })
      )
      assert.deepStrictEqual(fake.requests[0]?.body, {
        model: "tts-1",
        input: "Hello.",
        voice: "coral",
        response_format: "pcm",
        speed: 1.25
      })
      const first = yield* speechToText.transcribe({
        ...heard,
        model: "gpt-4o-transcribe",
        language: "pt-BR",
        prompt: "Colloquy"
      })
      assert.deepInclude(first.usage, { inputTokens: 14, outputTokens: 3 })
      const form = Buffer.from(fake.requests[1]?.bytes ?? []).toString("latin1")
      assert.match(form, /name="language"\r\n\r\npt\r\n/u)
      assert.match(form, /name="prompt"\r\n\r\nColloquy\r\n/u)
      assert.match(form, /name="file"; filename="recording.wav"\r\ncontent-type: audio\/wav/u)
      assert.strictEqual((yield* speechToText.transcribe({ ...heard, model: "whisper-1" })).seconds, 4)
    })
  )

  it.effect("OpenAI: a model that does not stream is not asked to", () =>
    Effect.gen(function* () {
      const { fake, provider } = yield* asked("OpenAI", "/audio/transcriptions", jsonReply({ text: "Hi." }))
      const events = yield* Stream.runCollect(
        provider.speechToText?.stream?.({ ...heard, model: "whisper-1" }) ?? Stream.empty
      )
      assert.deepStrictEqual(
        events.map(({ _tag }) => _tag),
        ["Transcribed"]
      )
      assert.notInclude(Buffer.from(fake.requests[0]?.bytes ?? []).toString("latin1"), 'name="stream"')
    })
  )

  it.effect("OpenAI: a server that answers a request for a stream at once is understood", () =>
    Effect.gen(function* () {
      const { provider } = yield* asked("OpenAI", "/audio/transcriptions", jsonReply({ text: "Hi." }))
      const events = yield* Stream.runCollect(
        provider.speechToText?.stream?.({ ...heard, model: "gpt-4o-transcribe" }) ?? Stream.empty
      )
      assert.deepInclude(events.at(-1), { _tag: "Transcribed" })
    })
  )

  it.effect("ElevenLabs: a language is sent without its region", () =>
    Effect.gen(function* () {
      const { fake, provider } = yield* asked("ElevenLabs", "/v1/speech-to-text", FakeVendor.json({ text: "Hallo." }))
      yield* (
        provider.speechToText?.transcribe({ ...heard, model: "scribe_v1", language: "de-DE" }) ?? Effect.die("none")
      )
      const form = Buffer.from(fake.requests[0]?.bytes ?? []).toString("latin1")
      assert.match(form, /name="language_code"\r\n\r\nde\r\n/u)
    })
  )

  it.effect("ElevenLabs: a quota that is used up is no wrong key", () =>
    Effect.gen(function* () {
      const path = "/v1/speech-to-text"
      const { provider } = yield* asked(
        "ElevenLabs",
        path,
        FakeVendor.json({ detail: { status: "quota_exceeded", message: "x" } }, 401)
      )
      const error = yield* Effect.flip(
        provider.speechToText?.transcribe({ ...heard, model: "scribe_v1" }) ?? Effect.die("none")
      )
      assert.deepInclude(error, { reason: "quota", code: "quota_exceeded" })
    })
  )

  it.effect("Deepgram: likely words are its terms, and it has no speed", () =>
    Effect.gen(function* () {
      const path = "/v1/listen?model=nova-3&smart_format=true&language=de&keyterm=Colloquy&keyterm=Ada+Lovelace"
      const { provider } = yield* asked("Deepgram", path, jsonReply(wires["Deepgram"]?.hearing?.answer("Hallo.")))
      const request = { ...heard, model: "nova-3", language: "de", prompt: "Colloquy, Ada Lovelace;" }
      const transcript = yield* provider.speechToText?.transcribe(request) ?? Effect.die("none")
      assert.strictEqual(transcript.text, "Hallo.")
      assert.isFalse(provider.textToSpeech?.hasSpeed)
    })
  )

  it.effect("Deepgram: length and language of a transcription, a voice as a model", () =>
    Effect.gen(function* () {
      const { fake, provider } = yield* asked("Deepgram", "/v1/speak?model=aura-2-luna-en&encoding=mp3", sound)
      fake.script(
        "/v1/listen?model=nova-3&smart_format=true&language=de",
        jsonReply(wires["Deepgram"]?.hearing?.answer("Hallo."))
      )
      yield* Stream.runDrain(
        provider.textToSpeech?.speak({ ...speech, model: "aura-2-thalia-en", voice: "aura-2-luna-en" }) ??
          Stream.die("none")
      )
      const transcript = yield* (
        provider.speechToText?.transcribe({ ...heard, model: "nova-3", language: "de" }) ?? Effect.die("none")
      )
      assert.deepInclude(transcript, { text: "Hallo.", seconds: 2.5, language: "de" })
      assert.strictEqual(fake.requests[1]?.headers["content-type"], "audio/wav")
    })
  )
})
