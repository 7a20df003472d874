// OpenAI's realtime wire and its dialect at xAI: settings, the scripts of a session, and what a client may change.
import { assert, describe, it } from "@effect/vitest"
import * as Redacted from "effect/Redacted"
import * as Result from "effect/Result"
import { mapOpenAi, model, type OpenAiRealtimeSettings } from "../../src/realtime/OpenAiRealtime.ts"
import { mapXai } from "../../src/realtime/XaiRealtime.ts"
import { record, setup } from "./Mapped.ts"

const settings: OpenAiRealtimeSettings = { models: { "voice-1": {} }, apiKey: Redacted.make("sk-1") }
const tool = { name: "get_time", description: "d", parameters: null }
const pcm = (millis: number) => Buffer.alloc(48 * millis).toString("base64")

const open = (fields: Parameters<typeof setup>[0] = {}, given = settings) => {
  const recorded = record(mapOpenAi(given, setup(fields)))
  recorded.hear({ type: "session.created", session: {} }, { type: "session.updated", session: {} })
  return recorded
}

const ready = (fields: Parameters<typeof setup>[0] = {}, given = settings) => {
  const recorded = open(fields, given)
  recorded.clear()
  return recorded
}

const xai = (fields: Parameters<typeof setup>[0] = {}) => {
  const recorded = record(mapXai({ models: { "voice-1": {} }, pricePerMinute: 0.06 }, setup(fields)))
  recorded.hear({ type: "conversation.created", conversation: {} }, { type: "session.updated", session: {} })
  recorded.clear()
  return recorded
}

/** An answer that says some words in some audio. */
const answer = (id: string, text: string, millis: number) => [
  { type: "response.created", response: { id } },
  { type: "response.output_audio_transcript.delta", item_id: `i_${id}`, response_id: id, delta: text },
  { type: "response.output_audio.delta", response_id: id, item_id: `i_${id}`, delta: pcm(millis) },
  { type: "response.output_audio_transcript.done", item_id: `i_${id}`, response_id: id, transcript: text }
]

const done = (id: string, fields: object = {}) => ({
  type: "response.done",
  response: { id, status: "completed", usage: { input_tokens: 120, output_tokens: 60 }, ...fields }
})

const sentSession = (result: ReturnType<typeof mapOpenAi>) => {
  const recorded = record(result)
  recorded.hear({ type: "session.created", session: {} })
  return recorded.sent[0]?.["session"]
}

describe("setup of provider_a", () => {
  it("dials with the key and the model, and says it is ready when the setup is acknowledged", () => {
    const mapped = Result.getOrThrow(mapOpenAi(settings, setup()))
    assert.strictEqual(mapped.url, "wss://api.openai.com/v1/realtime?model=voice-1")
    assert.deepStrictEqual(mapped.headers, { authorization: "Bearer sk-1" })
    const recorded = record(Result.succeed(mapped))
    recorded.hear({ type: "session.created", session: {} })
    assert.deepStrictEqual(recorded.types(), ["session.update"])
    assert.deepStrictEqual(recorded.tags(), [])
    recorded.hear({ type: "session.updated", session: {} })
    assert.deepStrictEqual(recorded.tags(), ["Ready"])
  })

  it("takes the customer's own key before the host's", () => {
    const mapped = Result.getOrThrow(mapOpenAi(settings, setup({ apiKey: Redacted.make("sk-own") })))
    assert.deepStrictEqual(mapped.headers, { authorization: "Bearer sk-own" })
  })

  it("defaults: PCM16 mono 24 kHz both ways, semantic detection, transcription on", () => {
    assert.deepStrictEqual(sentSession(mapOpenAi(settings, setup({ instructions: "Be brief", tools: [tool] }))), {
      type: "realtime",
      instructions: "Be brief",
      output_modalities: ["audio"],
      audio: {
        input: {
          format: { type: "audio/pcm", rate: 24_000 },
          transcription: { model: "gpt-4o-mini-transcribe" },
          turn_detection: { type: "semantic_vad", eagerness: "auto", create_response: true, interrupt_response: true }
        },
        output: { format: { type: "audio/pcm", rate: 24_000 } }
      },
      tools: [{ type: "function", name: "get_time", description: "d", parameters: { type: "object", properties: {} } }]
    })
  })

  it("supplied fields override defaults, unspecified nested fields keep them, another type drops what belonged to the first", () => {
    const options = {
      instructions: "Native words",
      audio: {
        input: { turn_detection: { type: "server_vad", threshold: 0.4 } },
        output: { voice: "marin", speed: 1.5 }
      },
      max_output_tokens: 100
    }
    const session = sentSession(mapOpenAi(settings, setup({ instructions: "Saved words", options })))
    assert.deepInclude(session, {
      instructions: "Native words",
      max_output_tokens: 100,
      audio: {
        input: {
          format: { type: "audio/pcm", rate: 24_000 },
          transcription: { model: "gpt-4o-mini-transcribe" },
          turn_detection: { type: "server_vad", threshold: 0.4 }
        },
        output: { format: { type: "audio/pcm", rate: 24_000 }, voice: "marin", speed: 1.5 }
      }
    })
  })

  it("refuses another model, a taken name, a speed outside 0.25 to 1.5 and formats that the vendor does not have", () => {
    const refused = (options: Parameters<typeof setup>[0]) => {
      const result = mapOpenAi(settings, setup(options))
      return Result.isFailure(result) ? result.failure.code : "taken"
    }
    const speed = (value: unknown) => ({ options: { audio: { output: { speed: Number(value) } } } })
    assert.strictEqual(refused({ options: { model: "voice-2" } }), "model_mismatch")
    assert.strictEqual(
      refused({ tools: [tool], options: { tools: [{ type: "function", name: "get_time" }] } }),
      "invalid_first_frame"
    )
    for (const value of [0.24, 1.51, Number.NaN]) assert.strictEqual(refused(speed(value)), "invalid_first_frame")
    for (const value of [0.25, 1, 1.5]) assert.strictEqual(refused(speed(value)), "taken")
    const rate = { options: { audio: { input: { format: { type: "audio/pcm", rate: 16_000 } } } } }
    assert.strictEqual(refused(rate), "invalid_first_frame")
  })

  it("adds the client's native functions to those of the service", () => {
    const native = { type: "function", name: "mine", parameters: {} }
    const session = sentSession(mapOpenAi(settings, setup({ tools: [tool], options: { tools: [native] } })))
    assert.deepEqual(
      JSON.parse(JSON.stringify(session)).tools.map(({ name }: { readonly name: string }) => name),
      ["get_time", "mine"]
    )
  })

  it("lists its models with formats and settings", () => {
    const [entry] = model({ ...settings, id: "provider_a" }).models
    assert.deepInclude(entry, { name: "voice-1", provider: "provider_a", modelType: "realtime" })
    assert.property(entry?.details, "inputFormats")
  })

  it("seeds the history item by item, and waits for every acknowledgement", () => {
    const history = [
      { role: "user", text: "One?" },
      { role: "assistant", text: "Two." }
    ] as const
    const recorded = open({ history })
    const items = recorded.sent.slice(1).map(({ item }) => item)
    assert.deepStrictEqual(items, [
      { id: "seed_1", type: "message", role: "user", content: [{ type: "input_text", text: "One?" }] },
      { id: "seed_2", type: "message", role: "assistant", content: [{ type: "output_text", text: "Two." }] }
    ])
    recorded.hear({ type: "conversation.item.added", item: { id: "seed_1" } })
    assert.deepStrictEqual(recorded.tags(), [])
    recorded.hear({ type: "conversation.item.added", item: { id: "seed_2" } })
    assert.deepStrictEqual(recorded.tags(), ["Ready"])
  })

  it("does not begin without an acknowledgement of the setup", () => {
    const recorded = record(mapOpenAi(settings, setup({ history: [{ role: "user", text: "One?" }] })))
    recorded.mapping.stopWaiting()
    assert.deepStrictEqual(recorded.tags(), [])
    assert.deepStrictEqual(recorded.types(), ["session.update"])
    recorded.hear({ type: "session.updated", session: {} })
    recorded.hear({ type: "conversation.item.added", item: { id: "seed_1" } })
    assert.deepStrictEqual(recorded.tags(), ["Ready"])
  })

  it("begins without acknowledgements of the history, when that of the setup has come", () => {
    const recorded = open({ history: [{ role: "user", text: "One?" }] })
    assert.deepStrictEqual(recorded.tags(), [])
    recorded.mapping.stopWaiting()
    assert.deepStrictEqual(recorded.tags(), ["Ready"])
    assert.deepStrictEqual(recorded.types(), ["session.update", "conversation.item.create"])
  })
})

describe("a turn of provider_a", () => {
  it("maps a spoken turn whose transcript comes after the answer has begun", () => {
    const recorded = ready()
    const transcription = "conversation.item.input_audio_transcription"
    recorded.hear(
      { type: "input_audio_buffer.speech_started", item_id: "u1" },
      { type: "input_audio_buffer.speech_stopped", item_id: "u1" },
      { type: "input_audio_buffer.committed", item_id: "u1" },
      ...answer("r1", "Four.", 100),
      { type: `${transcription}.delta`, item_id: "u1", delta: "Two and " },
      done("r1"),
      {
        type: `${transcription}.completed`,
        item_id: "u1",
        transcript: "Two and two?",
        usage: { type: "duration", seconds: 3 }
      }
    )
    assert.deepStrictEqual(recorded.neutral().slice(0, 4), [
      { _tag: "UserItem", itemId: "u1", before: null, transcribed: true },
      { _tag: "ResponseStarted", responseId: "r1" },
      { _tag: "TranscriptDelta", role: "assistant", itemId: "i_r1", text: "Four." },
      { _tag: "TranscriptFinal", role: "assistant", itemId: "i_r1", text: "Four." }
    ])
    assert.deepStrictEqual(recorded.tags().slice(4), [
      "TranscriptDelta",
      "Used",
      "ResponseDone",
      "TranscriptFinal",
      "Used"
    ])
    assert.deepStrictEqual(recorded.audio, [["i_r1", pcm(100)]])
  })

  it("does not repeat pure audio as a provider event", () => {
    const recorded = ready()
    recorded.hear(...answer("r1", "Four.", 100))
    const types = recorded.events.flatMap((event) => (event._tag === "Native" ? [JSON.parse(event.json).type] : []))
    assert.notInclude(types, "response.output_audio.delta")
    assert.include(types, "response.created")
  })

  it("says no transcript.started when transcription is off", () => {
    const recorded = ready({ options: { audio: { input: { transcription: null } } } })
    recorded.hear({ type: "input_audio_buffer.committed", item_id: "u1" })
    assert.deepStrictEqual(recorded.neutral(), [{ _tag: "UserItem", itemId: "u1", before: null, transcribed: false }])
  })

  it("reports a transcription that failed", () => {
    const recorded = ready()
    recorded.hear({ type: "conversation.item.input_audio_transcription.failed", item_id: "u1", error: {} })
    assert.deepStrictEqual(recorded.neutral(), [{ _tag: "TranscriptFailed", itemId: "u1" }])
  })

  it("truncates what was not heard on a barge-in, also after response.done", () => {
    const recorded = ready()
    recorded.hearAt(1000, ...answer("r1", "one two three four", 2000), done("r1"))
    recorded.clear()
    recorded.hearAt(1500, { type: "input_audio_buffer.speech_started", item_id: "u2" })
    assert.deepStrictEqual(recorded.neutral(), [
      { _tag: "Interrupted", cut: { itemId: "i_r1", heardMillis: 500, generatedMillis: 2000 } }
    ])
    assert.deepStrictEqual(recorded.sent, [
      { type: "conversation.item.truncate", item_id: "i_r1", content_index: 0, audio_end_ms: 500 }
    ])
    recorded.clear()
    recorded.hearAt(1600, { type: "input_audio_buffer.speech_started", item_id: "u3" })
    assert.deepStrictEqual(recorded.neutral(), [])
  })

  it("tells of no interruption when everything was played", () => {
    const recorded = ready()
    recorded.hearAt(1000, ...answer("r1", "one", 200), done("r1"))
    recorded.clear()
    recorded.hearAt(1300, { type: "input_audio_buffer.speech_started", item_id: "u2" })
    assert.deepStrictEqual(recorded.neutral(), [])
  })

  it("interrupts once for a cancelled response, and leaves the truncation to a client that does it himself", () => {
    const recorded = ready()
    recorded.hearAt(0, ...answer("r1", "one", 2000))
    recorded.tell({
      _tag: "Native",
      event: { type: "conversation.item.truncate", item_id: "i_r1", content_index: 0, audio_end_ms: 40 }
    })
    recorded.clear()
    recorded.hearAt(
      100,
      { type: "input_audio_buffer.speech_started", item_id: "u2" },
      done("r1", { status: "cancelled", status_details: { type: "cancelled", reason: "turn_detected" } })
    )
    assert.deepStrictEqual(recorded.tags(), ["Interrupted", "Used", "ResponseDone"])
    assert.deepStrictEqual(recorded.sent, [])
  })

  it("reports a response that failed, then its end", () => {
    const recorded = ready()
    const error = { code: "rate_limit_exceeded", message: "Slow down" }
    recorded.hear(
      { type: "response.created", response: { id: "r1" } },
      done("r1", { status: "failed", status_details: { error } })
    )
    assert.deepStrictEqual(recorded.tags(), ["ResponseStarted", "Failed", "Used", "ResponseDone"])
  })

  it("closes a draft of the answer with what was said", () => {
    const recorded = ready()
    recorded.hear(
      { type: "response.created", response: { id: "r1" } },
      { type: "response.output_audio_transcript.delta", item_id: "i", delta: "Half" },
      done("r1", { status: "cancelled" })
    )
    assert.deepInclude(recorded.neutral(), { _tag: "TranscriptFinal", role: "assistant", itemId: "i", text: "Half" })
  })

  it("counts usage as unknown when there is none, and prices what the host has prices for", () => {
    const unknown = ready()
    unknown.hear({ type: "response.created", response: { id: "r1" } }, done("r1", { usage: undefined }))
    const [used] = unknown.neutral().flatMap((event) => (event._tag === "Used" ? [event.usage] : []))
    assert.deepInclude(used, { inputTokens: 0, estimated: true })
    const prices = { textInput: 4, audioInput: 32, cachedInput: 0.4, textOutput: 16, audioOutput: 64 }
    const priced = ready({}, { ...settings, prices })
    const usage = {
      input_tokens: 120,
      output_tokens: 60,
      input_token_details: {
        text_tokens: 90,
        audio_tokens: 30,
        cached_tokens: 64,
        cached_tokens_details: { text_tokens: 64, audio_tokens: 0 }
      },
      output_token_details: { text_tokens: 12, audio_tokens: 48 }
    }
    priced.hear({ type: "response.created", response: { id: "r1" } }, done("r1", { usage }))
    const [cost] = priced.neutral().flatMap((event) => (event._tag === "Used" ? [event.usage.costUsd] : []))
    assert.closeTo(cost ?? 0, (26 * 4 + 30 * 32 + 64 * 0.4 + 12 * 16 + 48 * 64) / 1e6, 1e-12)
  })

  describe("what a response costs", () => {
    const prices = { textInput: 4, audioInput: 32, cachedInput: 0.4, textOutput: 16, audioOutput: 64 }
    const charged = (usage: object, more: object = {}) => {
      const recorded = ready({}, { ...settings, prices: { ...prices, ...more } })
      recorded.hear({ type: "response.created", response: { id: "r1" } }, done("r1", { usage }))
      const [used] = recorded.neutral().flatMap((event) => (event._tag === "Used" ? [event.usage] : []))
      return { dollars: (used?.costUsd ?? Number.NaN) * 1e6, estimated: used?.estimated }
    }
    const output = { output_tokens: 10, output_token_details: { text_tokens: 2, audio_tokens: 8 } }
    const spoken = 2 * 16 + 8 * 64

    it("cached tokens are charged once, also where the vendor does not say of which kind they are", () => {
      const details = { text_tokens: 90, audio_tokens: 30, cached_tokens: 100 }
      const { dollars, estimated } = charged({ input_tokens: 120, input_token_details: details, ...output })
      assert.closeTo(dollars, 20 * 32 + 100 * 0.4 + spoken, 1e-6)
      assert.isFalse(estimated)
    })

    it("pictures are charged: at their price, or as text with a mark", () => {
      const details = { text_tokens: 20, audio_tokens: 0, image_tokens: 100, cached_tokens: 0 }
      const usage = { input_tokens: 120, input_token_details: details, ...output }
      const known = charged(usage, { imageInput: 5 })
      assert.closeTo(known.dollars, 20 * 4 + 100 * 5 + spoken, 1e-6)
      assert.isFalse(known.estimated)
      const guessed = charged(usage)
      assert.closeTo(guessed.dollars, 120 * 4 + spoken, 1e-6)
      assert.isTrue(guessed.estimated)
    })

    it("tokens that the vendor does not divide are charged as audio, with a mark", () => {
      const { dollars, estimated } = charged({ input_tokens: 100, output_tokens: 10 })
      assert.closeTo(dollars, 100 * 32 + 10 * 64, 1e-6)
      assert.isTrue(estimated)
    })
  })

  it("has a price of its own for each model, which the catalogue shows", () => {
    const prices = { textInput: 4, audioInput: 32, cachedInput: 0.4, textOutput: 16, audioOutput: 64 }
    const cheap = { ...prices, audioInput: 10 }
    const { models } = model({ ...settings, models: { "voice-1": { prices: cheap }, "voice-2": {} }, prices })
    assert.deepStrictEqual(
      models.map(({ details, inputCostPerMillionTokens }) => [details?.["prices"], inputCostPerMillionTokens]),
      [
        [cheap, 4],
        [prices, 4]
      ]
    )
    const recorded = ready({}, { ...settings, models: { "voice-1": { prices: cheap } }, prices })
    const usage = { input_tokens: 100, input_token_details: { audio_tokens: 100 }, output_tokens: 0 }
    recorded.hear({ type: "response.created", response: { id: "r1" } }, done("r1", { usage }))
    const [used] = recorded.neutral().flatMap((event) => (event._tag === "Used" ? [event.usage.costUsd] : []))
    assert.closeTo(used ?? 0, 1000 / 1e6, 1e-12)
  })

  it("goes on after an error", () => {
    const recorded = ready()
    recorded.hear({ type: "error", error: { code: "invalid_value", message: "No." } }, ...answer("r1", "Yes.", 20))
    assert.deepStrictEqual(recorded.neutral()[0], { _tag: "Failed", reason: "invalid_value: No." })
    assert.include(recorded.tags(), "ResponseStarted")
  })
})

describe("what was heard of an answer", () => {
  const started = { type: "input_audio_buffer.speech_started", item_id: "u2" }
  const sound = (millis: number, itemId = "i_r1") => ({
    type: "response.output_audio.delta",
    response_id: "r1",
    item_id: itemId,
    delta: pcm(millis)
  })
  const words = (text: string, itemId = "i_r1") => ({
    type: "response.output_audio_transcript.delta",
    item_id: itemId,
    response_id: "r1",
    delta: text
  })
  const cancelled = done("r1", { status: "cancelled", status_details: { type: "cancelled", reason: "turn_detected" } })
  const begun = { type: "response.created", response: { id: "r1" } }

  const vendors = [
    ["provider_a", ready, true],
    ["provider_c", xai, false]
  ] as const
  for (const [name, vendor, truncates] of vendors) {
    it(`${name}: audio and words on their way are dropped, and an interruption is told once`, () => {
      const recorded = vendor()
      recorded.hearAt(1000, begun, words("one two three four"), sound(2000))
      recorded.clear()
      recorded.hearAt(1600, started)
      recorded.hearAt(1605, sound(200), words(" five"), { ...words("") })
      recorded.hearAt(1610, { type: "response.output_audio_transcript.done", item_id: "i_r1", transcript: "all" })
      recorded.hearAt(1615, cancelled)
      recorded.hearAt(1620, sound(200))
      assert.deepStrictEqual(recorded.tags(), ["Interrupted", "Used", "ResponseDone"])
      assert.deepStrictEqual(recorded.neutral()[0], {
        _tag: "Interrupted",
        cut: { itemId: "i_r1", heardMillis: 600, generatedMillis: 2000 }
      })
      assert.deepStrictEqual(recorded.audio, [])
      const truncation = { type: "conversation.item.truncate", item_id: "i_r1", content_index: 0, audio_end_ms: 600 }
      assert.deepStrictEqual(recorded.sent, truncates ? [truncation] : [])
    })
  }

  it("an answer that is still generated is cut also when all that has arrived was played", () => {
    const recorded = ready()
    recorded.hearAt(0, begun, words("one two"), sound(300))
    recorded.clear()
    recorded.hearAt(500, started, sound(300), words(" three"))
    assert.deepStrictEqual(recorded.neutral(), [
      { _tag: "Interrupted", cut: { itemId: "i_r1", heardMillis: 300, generatedMillis: 300 } }
    ])
    assert.deepInclude(recorded.sent, {
      type: "conversation.item.truncate",
      item_id: "i_r1",
      content_index: 0,
      audio_end_ms: 300
    })
  })

  it("a gap in the audio is not counted as heard", () => {
    const recorded = ready()
    recorded.hearAt(0, begun, words("one two"), sound(100))
    recorded.hearAt(1000, sound(1000))
    recorded.clear()
    recorded.hearAt(1200, started)
    assert.deepInclude(recorded.neutral(), {
      _tag: "Interrupted",
      cut: { itemId: "i_r1", heardMillis: 300, generatedMillis: 1100 }
    })
  })

  it("a second item begins to play after the first: of it nothing was heard, so the vendor deletes it", () => {
    const recorded = ready()
    recorded.hearAt(0, begun, words("one two"), sound(1000), words("three", "i_2"), sound(1000, "i_2"))
    recorded.clear()
    recorded.hearAt(500, started)
    assert.deepStrictEqual(recorded.neutral(), [
      { _tag: "Interrupted", cut: { itemId: "i_r1", heardMillis: 500, generatedMillis: 1000 } },
      { _tag: "CutShort", cut: { itemId: "i_2", heardMillis: 0, generatedMillis: 1000 } }
    ])
    assert.deepStrictEqual(recorded.sent, [
      { type: "conversation.item.truncate", item_id: "i_r1", content_index: 0, audio_end_ms: 500 },
      { type: "conversation.item.delete", item_id: "i_2" }
    ])
  })

  it("words whose audio has not begun to arrive were not heard", () => {
    const recorded = ready()
    recorded.hearAt(0, begun, words("one two"))
    recorded.clear()
    recorded.hearAt(10, started, cancelled)
    assert.deepStrictEqual(recorded.neutral()[0], {
      _tag: "Interrupted",
      cut: { itemId: "i_r1", heardMillis: 0, generatedMillis: 1 }
    })
    assert.notInclude(recorded.tags(), "TranscriptFinal")
  })

  it("the client's report of its playback counts, not the clock", () => {
    const recorded = ready()
    recorded.hearAt(0, begun, words("one two three four"), sound(2000))
    assert.isNull(recorded.tell({ _tag: "Played", itemId: "i_r1", millis: 250.7 }, 900))
    recorded.clear()
    recorded.hearAt(1000, started)
    assert.deepInclude(recorded.neutral(), {
      _tag: "Interrupted",
      cut: { itemId: "i_r1", heardMillis: 250, generatedMillis: 2000 }
    })
    recorded.tell({ _tag: "Played", itemId: "i_r1", millis: 1900 }, 1100)
    recorded.tell({ _tag: "Played", itemId: "unknown", millis: 1 }, 1100)
    recorded.clear()
    recorded.hearAt(1200, cancelled, started)
    assert.deepStrictEqual(recorded.tags(), ["Used", "ResponseDone"])
  })

  it("an answer counts as heard when the reports stop after its end, and the next is interrupted by its own", () => {
    const recorded = ready()
    recorded.hearAt(0, ...answer("r1", "one", 1000), done("r1"))
    recorded.tell({ _tag: "Played", itemId: "i_r1", millis: 900 }, 950)
    recorded.clear()
    recorded.hearAt(2100, started)
    assert.deepStrictEqual(recorded.neutral(), [])
    recorded.hearAt(3000, ...answer("r2", "two three", 1000))
    recorded.tell({ _tag: "Played", itemId: "i_r2", millis: 400 }, 3500)
    recorded.clear()
    recorded.hearAt(3600, started)
    assert.deepStrictEqual(recorded.neutral()[0], {
      _tag: "Interrupted",
      cut: { itemId: "i_r2", heardMillis: 400, generatedMillis: 1000 }
    })
  })

  it("of a client that is gone counts what it has reported, however long ago", () => {
    const recorded = ready()
    recorded.hearAt(0, ...answer("r1", "one two", 1000), done("r1"))
    recorded.tell({ _tag: "Played", itemId: "i_r1", millis: 500 }, 500)
    recorded.clear()
    assert.isNull(recorded.tell({ _tag: "ClientGone" }, 60_000))
    assert.deepStrictEqual(recorded.neutral(), [
      { _tag: "Interrupted", cut: { itemId: "i_r1", heardMillis: 500, generatedMillis: 1000 } }
    ])
  })

  it("the vendor is told whole milliseconds of what a client has heard", () => {
    const recorded = ready()
    recorded.hearAt(0, ...answer("r1", "one two three four", 2000), done("r1"))
    recorded.clear()
    recorded.tell({ _tag: "Heard", itemId: "i_r1", millis: 500.7 }, 2500)
    assert.deepStrictEqual(
      recorded.sent.map(({ audio_end_ms }) => audio_end_ms),
      [500]
    )
    assert.deepStrictEqual(recorded.neutral(), [
      { _tag: "CutShort", cut: { itemId: "i_r1", heardMillis: 500, generatedMillis: 2000 } }
    ])
  })

  it("a client that truncates by itself after the interruption takes back more, never less", () => {
    const recorded = ready()
    recorded.hearAt(0, ...answer("r1", "one two three four", 2000))
    recorded.hearAt(1000, started)
    recorded.clear()
    const truncate = (millis: number) =>
      recorded.tell({
        _tag: "Native",
        event: { type: "conversation.item.truncate", item_id: "i_r1", content_index: 0, audio_end_ms: millis }
      })
    truncate(1500)
    assert.deepStrictEqual(recorded.neutral(), [])
    truncate(500)
    assert.deepStrictEqual(recorded.neutral(), [
      { _tag: "CutShort", cut: { itemId: "i_r1", heardMillis: 500, generatedMillis: 1000 } }
    ])
  })

  it("the end of an interrupted response that comes after the next has begun interrupts nothing", () => {
    const recorded = xai()
    recorded.hearAt(0, ...answer("r1", "one", 2000))
    recorded.hearAt(100, started, ...answer("r2", "two", 2000))
    recorded.clear()
    recorded.hearAt(200, cancelled)
    assert.deepStrictEqual(recorded.tags(), ["Used"])
  })
})

describe("what the client sends to provider_a", () => {
  it("appends audio, and keeps an odd byte for the next piece", () => {
    const recorded = ready()
    const append = (audio: Uint8Array) => ({
      type: "input_audio_buffer.append",
      audio: Buffer.from(audio).toString("base64")
    })
    assert.deepStrictEqual(recorded.messageFor(Uint8Array.of(1, 2, 3)), append(Uint8Array.of(1, 2)))
    assert.deepStrictEqual(recorded.messageFor(Uint8Array.of(4)), append(Uint8Array.of(3, 4)))
    assert.isNull(recorded.mapping.audio(new Uint8Array(0), 0))
  })

  it("sends a text and asks for an answer; while one is given, the text waits for its end", () => {
    const recorded = ready()
    recorded.tell({ _tag: "Text", text: "Hi" })
    assert.deepStrictEqual(recorded.types(), ["conversation.item.create", "response.create"])
    recorded.clear()
    recorded.tell({ _tag: "Text", text: "And?" })
    recorded.hear(...answer("r1", "Hello.", 20))
    assert.deepStrictEqual(recorded.types(), [])
    recorded.hear(done("r1"))
    assert.deepStrictEqual(recorded.types(), ["conversation.item.create", "response.create"])
    assert.strictEqual(recorded.tags().at(-1), "Typed")
  })

  it.each([undefined, "mine"])("asks again after the vendor has refused an answer of the client (%s)", (event_id) => {
    const recorded = ready()
    const create = { type: "response.create", response: { output_modalities: ["smell"] } }
    recorded.tell({ _tag: "Native", event: event_id === undefined ? create : { ...create, event_id } })
    const sent = recorded.sent.at(-1)?.["event_id"]
    recorded.hear({ type: "error", error: { code: "invalid_value", message: "No.", event_id: sent } })
    recorded.clear()
    recorded.tell({ _tag: "Text", text: "Hi" })
    assert.strictEqual(sent, event_id ?? "ask")
    assert.deepStrictEqual(recorded.types(), ["conversation.item.create", "response.create"])
  })

  it("commits, and asks for an answer only after the vendor has committed", () => {
    const recorded = ready({ options: { audio: { input: { turn_detection: null } } } })
    recorded.tell({ _tag: "Commit" })
    assert.deepStrictEqual(recorded.types(), ["input_audio_buffer.commit"])
    recorded.hear({ type: "error", error: { code: "input_audio_buffer_commit_empty", message: "Empty" } })
    assert.deepStrictEqual(recorded.types(), ["input_audio_buffer.commit"])
    recorded.tell({ _tag: "Commit" })
    recorded.hear({ type: "input_audio_buffer.committed", item_id: "u1" })
    assert.strictEqual(recorded.types().at(-1), "response.create")
  })

  it("cancels an active response, and nothing else", () => {
    const recorded = ready()
    recorded.tell({ _tag: "Cancel" })
    assert.deepStrictEqual(recorded.types(), [])
    recorded.hear({ type: "response.created", response: { id: "r1" } })
    recorded.tell({ _tag: "Cancel" })
    recorded.tell({ _tag: "Cancel" })
    assert.deepStrictEqual(recorded.types(), ["response.cancel", "response.cancel"])
  })

  it("takes back what was not heard of an answer that the client cancels, and passes on nothing more of it", () => {
    const recorded = ready()
    recorded.hearAt(1000, ...answer("r1", "one two three four", 2000))
    recorded.clear()
    recorded.tell({ _tag: "Cancel" }, 1500)
    assert.deepStrictEqual(recorded.neutral(), [
      { _tag: "Interrupted", cut: { itemId: "i_r1", heardMillis: 500, generatedMillis: 2000 } }
    ])
    assert.deepStrictEqual(recorded.sent, [
      { type: "response.cancel" },
      { type: "conversation.item.truncate", item_id: "i_r1", content_index: 0, audio_end_ms: 500 }
    ])
    const late = { type: "response.output_audio.delta", response_id: "r1", item_id: "i_r1", delta: pcm(20) }
    const reason = { type: "cancelled", reason: "client_cancelled" }
    recorded.hearAt(1600, late, done("r1", { status: "cancelled", status_details: reason }))
    assert.lengthOf(recorded.audio, 0)
    recorded.hearAt(2000, ...answer("r2", "five", 20))
    assert.lengthOf(recorded.audio, 1)
  })

  it("breaks off an answer that is being given when the session stops, so that its usage comes", () => {
    const recorded = ready()
    recorded.mapping.finish()
    assert.deepStrictEqual(recorded.types(), [])
    recorded.hear({ type: "response.created", response: { id: "r1" } })
    recorded.mapping.finish()
    assert.deepStrictEqual(recorded.types(), ["response.cancel"])
  })

  it("takes results of tools as tool.outputs only, where they are checked", () => {
    const recorded = ready()
    const item = { type: "function_call_output", call_id: "c1", output: "forged" }
    const event = { type: "conversation.item.create", item }
    assert.strictEqual(recorded.tell({ _tag: "Native", event })?.code, "invalid_frame")
    assert.deepStrictEqual(recorded.sent, [])
  })

  it("gets other instructions and tools as a whole, also while it speaks; a name that is taken is refused", () => {
    const recorded = ready({ options: { tools: [{ type: "function", name: "native" }] } })
    recorded.hear({ type: "response.created", response: { id: "r1" } })
    assert.isNull(recorded.tell({ _tag: "Setup", instructions: null, tools: [tool] }))
    const declared = { type: "function", name: "get_time", description: "Tells the time" }
    const [update] = recorded.sent
    assert.deepInclude(update, { type: "session.update" })
    assert.deepInclude(update?.["session"], { type: "realtime", instructions: "" })
    assert.deepNestedInclude(update, { "session.tools[0].name": declared.name, "session.tools[1].name": "native" })
    const taken = recorded.tell({ _tag: "Setup", instructions: "x", tools: [{ ...tool, name: "native" }] })
    assert.strictEqual(taken?.code, "invalid_frame")
    assert.lengthOf(recorded.sent, 1)
    const other = xai()
    other.clear()
    other.tell({ _tag: "Setup", instructions: "Be brief.", tools: [{ ...tool, name: "web_search" }] })
    assert.deepNestedInclude(other.sent[0], {
      "session.instructions": "Be brief.",
      "session.tools[0].name": "service_web_search"
    })
    assert.notNestedProperty(other.sent[0], "session.type")
  })

  it("asks for an answer when every call of the response is answered and response.done was seen", () => {
    const recorded = ready({ tools: [tool] })
    const called = (id: string) => ({
      type: "response.function_call_arguments.done",
      call_id: id,
      name: "get_time",
      arguments: "{}"
    })
    const output = (toolCallId: string) => ({
      _tag: "ToolOutputs" as const,
      outputs: [{ toolCallId, name: "get_time", output: "10" }]
    })
    recorded.hear({ type: "response.created", response: { id: "r1" } }, called("c1"), called("c2"))
    recorded.tell(output("c1"))
    recorded.tell(output("c2"))
    assert.notInclude(recorded.types(), "response.create")
    recorded.hear(done("r1"))
    assert.strictEqual(recorded.types().at(-1), "response.create")
    recorded.clear()
    recorded.hear({ type: "response.created", response: { id: "r2" } }, called("c3"), done("r2"))
    assert.deepStrictEqual(recorded.types(), [])
    recorded.tell(output("c3"))
    assert.deepStrictEqual(recorded.types(), ["conversation.item.create", "response.create"])
  })

  it("tells a call once, from whichever event has it first", () => {
    const recorded = ready({ tools: [tool] })
    const item = { type: "function_call", call_id: "c1", name: "get_time", arguments: '{"a":1}' }
    recorded.hear(
      { type: "response.created", response: { id: "r1" } },
      { type: "response.output_item.added", response_id: "r1", item },
      { type: "response.function_call_arguments.done", call_id: "c1", arguments: '{"a":1}' },
      { type: "response.output_item.done", response_id: "r1", item }
    )
    const calls = recorded.neutral().filter(({ _tag }) => _tag === "ToolCalled")
    assert.deepStrictEqual(calls, [{ _tag: "ToolCalled", call: { id: "c1", name: "get_time", arguments: '{"a":1}' } }])
  })

  it("refuses whole a provider event that would change model, formats or tools, and one that it does not know", () => {
    const recorded = ready()
    const update = (session: object) => ({ type: "session.update", session: JSON.parse(JSON.stringify(session)) })
    const refused = [
      update({ model: "voice-2", audio: { output: { voice: "x" } } }),
      update({ tools: [] }),
      update({ audio: { input: { format: { type: "audio/pcmu" } } } }),
      update({ audio: { output: { format: { type: "audio/pcmu" } } } }),
      { type: "session.update" },
      { type: "response.create", response: { tools: [] } }
    ]
    for (const event of refused) assert.strictEqual(recorded.tell({ _tag: "Native", event })?.code, "invalid_frame")
    for (const event of [{ type: "output_audio_buffer.clear" }, { type: "constructor" }, {}]) {
      assert.strictEqual(recorded.tell({ _tag: "Native", event })?.code, "unsupported_frame")
    }
    assert.deepStrictEqual(recorded.sent, [])
    assert.isNull(recorded.tell({ _tag: "Native", event: update({ audio: { input: { turn_detection: null } } }) }))
    recorded.tell({ _tag: "Commit" })
    recorded.hear({ type: "input_audio_buffer.committed", item_id: "u" })
    assert.strictEqual(recorded.types().at(-1), "response.create")
  })
})

describe("the differences of provider_c", () => {
  it("puts voice and detection at the top, takes 24 kHz both ways, and dials with the model", () => {
    const mapped = mapXai({ models: {} }, setup({ options: { voice: "eve" } }))
    assert.strictEqual(Result.getOrThrow(mapped).url, "wss://api.x.ai/v1/realtime?model=voice-1")
    const recorded = record(mapped)
    recorded.hear({ type: "conversation.created", conversation: { id: "c" } })
    assert.deepInclude(recorded.sent[0]?.["session"], { voice: "eve", turn_detection: { type: "server_vad" } })
  })

  it("takes whole drafts of what the user says: new suffixes go out, a revision waits for the end", () => {
    const recorded = xai()
    const updated = (transcript: string) => ({
      type: "conversation.item.input_audio_transcription.updated",
      item_id: "u1",
      transcript
    })
    const completed = (transcript: string, status = "completed") => ({
      type: "conversation.item.input_audio_transcription.completed",
      item_id: "u1",
      transcript,
      status
    })
    recorded.hear(
      updated("Two"),
      updated("Two and"),
      updated("To and fro"),
      completed("To and fro and", "in_progress"),
      { type: "input_audio_buffer.committed", item_id: "u1" },
      completed("Two and two?")
    )
    assert.deepStrictEqual(recorded.neutral(), [
      { _tag: "UserItem", itemId: "u1", before: null, transcribed: true },
      { _tag: "TranscriptDelta", role: "user", itemId: "u1", text: "Two" },
      { _tag: "TranscriptDelta", role: "user", itemId: "u1", text: " and" },
      { _tag: "TranscriptDelta", role: "user", itemId: "u1", text: " and" },
      { _tag: "TranscriptFinal", role: "user", itemId: "u1", text: "Two and two?" }
    ])
  })

  it("knows the older names of its events", () => {
    const recorded = xai()
    recorded.hear(
      { type: "response.created", response: { id: "r1" } },
      { type: "response.audio.delta", response_id: "r1", item_id: "i", delta: pcm(20) },
      { type: "response.text.delta", item_id: "i", delta: "Hi" },
      { type: "ping", timestamp: 1 }
    )
    assert.deepStrictEqual(recorded.audio, [["i", pcm(20)]])
    assert.deepInclude(recorded.neutral(), { _tag: "TranscriptDelta", role: "assistant", itemId: "i", text: "Hi" })
  })

  it("never truncates, and asks for nothing after a commit", () => {
    const recorded = xai({ options: { turn_detection: null } })
    recorded.hearAt(0, ...answer("r1", "one", 2000))
    recorded.hearAt(100, { type: "input_audio_buffer.speech_started", item_id: "u2" })
    assert.deepInclude(recorded.neutral(), {
      _tag: "Interrupted",
      cut: { itemId: "i_r1", heardMillis: 100, generatedMillis: 2000 }
    })
    recorded.tell({ _tag: "Commit" })
    recorded.hear({ type: "input_audio_buffer.committed", item_id: "u2" })
    assert.deepStrictEqual(recorded.types(), ["input_audio_buffer.commit"])
  })

  it("ends a response that was interrupted and never done when the next one begins", () => {
    const recorded = xai()
    recorded.hear(
      { type: "response.created", response: { id: "r1" } },
      { type: "response.created", response: { id: "r2" } }
    )
    assert.deepStrictEqual(recorded.tags(), ["ResponseStarted", "ResponseDone", "ResponseStarted"])
  })

  it("charges the seconds that came on top, because the vendor counts the whole conversation", () => {
    const recorded = xai()
    const billed = (id: string, seconds: number) => [
      { type: "response.created", response: { id } },
      {
        type: "response.done",
        response: { id, status: "completed", usage: {} },
        usage: { billable_audio_seconds: seconds }
      }
    ]
    recorded.hear(...billed("r1", 60), ...billed("r2", 90), ...billed("r3", 90))
    const costs = recorded.neutral().flatMap((event) => (event._tag === "Used" ? [event.usage.costUsd] : []))
    assert.deepStrictEqual(costs, [0.06, 0.03, 0])
  })

  it("gives a tool whose name the vendor reserves another name on the wire, and tells its calls under its own", () => {
    const tools = [{ ...tool, name: "web_search" }, tool]
    const recorded = record(mapXai({ models: { "voice-1": {} } }, setup({ tools })))
    recorded.hear({ type: "conversation.created", conversation: {} })
    const update = JSON.stringify(recorded.sent.find(({ type }) => type === "session.update"))
    assert.include(update, '"name":"service_web_search"')
    assert.include(update, '"name":"get_time"')
    assert.notInclude(update, '"name":"web_search"')
    recorded.hear(
      { type: "session.updated", session: {} },
      { type: "response.created", response: { id: "r1" } },
      { type: "response.function_call_arguments.done", call_id: "c1", name: "service_web_search", arguments: "{}" }
    )
    const calls = recorded.neutral().flatMap((event) => (event._tag === "ToolCalled" ? [event.call.name] : []))
    assert.deepStrictEqual(calls, ["web_search"])
  })
})
