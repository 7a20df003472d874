/** Vectors, speech and pictures of the real provider: one request each, for what the provider says it can. */
import { noUsage, type SpeechToText, type TextToSpeech } from "@colloquy/core/adapters"
import type { Provider } from "@colloquy/core"
import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"
import { DoesNotHold, type LiveCheck } from "./LiveCheck.ts"

export interface JobModels {
  readonly embedding?: string
  readonly image?: string
}

const holds = (condition: boolean, otherwise: string): Effect.Effect<void, DoesNotHold> =>
  condition ? Effect.void : Effect.fail(new DoesNotHold({ reason: otherwise }))

const speak = (provider: string, { defaultModel, formats, speak: driver }: TextToSpeech) =>
  Effect.map(
    Stream.runCollect(
      driver({
        provider,
        model: defaultModel,
        voice: null,
        text: "The lighthouse is open today.",
        format: formats[0],
        speed: null,
        apiKey: null
      })
    ),
    (pieces) => Buffer.concat(pieces)
  )

const hearBack = (provider: string, tts: TextToSpeech, { defaultModel, transcribe }: SpeechToText) =>
  Effect.gen(function* () {
    const isMp3 = tts.formats[0] === "mp3"
    const recording = {
      bytes: yield* speak(provider, tts),
      mimeType: isMp3 ? "audio/mpeg" : "audio/wav",
      filename: isMp3 ? "speech.mp3" : "speech.wav"
    }
    const heard = yield* transcribe({
      provider,
      model: defaultModel,
      recording,
      language: "en",
      prompt: null,
      apiKey: null
    })
    yield* holds(/lighthouse/iu.test(heard.text), "The words that were spoken were not heard.")
    return heard.usage
  })

export const jobChecks = (
  { embedding, id, image, speechToText, textToSpeech }: Provider,
  models: JobModels
): ReadonlyArray<LiveCheck> => {
  const checks: Array<LiveCheck> = []
  const add = (name: string, atMostUsd: number, run: LiveCheck["run"]) =>
    checks.push({ group: "job", name, atMostUsd, timeout: "3 minutes", run })
  if (embedding !== undefined && models.embedding !== undefined) {
    const model = models.embedding
    const texts = ["The lighthouse is open.", "The ferry is late."]
    add(
      "gives a vector for each text",
      0.001,
      Effect.gen(function* () {
        const request = { provider: id, model, texts, dimensions: null, purpose: "document", apiKey: null } as const
        const { usage, vectors } = yield* embedding.embed(request)
        const lengths = new Set(vectors.map(({ length }) => length))
        yield* holds(vectors.length === texts.length, "There is not one vector for each text.")
        yield* holds(lengths.size === 1 && !lengths.has(0), "The vectors have no common length.")
        return usage
      })
    )
  }
  if (textToSpeech !== undefined && speechToText !== undefined) {
    add("hears what it has spoken", 0.02, hearBack(id, textToSpeech, speechToText))
  } else if (textToSpeech !== undefined) {
    add(
      "speaks",
      0.01,
      Effect.flatMap(speak(id, textToSpeech), ({ length }) =>
        Effect.as(holds(length > 1000, "The speech is empty."), noUsage)
      )
    )
  }
  if (image !== undefined && models.image !== undefined) {
    const model = models.image
    add(
      "draws a picture",
      0.1,
      Effect.gen(function* () {
        const prompt = "A small red lighthouse, flat colours"
        const { images, usage } = yield* image.generate({
          provider: id,
          model,
          prompt,
          inputs: [],
          options: {},
          apiKey: null
        })
        yield* holds((images[0]?.length ?? 0) > 500, "There is no picture.")
        return usage
      })
    )
  }
  return checks
}
