/** An address without a scheme, or one that is no address, is refused where the host gives it. */
import { assert, it } from "@effect/vitest"
import { provider as anthropic } from "../../src/providers/Anthropic.ts"
import { provider as deepgram } from "../../src/providers/Deepgram.ts"
import { provider as elevenlabs } from "../../src/providers/ElevenLabs.ts"
import { provider as gemini } from "../../src/providers/Gemini.ts"
import { provider as openai } from "../../src/providers/OpenAi.ts"
import { provider as compatible } from "../../src/providers/OpenAiCompatible.ts"
import { provider as openrouter } from "../../src/providers/OpenRouter.ts"
import * as Rerankers from "../../src/providers/Rerankers.ts"
import { provider as systemOne } from "../../src/providers/SystemOne.ts"
import { searXng } from "../../src/web-search/index.ts"

it.each([
  ["anthropic", (baseUrl: string) => anthropic({ baseUrl })],
  ["gemini", (baseUrl: string) => gemini({ baseUrl })],
  ["openai", (baseUrl: string) => openai({ baseUrl })],
  ["openai-compatible", (baseUrl: string) => compatible({ id: "house", baseUrl })],
  ["openrouter", (baseUrl: string) => openrouter({ baseUrl })],
  ["deepgram", (baseUrl: string) => deepgram({ baseUrl })],
  ["elevenlabs", (baseUrl: string) => elevenlabs({ baseUrl })],
  ["systemone", (baseUrl: string) => systemOne({ baseUrl })],
  ["rerankers", (baseUrl: string) => Rerankers.jina({ baseUrl, model: "m" })],
  ["search engines", (baseUrl: string) => searXng({ baseUrl })]
])("%s", (_name, make) => {
  assert.throws(() => make("localhost:8000/v1"), 'Write "https://localhost:8000/v1", or "http://localhost:8000/v1".')
  assert.throws(() => make("//models.example/v1"), 'Write "https://models.example/v1"')
  assert.throws(() => make("http://localhost:99999/v1"), "is no valid address")
  assert.isObject(make("HTTPS://models.example/v1"))
})
