/** Speech in before a turn and speech out of it: order, refusals, money, limits in time, and what is kept. */
import { InMemory } from "@colloquy/adapters/in-memory"
import { callTool, fail, gate, hang, say, ScriptedModel } from "@colloquy/testing"
import {
  InsufficientCredit,
  type MeteringPort,
  Principal,
  StoreUnavailable,
  readSupplement,
  type StartedTurn,
  Threads,
  TurnParts,
  type TurnRequest,
  Turns
} from "@colloquy/core"
import {
  firstPage,
  FollowUpStore,
  ModelError,
  type SpeechRequest,
  type TranscriptionRequest,
  UsageLedger
} from "@colloquy/core/adapters"
import { BlobStore, DocumentStore } from "@colloquy/core/documents"
import { KeptSpoken } from "@colloquy/core/voice"
import { assert, describe, it } from "@effect/vitest"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Logger from "effect/Logger"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import * as TestClock from "effect/testing/TestClock"
import { documentsIn } from "../support/DocumentRoom.ts"
import { messagesIn, weather } from "../support/Story.ts"
import {
  delta,
  outline,
  record,
  second,
  soundIn,
  speechBytes,
  start,
  transcribed,
  voiceRoom,
  voiceStory
} from "./VoiceRoom.ts"

/** The first record of a document is stored, and the caller is not told so. */
const withoutFirstAnswer = (() => {
  let isFirst = true
  return Layer.effect(
    DocumentStore,
    DocumentStore.useSync((store) =>
      DocumentStore.of({
        ...store,
        insert: (...given) =>
          Effect.tap(store.insert(...given), () => {
            if (!isFirst) return Effect.void
            isFirst = false
            return Effect.fail(new StoreUnavailable({ operation: "DocumentStore.insert" }))
          })
      })
    )
  ).pipe(Layer.provideMerge(InMemory.layer))
})()

const away = new ModelError({ reason: "overloaded", provider: "toy", model: "toy", shouldRetry: false })
const busy = new ModelError({ reason: "rate_limited", provider: "toy", model: "toy", retryAfterMillis: 3000 })

const collect = Effect.fnUntraced(function* (request: TurnRequest) {
  const turn = yield* start(request)
  return { turn, events: yield* Stream.runCollect(turn.events) }
})

const nothingStored = Effect.gen(function* () {
  assert.deepStrictEqual(yield* (yield* Threads).list({ page: firstPage, includeMessages: true }), [])
})

const chargesByPurpose = UsageLedger.use((ledger) =>
  Effect.map(ledger.recent(firstPage), ({ days }) =>
    Object.fromEntries(days.map(({ purpose, usage }) => [purpose, usage.costUsd]))
  )
)

const keptSpeech = Effect.fnUntraced(function* (threadId: Parameters<typeof Threads.Service.get>[0]) {
  const answer = (yield* messagesIn(threadId)).findLast(({ role }) => role === "assistant")
  const kept = answer === undefined ? undefined : readSupplement(answer, "voice")?.value
  return Option.getOrThrow(Schema.decodeUnknownOption(KeptSpoken)(kept)).tts
})

const storedFile = Effect.fnUntraced(function* (documentId: string | null) {
  const found = (yield* (yield* DocumentStore).getMany([documentId as never]))[0]
  if (found === undefined) throw new Error("There is no such document.")
  const bytes = yield* Stream.runCollect((yield* BlobStore).get(found.blobId))
  return { document: found, bytes: new Uint8Array(Buffer.concat(bytes)) }
})

/** Its bytes are hashed outside of the test's time, so it is there before a test begins to move that. */
const spokenRequest = Effect.map(record(), (recording): TurnRequest => ({
  content: "",
  options: { voice: { stt: {}, recording } }
}))

const hear = Effect.flatMap(spokenRequest, start)

/** Reads the stream until the first sound has been told. */
const firstSound = (turn: StartedTurn) =>
  Stream.runDrain(
    Stream.takeUntil(turn.events, (event) => event._tag === "PartTold" && event.type === "tts_audio_chunk")
  )

describe("speech in", () => {
  const heard: Array<TranscriptionRequest> = []
  voiceStory(
    "is the first that the reader is told, and the user's content behind what was typed",
    [say("Hi.")],
    () =>
      Effect.gen(function* () {
        const recording = yield* record()
        const { events, turn } = yield* collect({
          content: "Typed:",
          options: { voice: { stt: { language: "en", prompt: "names" }, recording } }
        })
        assert.deepStrictEqual(outline(events).slice(0, 5), [
          "stt_stream_start",
          "stt_text_delta",
          "stt_text_delta",
          "stt_stream_end",
          "UserMessage"
        ])
        const [question] = yield* messagesIn(turn.threadId)
        assert.strictEqual(question?.content, "Typed:\n\nHello there.")
        assert.deepInclude(Object(readSupplement(question ?? { supplements: null }, "voice")?.value).stt, {
          transcript: "Hello there.",
          seconds: 2,
          language: "en",
          provider: "toy",
          model: "ear-1",
          documentId: recording.documentId
        })
        assert.deepInclude(heard[0], { model: "ear-1", language: "en", prompt: "names" })
        assert.strictEqual(heard[0]?.recording.filename, "recording.wav")
        const [document] = yield* documentsIn(turn.threadId)
        assert.deepInclude(document, {
          id: recording.documentId,
          status: "completed",
          chunkCount: null,
          mimeType: "audio/wav"
        })
        assert.deepStrictEqual((yield* storedFile(recording.documentId)).bytes, second)
        assert.closeTo((yield* chargesByPurpose)["stt"] ?? 0, 0.02, 1e-9)
        // A thread of recordings has nothing to search.
        const survey = yield* (yield* DocumentStore).survey([{ threadId: turn.threadId }])
        assert.strictEqual(survey.completed, 0)
      }),
    { heard }
  )

  const guarded: Array<TranscriptionRequest> = []
  voiceStory(
    "passes the parts that rewrite before anybody reads it, and is told at once; so does the hint for the provider",
    [say("Hi.")],
    () =>
      Effect.gen(function* () {
        yield* TurnParts.use((parts) =>
          parts.register({
            name: "guard",
            plan: Schema.Null,
            decide: () => Effect.succeed(null),
            rewrite: (text) => Effect.succeed(text.replaceAll("there", "[place]"))
          })
        )
        const recording = yield* record()
        const { events, turn } = yield* collect({
          content: "",
          options: { voice: { stt: { language: "en", prompt: "He is from there." }, recording } }
        })
        assert.deepStrictEqual(outline(events).slice(0, 4), [
          "stt_stream_start",
          "stt_text_delta",
          "stt_stream_end",
          "UserMessage"
        ])
        assert.notInclude(JSON.stringify(events), "there")
        assert.deepInclude(guarded[0], { language: "en", prompt: "He is from [place]." })
        const [question] = yield* messagesIn(turn.threadId)
        assert.strictEqual(question?.content, "Hello [place].")
        assert.deepInclude(Object(readSupplement(question ?? { supplements: null }, "voice")?.value).stt, {
          transcript: "Hello [place]."
        })
      }),
    { heard: guarded }
  )

  voiceStory(
    "comes in one piece from a provider that tells all at once",
    [say("Hi.")],
    () =>
      Effect.gen(function* () {
        const turn = yield* hear
        const events = yield* Stream.runCollect(turn.events)
        assert.deepStrictEqual(outline(events).slice(0, 4), [
          "stt_stream_start",
          "stt_text_delta",
          "stt_stream_end",
          "UserMessage"
        ])
      }),
    { hearsAtOnce: true }
  )

  voiceStory("is heard without a stream, and kept with a message that is only saved", [], () =>
    Effect.gen(function* () {
      const recording = yield* record()
      const saved = yield* (yield* Turns).send({
        content: "",
        sendToModel: false,
        options: { voice: { stt: {}, tts: {}, recording } }
      })
      assert.strictEqual(saved.content, "Hello there.")
      yield* TestClock.adjust("1 second")
      assert.deepStrictEqual(
        (yield* documentsIn(saved.threadId)).map(({ id }) => id),
        [recording.documentId]
      )
    })
  )

  voiceStory(
    "is kept once, also when the store did not say whether it was",
    [],
    () =>
      Effect.gen(function* () {
        const recording = yield* record()
        const saved = yield* (yield* Turns).send({
          content: "",
          sendToModel: false,
          options: { voice: { stt: {}, recording } }
        })
        yield* TestClock.adjust("1 minute")
        assert.lengthOf(yield* documentsIn(saved.threadId), 1)
        assert.deepStrictEqual(yield* (yield* FollowUpStore).dead(firstPage), [])
        const [kept] = yield* (yield* FollowUpStore).list("voice.keep", firstPage)
        assert.deepInclude(kept, { status: "done", attempts: 1 })
      }),
    { stores: withoutFirstAnswer }
  )

  for (const [title, ear] of [
    ["nothing is written down", () => Stream.make(transcribed("  \n"))],
    ["nothing but blanks comes", () => Stream.make(delta(" "), delta("\n"), transcribed(" \n"))]
  ] as const) {
    voiceStory(
      `is refused with its own words where ${title}, paid for, and nothing stays`,
      [],
      () =>
        Effect.gen(function* () {
          const recording = yield* record()
          const error = yield* Effect.flip(start({ content: "Typed", options: { voice: { stt: {}, recording } } }))
          assert.deepInclude(error, { _tag: "TurnRefused", reason: "invalid" })
          assert.include(error.message, "Nothing was heard")
          yield* nothingStored
          assert.isTrue(Option.isNone(yield* (yield* BlobStore).head(recording.blobId)))
          assert.closeTo((yield* chargesByPurpose)["stt"] ?? 0, 0.02, 1e-9)
        }),
      { ear }
    )
  }

  voiceStory(
    "stays as a document where the host wants every recording, though nothing was heard in it",
    [say("Hi.")],
    () =>
      Effect.gen(function* () {
        const { threadId } = yield* (yield* Turns).send({ content: "x" })
        const recording = yield* record()
        yield* Effect.flip(start({ threadId, content: "", options: { voice: { stt: {}, recording } } }))
        assert.deepStrictEqual(
          (yield* documentsIn(threadId)).map(({ id }) => id),
          [recording.documentId]
        )
      }),
    { ear: () => Stream.make(transcribed("")), settings: { recordings: "always" } }
  )

  voiceStory(
    "leaves no recording where the host wants none",
    [say("Hi.")],
    () =>
      Effect.gen(function* () {
        const recording = yield* record()
        const { turn } = yield* collect({ content: "", options: { voice: { stt: {}, recording } } })
        assert.deepStrictEqual(yield* documentsIn(turn.threadId), [])
        assert.isTrue(Option.isNone(yield* (yield* BlobStore).head(recording.blobId)))
      }),
    { settings: { recordings: "never" } }
  )

  voiceStory(
    "fails like every refusal before the first word",
    [],
    () =>
      Effect.gen(function* () {
        const error = yield* Effect.flip(hear)
        assert.deepInclude(error, { _tag: "TurnRefused", reason: "provider_failed", code: "transcription_failed" })
        yield* nothingStored
      }),
    { ear: () => Stream.fail(away) }
  )

  voiceStory(
    "ends the stream as a failed run behind the first word, and nothing is stored",
    [],
    () =>
      Effect.gen(function* () {
        const turn = yield* hear
        const events = yield* Stream.runCollect(turn.events)
        assert.deepStrictEqual(outline(events), ["stt_stream_start", "stt_text_delta", "RunFailed"])
        assert.deepInclude(events.at(-1), { code: "transcription_failed" })
        yield* nothingStored
      }),
    { ear: () => Stream.concat(Stream.make(delta("Hel")), Stream.fail(away)) }
  )

  const twice = { count: 0 }
  const askedAgain = Deferred.makeUnsafe<void>()
  voiceStory(
    "is asked for again after the pause that the provider named",
    [say("Hi.")],
    () =>
      Effect.gen(function* () {
        const request = yield* spokenRequest
        const starting = yield* Effect.forkChild(start(request))
        yield* Deferred.await(askedAgain)
        yield* TestClock.adjust("2999 millis")
        assert.strictEqual(twice.count, 1)
        yield* TestClock.adjust("1 millis")
        const turn = yield* Fiber.join(starting)
        assert.strictEqual((yield* turn.reply).status, "COMPLETED")
        assert.strictEqual(twice.count, 2)
      }),
    {
      earIsAsked: askedAgain,
      ear: () => Stream.suspend(() => (++twice.count === 1 ? Stream.fail(busy) : Stream.make(transcribed("Again."))))
    }
  )

  const askedInSilence = Deferred.makeUnsafe<void>()
  voiceStory(
    "is given up when the provider says nothing for too long, each time it is asked",
    [],
    () =>
      Effect.gen(function* () {
        const request = yield* spokenRequest
        const starting = yield* Effect.forkChild(Effect.flip(start(request)))
        yield* Deferred.await(askedInSilence)
        yield* TestClock.adjust("59 seconds")
        assert.isUndefined(starting.pollUnsafe())
        yield* TestClock.adjust("3 minutes")
        assert.deepInclude(yield* Fiber.join(starting), { _tag: "TurnRefused", reason: "provider_timeout" })
      }),
    { earIsAsked: askedInSilence, ear: () => Stream.never, settings: { retries: 1 } }
  )

  const askedForLong = Deferred.makeUnsafe<void>()
  voiceStory(
    "is given up when it takes too long, however lively the provider is",
    [],
    () =>
      Effect.gen(function* () {
        const request = yield* spokenRequest
        const starting = yield* Effect.forkChild(start(request))
        yield* Deferred.await(askedForLong)
        yield* TestClock.adjust("10 seconds")
        const turn = yield* Fiber.join(starting)
        const reading = yield* Effect.forkChild(Stream.runCollect(turn.events))
        yield* TestClock.adjust("3 minutes")
        const events = yield* Fiber.join(reading)
        assert.deepInclude(events.at(-1), { _tag: "RunFailed", code: "transcription_failed" })
        assert.isAtMost(events.length, 22)
      }),
    {
      earIsAsked: askedForLong,
      ear: () => Stream.forever(Stream.fromEffect(Effect.as(Effect.sleep("10 seconds"), delta("word "))))
    }
  )

  const poor: MeteringPort = {
    ensureCredit: ({ purpose }) => (purpose === "stt" ? Effect.fail(new InsufficientCredit()) : Effect.void),
    record: () => Effect.void
  }
  const unheard: Array<TranscriptionRequest> = []
  voiceStory(
    "needs credit before the provider is asked",
    [],
    () =>
      Effect.gen(function* () {
        const error = yield* Effect.flip(hear)
        assert.strictEqual(error._tag, "InsufficientCredit")
        assert.deepStrictEqual(unheard, [])
        yield* nothingStored
      }),
    { metering: poor, heard: unheard }
  )
})

describe("a message that asks for what voice cannot do", () => {
  const refusals: ReadonlyArray<readonly [options: Schema.Json, path: string]> = [
    ["hello", ""],
    [{ stt: true }, "stt"],
    [{ tts: [] }, "tts"],
    [{ tts: {}, sst: {} }, "sst"],
    [{ tts: { speaker: "x" } }, "tts.speaker"],
    [{ tts: { constructor: "x" } }, "tts.constructor"],
    [{ tts: { speed: 9 } }, "tts.speed"],
    [{ tts: { speed: "1" } }, "tts.speed"],
    [{ tts: { format: "ogg" } }, "tts.format"],
    [{ tts: { format: "mp3" } }, "tts.format"],
    [{ tts: { voice: "" } }, "tts.voice"],
    [{ tts: { provider: "nobody" } }, "tts.provider"],
    [{ stt: {} }, "recording"],
    [{ stt: { language: "english please" } }, "stt.language"],
    [{ tts: {}, recording: { blobId: "x" } }, "recording"]
  ]
  for (const [voice, path] of refusals) {
    voiceStory(`is told at its place: ${JSON.stringify(voice)}`, [], () =>
      Effect.gen(function* () {
        const error = yield* Effect.flip(start({ content: "x", options: { voice } }))
        assert.strictEqual(error._tag, "TurnRefused")
        if (error._tag === "TurnRefused")
          assert.deepStrictEqual(
            error.problems.map((each) => each.path.join(".")),
            [path]
          )
        yield* nothingStored
      })
    )
  }

  voiceStory("is told every problem at once", [], () =>
    Effect.gen(function* () {
      const voice = { stt: { model: 1, tongue: "de" }, tts: { speed: 0 }, more: 1 }
      const error = yield* Effect.flip(start({ content: "x", options: { voice } }))
      if (error._tag !== "TurnRefused") throw error
      assert.deepStrictEqual(
        error.problems.map((each) => each.path.join(".")),
        ["stt.model", "stt.tongue", "tts.speed", "more"]
      )
    })
  )

  voiceStory("is told both providers that nobody registered", [], () =>
    Effect.gen(function* () {
      const voice = { stt: { provider: "a" }, tts: { provider: "b" } }
      const error = yield* Effect.flip(start({ content: "x", options: { voice } }))
      if (error._tag !== "TurnRefused") throw error
      assert.includeMembers(
        error.problems.map((each) => each.path.join(".")),
        ["stt.provider", "tts.provider"]
      )
    })
  )

  voiceStory("may say nothing: null members and an empty object ask for nothing", [say("Hi.")], () =>
    Effect.gen(function* () {
      const { events } = yield* collect({ content: "x", options: { voice: { stt: null, tts: null } } })
      assert.deepStrictEqual(outline(events), ["UserMessage", "text", "RunEnded"])
    })
  )

  for (const [title, bytes, tag] of [
    ["empty", new Uint8Array(), "FileEmpty"],
    ["text", new TextEncoder().encode("This is no sound."), "FileTypeUnsupported"],
    ["a picture", new Uint8Array([0x89, 0x50, 0x4e, 0x47, 13, 10, 26, 10, 0, 0, 0, 0]), "FileTypeUnsupported"],
    ["too large", new Uint8Array(20_000), "FileTooLarge"]
  ] as const) {
    voiceStory(
      `may not bring a recording that is ${title}, whatever its name`,
      [],
      () =>
        Effect.gen(function* () {
          assert.strictEqual((yield* Effect.flip(record(bytes, "hello.wav")))._tag, tag)
        }),
      { settings: { maxRecordingBytes: 18_000 } }
    )
  }

  voiceStory("cannot use the recording of another user", [], () =>
    Effect.gen(function* () {
      const recording = yield* record()
      const error = yield* start({ content: "", options: { voice: { stt: {}, recording } } }).pipe(
        Principal.provide("eve"),
        Effect.flip
      )
      assert.deepInclude(error, { _tag: "TurnRefused", reason: "not_found" })
      assert.isTrue(Option.isSome(yield* (yield* BlobStore).head(recording.blobId)))
    })
  )
})

const speech = { content: "x", options: { voice: { tts: {} } } }

/** A turn that is spoken and whose model waits at its gate until the first sound has been heard. */
const heardThroughGate = Effect.gen(function* () {
  const turn = yield* start(speech)
  const reading = yield* Effect.forkChild(Stream.runCollect(turn.events))
  const model = yield* ScriptedModel
  yield* model.reached("gate")
  yield* firstSound(turn)
  yield* model.release("gate")
  return { turn, events: yield* Fiber.join(reading) }
})

describe("speech out", () => {
  const asked: Array<SpeechRequest> = []
  voiceStory(
    "begins while the answer is still written, one sentence behind it",
    [[say("First sentence. ", "Second"), gate(), say(" sentence.")]],
    () =>
      Effect.gen(function* () {
        const turn = yield* start(speech)
        const reading = yield* Effect.forkChild(Stream.runCollect(turn.events))
        const model = yield* ScriptedModel
        yield* model.reached("gate")
        yield* firstSound(turn)
        assert.deepStrictEqual(
          asked.map(({ text }) => text),
          ["First sentence."]
        )
        yield* model.release("gate")
        const events = yield* Fiber.join(reading)
        assert.deepStrictEqual(outline(events), [
          "UserMessage",
          "text",
          "text",
          "tts_stream_start",
          "tts_audio_chunk",
          "text",
          "tts_audio_chunk",
          "tts_stream_end",
          "RunEnded"
        ])
        assert.deepStrictEqual(
          soundIn(events),
          new Uint8Array(Buffer.concat([speechBytes("First sentence."), speechBytes("Second sentence.")]))
        )
        const { bytes, document } = yield* storedFile((yield* keptSpeech(turn.threadId)).documentId)
        assert.deepInclude(document, { status: "completed", chunkCount: null, mimeType: "audio/wav" })
        assert.deepStrictEqual(bytes.subarray(44), soundIn(events))
        assert.strictEqual(new DataView(bytes.buffer).getUint32(40, true), bytes.length - 44)
        const { characters, error, seconds } = yield* keptSpeech(turn.threadId)
        assert.deepStrictEqual([characters, error, seconds], [31, null, 0.031])
        assert.closeTo((yield* chargesByPurpose)["tts"] ?? 0, 0.031, 1e-9)
      }),
    { spoken: asked }
  )

  voiceStory(
    "does not read code, and reads nothing where there is nothing else",
    [say("```js\nfoo.bar(1.5)\n```\n")],
    () =>
      Effect.gen(function* () {
        const { events, turn } = yield* collect(speech)
        assert.deepStrictEqual(outline(events), ["UserMessage", "text", "RunEnded"])
        assert.deepStrictEqual(yield* documentsIn(turn.threadId), [])
      })
  )

  voiceStory(
    "that fails is told behind the last word, and the answer is there all the same",
    [[say("One sentence. ", "Another one. "), gate(), say("The end.")]],
    () =>
      Effect.gen(function* () {
        const { events, turn } = yield* heardThroughGate
        assert.deepStrictEqual(outline(events).slice(-5), [
          "tts_stream_start",
          "tts_audio_chunk",
          "text",
          "tts_error",
          "RunEnded"
        ])
        const reply = yield* turn.reply
        assert.deepInclude(reply, { status: "COMPLETED", content: "One sentence. Another one. The end." })
        // What was spoken is kept.
        const { documentId, error } = yield* keptSpeech(turn.threadId)
        assert.include(error ?? "", "overloaded")
        assert.deepStrictEqual((yield* storedFile(documentId)).bytes.subarray(44), speechBytes("One sentence."))
      }),
    { mouth: ({ text }) => (text.startsWith("One") ? Stream.make(speechBytes(text)) : Stream.fail(away)) }
  )

  for (const [title, mouth] of [
    ["says nothing", () => Stream.empty],
    ["breaks in its own code", () => Stream.die(new Error("broken"))],
    ["says nothing for too long", () => Stream.never]
  ] as const) {
    voiceStory(
      `of a provider that ${title} is an error and no sound`,
      [say("Hello.")],
      () =>
        Effect.gen(function* () {
          const turn = yield* start(speech)
          const reading = yield* Effect.forkChild(Stream.runCollect(turn.events))
          yield* TestClock.adjust("2 minutes")
          assert.deepStrictEqual(outline(yield* Fiber.join(reading)), ["UserMessage", "text", "tts_error", "RunEnded"])
          assert.deepStrictEqual(yield* documentsIn(turn.threadId), [])
        }),
      { mouth }
    )
  }

  voiceStory(
    "may go on for a while behind the last word, and no longer",
    [say("Hello.")],
    () =>
      Effect.gen(function* () {
        const turn = yield* start(speech)
        const reading = yield* Effect.forkChild(Stream.runCollect(turn.events))
        yield* TestClock.adjust("179 seconds")
        assert.isUndefined(reading.pollUnsafe())
        yield* TestClock.adjust("1 seconds")
        const events = yield* Fiber.join(reading)
        assert.deepStrictEqual(outline(events).slice(-2), ["tts_error", "RunEnded"])
        assert.include((yield* keptSpeech(turn.threadId)).error ?? "", "too long")
      }),
    { mouth: () => Stream.forever(Stream.fromEffect(Effect.as(Effect.sleep("10 seconds"), speechBytes("x")))) }
  )

  voiceStory(
    "has a largest size",
    [say("Hello there, you.")],
    () =>
      Effect.gen(function* () {
        const { events, turn } = yield* collect(speech)
        assert.deepStrictEqual(outline(events).slice(-2), ["tts_error", "RunEnded"])
        assert.include((yield* keptSpeech(turn.threadId)).error ?? "", "too long")
      }),
    { mouth: () => Stream.forever(Stream.make(new Uint8Array(1000))), settings: { maxSpeechBytes: 10_000 } }
  )

  /** Its bytes do not get to an end. */
  const slowStore = (put: Effect.Effect<never, StoreUnavailable>) =>
    Layer.effect(
      BlobStore,
      BlobStore.useSync((store) => BlobStore.of({ ...store, put: () => put }))
    ).pipe(Layer.provideMerge(InMemory.layer))

  voiceStory(
    "that the store does not take is waited for at the end, and no longer than a while",
    [say("Hello.")],
    () =>
      Effect.gen(function* () {
        const turn = yield* start(speech)
        const reading = yield* Effect.forkChild(Stream.runCollect(turn.events))
        yield* TestClock.adjust("19 seconds")
        assert.isUndefined(reading.pollUnsafe())
        // The waiting begins behind the last sound.
        yield* TestClock.adjust("21 seconds")
        const events = yield* Fiber.join(reading)
        assert.deepStrictEqual(outline(events), [
          "UserMessage",
          "text",
          "tts_stream_start",
          "tts_audio_chunk",
          "tts_error",
          "RunEnded"
        ])
        assert.deepInclude(yield* keptSpeech(turn.threadId), {
          documentId: null,
          error: "The speech could not be stored."
        })
        assert.deepStrictEqual(yield* documentsIn(turn.threadId), [])
      }),
    { stores: slowStore(Effect.never) }
  )

  voiceStory(
    "that the store refuses is an error behind the last word, and is heard all the same",
    [say("Hello.")],
    () =>
      Effect.gen(function* () {
        const { events } = yield* collect(speech)
        assert.deepStrictEqual(outline(events).slice(-2), ["tts_error", "RunEnded"])
        assert.deepStrictEqual(soundIn(events), speechBytes("Hello."))
      }),
    { stores: slowStore(Effect.fail(new StoreUnavailable({ operation: "BlobStore.put" }))) }
  )

  const needs: Array<string> = []
  const poor: MeteringPort = {
    ensureCredit: ({ purpose }) => {
      needs.push(purpose)
      return purpose === "tts" ? Effect.fail(new InsufficientCredit()) : Effect.void
    },
    record: () => Effect.void
  }
  voiceStory(
    "needs credit before the provider is asked; without it there is text alone",
    [say("Hello.")],
    () =>
      Effect.gen(function* () {
        const { events } = yield* collect(speech)
        assert.deepStrictEqual(outline(events), ["UserMessage", "text", "tts_error", "RunEnded"])
        assert.includeMembers(needs, ["chat", "tts"])
      }),
    { metering: poor, mouth: () => Stream.die(new Error("It was asked.")) }
  )

  voiceStory(
    "is stopped by a cancel, and what was said is kept",
    [[say("One sentence. ", "Another one. "), hang]],
    () =>
      Effect.gen(function* () {
        const turn = yield* start(speech)
        const reading = yield* Effect.forkChild(Stream.runCollect(turn.events))
        yield* firstSound(turn)
        yield* (yield* Turns).cancel(turn.threadId, turn.runId)
        const events = yield* Fiber.join(reading)
        assert.deepStrictEqual(outline(events).slice(-2), ["tts_stream_end", "RunCancelled"])
        const { documentId, error } = yield* keptSpeech(turn.threadId)
        assert.isNull(error)
        assert.deepStrictEqual((yield* storedFile(documentId)).bytes.subarray(44), soundIn(events))
      }),
    { mouth: ({ text }) => (text.startsWith("One") ? Stream.make(speechBytes(text)) : Stream.never) }
  )

  voiceStory(
    "of a run that fails ends with it, and what was said is kept",
    [[say("One sentence. ", "Another"), gate(), fail("auth")]],
    () =>
      Effect.gen(function* () {
        const { events, turn } = yield* heardThroughGate
        assert.deepStrictEqual(outline(events).slice(-2), ["tts_stream_end", "RunFailed"])
        assert.deepStrictEqual(
          (yield* storedFile((yield* keptSpeech(turn.threadId)).documentId)).bytes.subarray(44),
          speechBytes("One sentence.")
        )
      })
  )

  voiceStory(
    "stops at a pause for tools and goes on behind it, a recording for each answer",
    [[say("I look. "), callTool("weather", {}, "c1")], say("It rains.")],
    () =>
      Effect.gen(function* () {
        const { events, turn } = yield* collect({ ...speech, tools: [weather] })
        assert.deepStrictEqual(outline(events).slice(-2), ["tts_stream_end", "ToolSubmitRequired"])
        const next = yield* (yield* Turns).submitToolOutputs({
          threadId: turn.threadId,
          outputs: [{ toolCallId: "c1", output: "rain" }],
          stream: true
        })
        const rest = yield* Stream.runCollect(next.events)
        assert.deepStrictEqual(outline(rest).slice(-2), ["tts_stream_end", "RunEnded"])
        assert.deepStrictEqual(soundIn(rest), speechBytes("It rains."))
        assert.strictEqual((yield* documentsIn(turn.threadId)).length, 2)
      })
  )

  voiceStory(
    "costs bounded memory when nobody listens: late readers have missed the oldest sound, and the recording has all",
    [say("Hello.")],
    () =>
      Effect.gen(function* () {
        const turn = yield* start(speech)
        yield* turn.reply
        const events = yield* Stream.runCollect(turn.events)
        const { bytes } = yield* storedFile((yield* keptSpeech(turn.threadId)).documentId)
        assert.strictEqual(bytes.length, 44 + 20_000_000)
        assert.isBelow(soundIn(events).length, 4 * 1024 * 1024)
      }),
    { mouth: () => Stream.fromIterable(Array.from({ length: 20 }, () => new Uint8Array(1_000_000))) }
  )

  voiceStory("is given to those who do not stream, too", [say("Hello.")], () =>
    Effect.gen(function* () {
      const reply = yield* (yield* Turns).send(speech)
      const kept = Option.getOrThrow(Schema.decodeUnknownOption(KeptSpoken)(reply.supplements["voice"])).tts
      assert.deepStrictEqual((yield* storedFile(kept.documentId)).bytes.subarray(44), speechBytes("Hello."))
    })
  )

  const together: Array<SpeechRequest> = []
  voiceStory(
    "asks for at most one text ahead of the one that is heard, and for what waits together",
    [say("One. Two. Three. Four. Five.")],
    () =>
      Effect.gen(function* () {
        yield* (yield* Turns).send(speech)
        assert.deepStrictEqual(
          together.map(({ text }) => text),
          ["One.", "Two. Three. Four.", "Five."]
        )
      }),
    { spoken: together }
  )

  const wished: Array<SpeechRequest> = []
  voiceStory(
    "is asked for as the message wishes",
    [say("Hello.")],
    () =>
      Effect.gen(function* () {
        const { events } = yield* collect({
          content: "x",
          options: { voice: { tts: { provider: "toy", model: "m", voice: "v", speed: 1.5, format: "wav" } } }
        })
        assert.deepInclude(wished[0], { provider: "toy", model: "m", voice: "v", speed: 1.5, format: "pcm" })
        const begun = events.find((event) => event._tag === "PartTold" && event.type === "tts_stream_start")
        assert.deepInclude(begun, { data: { content_type: "audio/wav" } })
        assert.strictEqual(Buffer.from(soundIn(events).subarray(0, 4)).toString(), "RIFF")
      }),
    { spoken: wished }
  )

  const pieces = Schema.Array(
    Schema.Literals([
      "One. ",
      "Two",
      "! ",
      "3.14 ",
      "```\n",
      "\n",
      "- item ",
      "**bold** ",
      "A longer one, with commas. "
    ])
  )
  it.effect.prop(
    "comes in order however the answer is cut: start, pieces, end, and then the end of the turn",
    [pieces],
    ([deltas]) =>
      collect(speech).pipe(
        Effect.map(({ events }) => {
          const words = outline(events)
          const told = words.filter((word) => word.startsWith("tts_"))
          if (told.length > 0) {
            assert.strictEqual(told[0], "tts_stream_start")
            assert.strictEqual(told.indexOf("tts_stream_end"), told.length - 1)
            assert.isAbove(words.indexOf("tts_stream_end"), words.lastIndexOf("text"))
            assert.deepStrictEqual(new Set(told.slice(1, -1)), new Set(["tts_audio_chunk"]))
          }
          assert.strictEqual(words.at(-1), "RunEnded")
          assert.strictEqual(words.filter((word) => word === "RunEnded").length, 1)
        }),
        Principal.provide("ada"),
        Effect.provide([voiceRoom([say("x", ...deltas)]), Logger.layer([])])
      )
  )
})
