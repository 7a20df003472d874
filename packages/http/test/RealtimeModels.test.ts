/** Realtime models stand in the catalogue, with what a client may ask of each. */
import { InMemory } from "@colloquy/adapters/in-memory"
import { GeminiLive, OpenAiRealtime, XaiRealtime } from "@colloquy/adapters/realtime"
import { assert, it } from "@effect/vitest"
import { openVoice } from "./Service.ts"

const pcm = (sample_rate: number) => ({ encoding: "pcm_s16le", sample_rate, channels: 1 })

it("realtime models carry realtime_capabilities: formats and provider settings", async () => {
  await using service = await openVoice(InMemory.layer, [
    OpenAiRealtime.model({ id: "provider_a", models: { "voice-a": {} } }),
    GeminiLive.model({ id: "provider_b", models: { "voice-b": {} } }),
    XaiRealtime.model({ id: "provider_c", models: { "voice-c": { displayName: "C" } } })
  ])
  const { models, total } = (await service.call("GET", "/models?model_type=realtime")).body
  assert.strictEqual(total, 3)
  const [a, b, c] = models
  assert.deepInclude(a, { name: "voice-a", provider: "provider_a", model_type: "realtime", supports_audio_input: true })
  assert.deepInclude(c, { name: "voice-c", display_name: "C" })
  assert.deepStrictEqual(b.realtime_capabilities, {
    prices: null,
    input_formats: [pcm(16_000)],
    output_formats: [pcm(24_000)],
    provider_settings: b.realtime_capabilities.provider_settings,
    turn_detection: ["automaticActivityDetection"],
    can_cancel: false
  })
  assert.deepInclude(a.realtime_capabilities.input_formats, pcm(24_000))
  assert.includeMembers(a.realtime_capabilities.provider_settings, [
    "instructions",
    "audio",
    "tool_choice",
    "truncation"
  ])
  assert.includeMembers(b.realtime_capabilities.provider_settings, ["generationConfig", "systemInstruction"])
  const answer = await service.call("GET", "/models/voice-a")
  assert.deepStrictEqual(answer.body, a)
  assert.isString(a.last_updated)
  assert.deepStrictEqual((await service.call("GET", "/models?model_type=llm")).body.total, 0)
})
