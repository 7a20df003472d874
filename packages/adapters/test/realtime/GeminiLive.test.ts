// Gemini Live: setup, turns without ids, tools that block, cancellation, and the way over the end of a connection.
import { assert, describe, it } from "@effect/vitest"
import * as Redacted from "effect/Redacted"
import * as Result from "effect/Result"
import { type GeminiLiveSettings, mapGemini } from "../../src/realtime/GeminiLive.ts"
import { record, setup } from "./Mapped.ts"

const settings: GeminiLiveSettings = { models: { "voice-1": {} }, apiKey: Redacted.make("key-1") }
const tool = { name: "get_time", description: "d", parameters: null }
const audio = (data: string) => ({
  serverContent: { modelTurn: { role: "model", parts: [{ inlineData: { mimeType: "audio/pcm;rate=24000", data } }] } }
})
const said = (text: string, fields: object = {}) => ({ serverContent: { outputTranscription: { text, ...fields } } })
const heard = (text: string, fields: object = {}) => ({ serverContent: { inputTranscription: { text, ...fields } } })
const complete = (status = "IDLE") => ({
  serverContent: { turnComplete: true, interactionStatus: status },
  usageMetadata: { promptTokenCount: 300, responseTokenCount: 60, thoughtsTokenCount: 5, totalTokenCount: 365 }
})
const called = (...ids: ReadonlyArray<string>) => ({
  toolCall: { functionCalls: ids.map((id) => ({ id, name: "get_time", args: { zone: "UTC" } })) }
})

const ready = (fields: Parameters<typeof setup>[0] = {}, given = settings) => {
  const recorded = record(mapGemini(given, setup(fields)))
  recorded.hear({ setupComplete: {} })
  recorded.clear()
  return recorded
}

const sentSetup = (fields: Parameters<typeof setup>[0] = {}, given = settings) => {
  const [message] = record(mapGemini(given, setup(fields))).mapping.opening()
  return JSON.parse(message ?? "null").setup
}

describe("setup of provider_b", () => {
  it("dials with the key, takes 16 kHz and gives 24 kHz, and cannot cancel", () => {
    const mapped = Result.getOrThrow(mapGemini({ ...settings, url: "ws://127.0.0.1:1/live" }, setup()))
    assert.strictEqual(mapped.url, "ws://127.0.0.1:1/live?key=key-1")
    assert.deepStrictEqual([mapped.inputFormat.sampleRate, mapped.outputFormat.sampleRate], [16_000, 24_000])
    assert.isFalse(mapped.canCancel)
  })

  it("sends model, instructions, tools and the defaults, with native fields over them", () => {
    const options = {
      generationConfig: { speechConfig: { voiceConfig: { prebuiltVoiceConfig: { voiceName: "Puck" } } } },
      realtimeInputConfig: { automaticActivityDetection: { silenceDurationMs: 200 } }
    }
    assert.deepStrictEqual(sentSetup({ instructions: "Be brief", tools: [tool], options }), {
      model: "models/voice-1",
      generationConfig: {
        responseModalities: ["AUDIO"],
        speechConfig: { voiceConfig: { prebuiltVoiceConfig: { voiceName: "Puck" } } }
      },
      realtimeInputConfig: {
        automaticActivityDetection: { disabled: false, silenceDurationMs: 200 },
        activityHandling: "START_OF_ACTIVITY_INTERRUPTS"
      },
      inputAudioTranscription: {},
      outputAudioTranscription: {},
      sessionResumption: {},
      contextWindowCompression: { slidingWindow: {} },
      historyConfig: { initialHistoryInClientContent: true },
      systemInstruction: { parts: [{ text: "Be brief" }] },
      tools: [
        {
          functionDeclarations: [
            { name: "get_time", description: "d", parametersJsonSchema: { type: "object", properties: {} } }
          ]
        }
      ]
    })
  })

  it("native instructions beat system_prompt, and count as instructions", () => {
    const options = { systemInstruction: { parts: [{ text: "Native words" }] } }
    const mapped = Result.getOrThrow(mapGemini(settings, setup({ instructions: "Saved words", options })))
    assert.strictEqual(mapped.instructions, "Native words")
  })

  it("refuses another model and a name that is taken", () => {
    const failureCode = (fields: Parameters<typeof setup>[0]) => {
      const result = mapGemini(settings, setup(fields))
      return Result.isFailure(result) ? result.failure.code : null
    }
    assert.strictEqual(failureCode({ options: { model: "models/other" } }), "model_mismatch")
    const native = [{ functionDeclarations: [{ name: "get_time" }] }]
    assert.strictEqual(failureCode({ tools: [tool], options: { tools: native } }), "invalid_first_frame")
  })

  it("gives the history as turns before anything else", () => {
    const recorded = record(
      mapGemini(
        settings,
        setup({
          history: [
            { role: "user", text: "One?" },
            { role: "assistant", text: "Two." }
          ]
        })
      )
    )
    recorded.hear({ setupComplete: {} })
    assert.deepStrictEqual(recorded.sent, [
      {
        clientContent: {
          turns: [
            { role: "user", parts: [{ text: "One?" }] },
            { role: "model", parts: [{ text: "Two." }] }
          ],
          turnComplete: true
        }
      }
    ])
    assert.deepStrictEqual(recorded.tags(), ["Ready"])
  })
})

describe("a turn of provider_b", () => {
  it("maps an audio turn: question, answer, usage, end", () => {
    const recorded = ready()
    recorded.hear(heard("Two and "), heard("two?"), audio("AAAA"), said("Fo"), said("ur."), complete())
    assert.deepStrictEqual(recorded.neutral(), [
      { _tag: "UserItem", itemId: "user_1", before: null, transcribed: true },
      { _tag: "TranscriptDelta", role: "user", itemId: "user_1", text: "Two and " },
      { _tag: "TranscriptDelta", role: "user", itemId: "user_1", text: "two?" },
      { _tag: "TranscriptFinal", role: "user", itemId: "user_1", text: "Two and two?" },
      { _tag: "ResponseStarted", responseId: "turn_2" },
      { _tag: "TranscriptDelta", role: "assistant", itemId: "item_2", text: "Fo" },
      { _tag: "TranscriptDelta", role: "assistant", itemId: "item_2", text: "ur." },
      { _tag: "TranscriptFinal", role: "assistant", itemId: "item_2", text: "Four." },
      {
        _tag: "Used",
        usage: {
          inputTokens: 300,
          outputTokens: 65,
          cachedInputTokens: 0,
          cacheWriteTokens: 0,
          reasoningTokens: 5,
          costUsd: null,
          estimated: false
        }
      },
      { _tag: "ResponseDone", responseId: "turn_2" }
    ])
    assert.deepStrictEqual(recorded.audio, [["item_2", "AAAA"]])
  })

  it("puts a question that is transcribed late before the answer to it", () => {
    const recorded = ready()
    recorded.hear(audio("AAAA"), heard("Two and two?", { finished: true }))
    assert.deepInclude(recorded.neutral(), { _tag: "UserItem", itemId: "user_2", before: "turn_1", transcribed: true })
  })

  it("leaves out messages that are nothing but audio, and keeps those that hold more", () => {
    const recorded = ready()
    const both = { serverContent: { ...audio("BBBB").serverContent, interactionStatus: "IN_PROGRESS" } }
    recorded.hear(audio("AAAA"), both)
    assert.deepStrictEqual(
      recorded.events.flatMap((event) => (event._tag === "Native" ? [JSON.parse(event.json)] : [])),
      [both]
    )
    assert.deepStrictEqual(recorded.audio, [
      ["item_1", "AAAA"],
      ["item_1", "BBBB"]
    ])
  })

  it("adds a transcript that comes after turnComplete to its own turn", () => {
    const recorded = ready()
    recorded.hear(audio("AAAA"), said("Four"), complete(), said(" indeed."))
    assert.deepStrictEqual(recorded.neutral().at(-1), {
      _tag: "TranscriptFinal",
      role: "assistant",
      itemId: "item_1",
      text: "Four indeed."
    })
    recorded.hear(audio("BBBB"))
    assert.strictEqual(recorded.audio.at(-1)?.[0], "item_2")
  })

  it("interrupts, then ends the turn, and takes what is said next for a new question", () => {
    const recorded = ready()
    recorded.hear(
      heard("Count."),
      audio("AAAA"),
      said("one"),
      { serverContent: { interrupted: true } },
      heard("Stop."),
      complete()
    )
    assert.deepStrictEqual(recorded.tags(), [
      "UserItem",
      "TranscriptDelta",
      "TranscriptFinal",
      "ResponseStarted",
      "TranscriptDelta",
      "Interrupted",
      "UserItem",
      "TranscriptDelta",
      "TranscriptFinal",
      "TranscriptFinal",
      "Used",
      "ResponseDone"
    ])
  })

  describe("a question that is transcribed after its answer", () => {
    const stories = [
      ["in one piece", [heard("Two and two?")]],
      ["in pieces", [heard("Two and "), heard("two?")]],
      ["with its end", [heard("Two and "), heard("two", { finished: true })]]
    ] as const
    for (const [name, fragments] of stories) {
      it(`is placed before it, and apart from the next one: ${name}`, () => {
        const recorded = ready()
        recorded.mapping.audio(new Uint8Array(3200), 0)
        recorded.hearAt(0, audio("AAAA"), said("Four."), complete())
        assert.deepStrictEqual(recorded.neutral().slice(0, 2), [
          { _tag: "UserItem", itemId: "user_1", before: null, transcribed: true },
          { _tag: "ResponseStarted", responseId: "turn_2" }
        ])
        recorded.clear()
        recorded.hearAt(100, ...fragments)
        const finals = () =>
          recorded.neutral().flatMap((event) => (event._tag === "TranscriptFinal" ? [[event.itemId, event.text]] : []))
        assert.match(String(finals().at(-1)), /^user_1,Two and two\??$/u)
        recorded.clear()
        recorded.mapping.audio(new Uint8Array(3200), 200)
        recorded.hearAt(200, heard("And three?"), audio("BBBB"), complete())
        assert.deepStrictEqual(finals(), [["user_3", "And three?"]])
        assert.deepInclude(recorded.neutral(), { _tag: "UserItem", itemId: "user_3", before: null, transcribed: true })
      })
    }

    it("ends with the client's next half second of sound, when no mark ends it", () => {
      const recorded = ready()
      recorded.mapping.audio(new Uint8Array(3200), 0)
      recorded.hearAt(0, audio("AAAA"), complete())
      recorded.hearAt(100, heard("hello"))
      recorded.mapping.audio(new Uint8Array(16_000), 600)
      recorded.clear()
      recorded.hearAt(700, heard("again"))
      assert.deepInclude(recorded.neutral(), { _tag: "UserItem", itemId: "user_3", before: null, transcribed: true })
    })

    it("is placed before the answer also where no sound of the client was seen", () => {
      const recorded = ready()
      recorded.hear(audio("AAAA"), said("Four."), complete())
      recorded.clear()
      recorded.hear(heard("Two and two?"), heard("And three?"))
      const items = recorded.neutral().flatMap((event) => (event._tag === "UserItem" ? [event.before] : []))
      assert.deepStrictEqual(items, ["turn_1", null])
    })

    it("is failed when the next question is heard instead, or the next answer begins", () => {
      const recorded = ready()
      recorded.mapping.audio(new Uint8Array(3200), 0)
      recorded.hearAt(0, audio("AAAA"), complete())
      recorded.clear()
      recorded.hearAt(9000, heard("And three?"))
      assert.deepStrictEqual(recorded.tags(), ["TranscriptFailed", "UserItem", "TranscriptDelta"])
    })

    it("is not waited for where something else caused the answer", () => {
      const typed = ready()
      typed.mapping.audio(new Uint8Array(3200), 0)
      typed.tell({ _tag: "Text", text: "Hi" })
      typed.hear(audio("AAAA"), complete("IN_PROGRESS"), audio("BBBB"), complete("IDLE"))
      assert.notInclude(typed.tags(), "UserItem")
      typed.clear()
      typed.hear(heard("Two and two?"))
      assert.deepInclude(typed.neutral(), { _tag: "UserItem", itemId: "user_4", before: null, transcribed: true })
      const off = ready({ options: { inputAudioTranscription: null } })
      off.mapping.audio(new Uint8Array(3200), 0)
      off.hear(audio("AAAA"))
      assert.notInclude(off.tags(), "UserItem")
    })
  })

  it("shortens an interrupted answer as far as the client has reported, and the answer of a client that is gone", () => {
    const second = Buffer.alloc(48_000).toString("base64")
    const recorded = ready()
    recorded.hearAt(0, audio(second), said("one two three four"))
    recorded.tell({ _tag: "ClientGone" }, 500)
    const cut = { itemId: "item_1", heardMillis: 500, generatedMillis: 1000 }
    assert.deepInclude(recorded.neutral(), { _tag: "Interrupted", cut })
    const reporting = ready()
    reporting.hearAt(0, audio(second), said("one two three four"))
    reporting.tell({ _tag: "Played", itemId: "item_1", millis: 250 }, 500)
    reporting.hearAt(600, { serverContent: { interrupted: true } }, said(" five"), audio("BBBB"), complete())
    assert.deepInclude(reporting.neutral(), { _tag: "Interrupted", cut: { ...cut, heardMillis: 250 } })
    assert.notInclude(JSON.stringify(reporting.neutral()), "five")
    assert.lengthOf(reporting.audio, 1)
  })

  it("extended thinking: several utterances, each an answer, until IDLE", () => {
    const recorded = ready()
    recorded.hear(
      audio("AAAA"),
      said("Let me see."),
      complete("IN_PROGRESS"),
      audio("BBBB"),
      said("Four."),
      complete("IDLE")
    )
    assert.deepStrictEqual(
      recorded.neutral().flatMap((event) => (event._tag === "ResponseDone" ? [event.responseId] : [])),
      ["turn_1", "turn_2"]
    )
    const idle = recorded.events.flatMap((event) =>
      event._tag === "Native" && event.json.includes("IDLE") ? [event] : []
    )
    assert.lengthOf(idle, 1)
  })

  it("reads what comes in binary frames, and survives what is no JSON", () => {
    const recorded = ready()
    recorded.mapping.receive(Buffer.from("no json"), 0)
    recorded.mapping.receive(Buffer.from("[1]"), 0)
    recorded.hear(audio("AAAA"))
    assert.deepStrictEqual(recorded.tags(), ["Failed", "Failed", "ResponseStarted"])
  })
})

describe("tools of provider_b", () => {
  it("keeps audio back while a blocking call is open, for ten seconds at most", () => {
    const recorded = ready({ tools: [tool] })
    recorded.hearAt(0, called("c1"))
    assert.isNull(recorded.mapping.audio(new Uint8Array(2), 100))
    recorded.tell({ _tag: "ToolOutputs", outputs: [{ toolCallId: "c1", name: "get_time", output: "10" }] })
    assert.deepStrictEqual(recorded.sent, [
      { toolResponse: { functionResponses: [{ id: "c1", name: "get_time", response: { output: "10" } }] } }
    ])
    assert.isNotNull(recorded.mapping.audio(new Uint8Array(2), 200))
    recorded.hearAt(1000, called("c2"))
    assert.isNull(recorded.mapping.audio(new Uint8Array(2), 10_999))
    assert.isNotNull(recorded.mapping.audio(new Uint8Array(2), 11_000))
  })

  it("keeps samples whole over audio that is kept back", () => {
    const recorded = ready({ tools: [tool] })
    assert.isNull(recorded.mapping.audio(Uint8Array.of(1), 0))
    recorded.hearAt(0, called("c1"))
    assert.isNull(recorded.mapping.audio(Uint8Array.of(2, 3, 4), 10))
    recorded.tell({ _tag: "ToolOutputs", outputs: [{ toolCallId: "c1", name: "get_time", output: "10" }] })
    assert.deepStrictEqual(recorded.messageFor(Uint8Array.of(5, 6)), {
      realtimeInput: { audio: { data: Buffer.from([5, 6]).toString("base64"), mimeType: "audio/pcm;rate=16000" } }
    })
  })

  it("sends nothing of the client while a blocking call is open: a text waits for the output, what is native is refused", () => {
    const recorded = ready({ tools: [tool] })
    recorded.hearAt(0, called("c1"))
    recorded.clear()
    recorded.tell({ _tag: "Text", text: "And?" }, 10)
    recorded.tell({ _tag: "Commit" }, 10)
    const refused = recorded.tell({ _tag: "Native", event: { realtimeInput: { text: "x" } } }, 10)
    assert.strictEqual(refused?.code, "invalid_frame")
    assert.deepStrictEqual([recorded.sent, recorded.tags()], [[], []])
    recorded.tell({ _tag: "ToolOutputs", outputs: [{ toolCallId: "c1", name: "get_time", output: "10" }] }, 20)
    assert.deepStrictEqual(recorded.sent.slice(1), [{ realtimeInput: { text: "And?" } }])
    assert.deepStrictEqual(recorded.tags(), ["Typed"])
    recorded.hearAt(30, called("c2"))
    recorded.tell({ _tag: "Text", text: "Hello?" }, 40)
    recorded.hearAt(50, { toolCallCancellation: { ids: ["c2"] } })
    assert.deepStrictEqual(recorded.sent.at(-1), { realtimeInput: { text: "Hello?" } })
  })

  it("lets the end of a manual turn through while a blocking call is open", () => {
    const detection = { automaticActivityDetection: { disabled: true } }
    const recorded = ready({ tools: [tool], options: { realtimeInputConfig: detection } })
    recorded.mapping.audio(new Uint8Array(2), 0)
    recorded.hearAt(0, called("c1"))
    recorded.clear()
    recorded.tell({ _tag: "Commit" }, 10)
    assert.deepStrictEqual(recorded.sent, [{ realtimeInput: { activityEnd: {} } }])
  })

  it("lets audio through while a call that does not block is open", () => {
    const recorded = ready({ tools: [tool] }, { ...settings, toolBehavior: "NON_BLOCKING" })
    recorded.hear(called("c1"))
    assert.isNotNull(recorded.mapping.audio(new Uint8Array(2), 0))
  })

  it("hands an object on as it is, and wraps everything else", () => {
    const recorded = ready({ tools: [tool] })
    const output = (text: string) =>
      recorded.tell({ _tag: "ToolOutputs", outputs: [{ toolCallId: "c", name: "n", output: text }] })
    for (const text of ['{"a":1}', "[1]", "null", "words"]) output(text)
    const responses = recorded.sent.map(
      (sent) => JSON.parse(JSON.stringify(sent)).toolResponse.functionResponses[0].response
    )
    assert.deepStrictEqual(responses, [{ a: 1 }, { output: "[1]" }, { output: "null" }, { output: "words" }])
  })

  it("cancels calls that the vendor takes back, and ends a call's turn with turnComplete", () => {
    const recorded = ready({ tools: [tool] })
    recorded.hear(called("c1", "c2"), { toolCallCancellation: { ids: ["c1", "c2"] } }, complete())
    assert.deepStrictEqual(recorded.tags(), [
      "ResponseStarted",
      "ToolCalled",
      "ToolCalled",
      "ToolsCancelled",
      "Used",
      "ResponseDone"
    ])
    assert.isNotNull(recorded.mapping.audio(new Uint8Array(2), 0))
  })
})

describe("what the client sends to provider_b", () => {
  it("automatic turns: audio with its rate; commit flushes", () => {
    const recorded = ready()
    const piece = (...bytes: ReadonlyArray<number>) => ({
      realtimeInput: { audio: { data: Buffer.from(bytes).toString("base64"), mimeType: "audio/pcm;rate=16000" } }
    })
    assert.deepStrictEqual(recorded.messageFor(Uint8Array.of(1, 2, 3)), piece(1, 2))
    assert.deepStrictEqual(recorded.messageFor(Uint8Array.of(4)), piece(3, 4))
    assert.isNull(recorded.messageFor(Uint8Array.of(5)))
    recorded.clear()
    recorded.tell({ _tag: "Commit" })
    recorded.tell({ _tag: "Text", text: "Hi" })
    assert.deepStrictEqual(recorded.sent, [
      { realtimeInput: { audioStreamEnd: true } },
      { realtimeInput: { text: "Hi" } }
    ])
  })

  it("manual turns: activityStart before the first piece of each turn, activityEnd at commit", () => {
    const recorded = ready({ options: { realtimeInputConfig: { automaticActivityDetection: { disabled: true } } } })
    recorded.mapping.audio(new Uint8Array(2), 0)
    recorded.mapping.audio(new Uint8Array(2), 0)
    recorded.tell({ _tag: "Commit" })
    recorded.mapping.audio(new Uint8Array(2), 0)
    assert.deepStrictEqual(recorded.sent, [
      { realtimeInput: { activityStart: {} } },
      { realtimeInput: { activityEnd: {} } },
      { realtimeInput: { activityStart: {} } }
    ])
  })

  it("opens no second manual turn where the client has opened one itself", () => {
    const recorded = ready({ options: { realtimeInputConfig: { automaticActivityDetection: { disabled: true } } } })
    recorded.tell({ _tag: "Native", event: { realtimeInput: { activityStart: {} } } })
    recorded.mapping.audio(new Uint8Array(2), 0)
    assert.lengthOf(recorded.sent, 1)
  })

  it("takes native input and content, and refuses a second setup and everything else", () => {
    const recorded = ready()
    assert.isNull(recorded.tell({ _tag: "Native", event: { realtimeInput: { text: "x" } } }))
    assert.strictEqual(recorded.tell({ _tag: "Native", event: { setup: {} } })?.code, "invalid_frame")
    assert.strictEqual(recorded.tell({ _tag: "Setup", instructions: "x", tools: [] })?.code, "invalid_frame")
    for (const event of [{}, { toolResponse: {} }, { realtimeInput: {}, clientContent: {} }, { other: 1 }]) {
      assert.strictEqual(recorded.tell({ _tag: "Native", event })?.code, "unsupported_frame")
    }
    assert.lengthOf(recorded.sent, 1)
  })
})

describe("usage of provider_b", () => {
  it("stays when a later message has no figures", () => {
    const recorded = ready()
    const usageMetadata = { promptTokenCount: 300, responseTokenCount: 60 }
    recorded.hear(audio("AAAA"), { usageMetadata }, { ...said("Ten"), usageMetadata: { trafficType: "ON_DEMAND" } })
    recorded.hear({ serverContent: { turnComplete: true } })
    const used = recorded.neutral().flatMap((event) => (event._tag === "Used" ? [event.usage] : []))
    assert.lengthOf(used, 1)
    assert.deepInclude(used[0], { inputTokens: 300, outputTokens: 60, estimated: false })
  })
})

describe("goAway", () => {
  const update = { sessionResumptionUpdate: { newHandle: "h1", resumable: true } }

  it("dials again with the handle, between two turns", () => {
    const recorded = ready()
    recorded.hear(update, audio("AAAA"), { goAway: { timeLeft: "10s" } })
    assert.strictEqual(recorded.redials(), 0)
    recorded.hear(complete())
    assert.strictEqual(recorded.redials(), 1)
    const [opening] = recorded.mapping.opening()
    assert.deepStrictEqual(JSON.parse(opening ?? "null").setup.sessionResumption, { handle: "h1" })
  })

  it("waits for a handle, and keeps none that cannot be resumed", () => {
    const recorded = ready()
    recorded.hear({ sessionResumptionUpdate: { newHandle: "h1", resumable: false } }, { goAway: { timeLeft: "10s" } })
    assert.strictEqual(recorded.redials(), 0)
    recorded.hear(update)
    assert.strictEqual(recorded.redials(), 1)
  })

  it("does not move while an answer or a manual turn of the user is under way", () => {
    const options = { realtimeInputConfig: { automaticActivityDetection: { disabled: true } } }
    const recorded = ready({ options })
    recorded.hear(update, { goAway: { timeLeft: "10s" } }, audio("AAAA"))
    assert.isFalse(recorded.mapping.mayMove())
    recorded.hear(complete())
    assert.strictEqual(recorded.redials(), 2)
    recorded.messageFor(Uint8Array.of(1, 2))
    assert.isFalse(recorded.mapping.mayMove())
    recorded.tell({ _tag: "Commit" })
    recorded.hear(audio("AAAA"), complete())
    assert.strictEqual(recorded.redials(), 3)
    assert.isTrue(recorded.mapping.mayMove())
    recorded.hear(audio("AAAA"), complete())
    assert.strictEqual(recorded.redials(), 3)
  })
})
