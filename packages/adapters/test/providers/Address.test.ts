/** An address without a scheme is refused where the host gives it. */
import { assert, it } from "@effect/vitest"
import { provider as anthropic } from "../../src/providers/Anthropic.ts"
import { provider as gemini } from "../../src/providers/Gemini.ts"
import { provider as openai } from "../../src/providers/OpenAi.ts"
import { provider as compatible } from "../../src/providers/OpenAiCompatible.ts"
import { provider as openrouter } from "../../src/providers/OpenRouter.ts"

it.each([
  ["anthropic", (baseUrl: string) => anthropic({ baseUrl })],
  ["gemini", (baseUrl: string) => gemini({ baseUrl })],
  ["openai", (baseUrl: string) => openai({ baseUrl })],
  ["openai-compatible", (baseUrl: string) => compatible({ id: "house", baseUrl })],
  ["openrouter", (baseUrl: string) => openrouter({ baseUrl })]
])("%s", (_name, make) => {
  assert.throws(() => make("localhost:8000/v1"), 'Write "https://localhost:8000/v1", or "http://localhost:8000/v1".')
  assert.throws(() => make("//models.example/v1"), 'Write "https://models.example/v1"')
  assert.isString(make("HTTPS://models.example/v1").id)
})
