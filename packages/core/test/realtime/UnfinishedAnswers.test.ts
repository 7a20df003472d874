// An answer is stored while it is spoken, so that a process that dies loses a second of it at most; and what a client that is gone has heard.
import { InMemory } from "@colloquy/adapters/in-memory"
import { TestRealtime } from "@colloquy/testing"
import { Kernel, type Principal, Providers, type StoreUnavailable, ThreadId } from "@colloquy/core"
import { describeModel, ThreadStore } from "@colloquy/core/adapters"
import { asNewOwner } from "@colloquy/testing/contracts"
import {
  Realtime,
  type RealtimeModel,
  RealtimeModels,
  type VendorCommand,
  type VendorEvent
} from "@colloquy/core/realtime"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Result from "effect/Result"
import { TestClock } from "effect/testing"
import { stored } from "../support/Voice.ts"

const format = { encoding: "pcm_s16le", sampleRate: 24_000, channels: 1 } as const

/** A model of which the test plays every event by hand. */
const makeVendor = () => {
  const commands: Array<VendorCommand> = []
  let listen: (event: VendorEvent) => void = () => {}
  let onCommand: (command: VendorCommand) => void = () => {}
  const model: RealtimeModel = {
    id: "scripted",
    models: [describeModel({ name: "scripted-voice", provider: "scripted", modelType: "realtime" })],
    prepare: () =>
      Result.succeed({
        inputFormat: format,
        outputFormat: format,
        canCancel: true,
        instructions: null,
        connect: (listener) =>
          Effect.sync(() => {
            listen = listener.event
            listen({ _tag: "Ready" })
            return {
              send: (command) => {
                commands.push(command)
                onCommand(command)
                return null
              },
              sendAudio: () => {},
              buffered: () => 0,
              pause: () => {},
              resume: () => {},
              finish: () => {}
            }
          })
      })
  }
  return {
    model,
    commands,
    say: (event: VendorEvent) => listen(event),
    on: (react: (command: VendorCommand) => void) => {
      onCommand = react
    }
  }
}

type Vendor = ReturnType<typeof makeVendor>

type Client = Effect.Success<ReturnType<typeof TestRealtime.connect>>

type Test = (
  vendor: Vendor,
  client: Client,
  threadId: string
) => Effect.Effect<void, StoreUnavailable, ThreadStore | Principal>

const story = (title: string, test: Test) => {
  const vendor = makeVendor()
  const layer = Realtime.layer().pipe(
    Layer.provideMerge(Kernel.layer),
    Layer.provideMerge(RealtimeModels.layer([vendor.model])),
    Layer.provideMerge(InMemory.layer),
    Layer.provideMerge(Providers.layer({ providers: [], defaults: { provider: "none", model: "none" } }))
  )
  const session = Effect.gen(function* () {
    const client = yield* TestRealtime.connect()
    const { threadId } = yield* client.next("SessionBegin")
    // The link is attached after the vendor's first event.
    yield* TestClock.adjust("1 millis")
    yield* test(vendor, client, threadId)
  })
  it.effect(title, () => Effect.provide(asNewOwner(Effect.scoped(session)), layer))
}

const messages = (threadId: string) => ThreadStore.use((store) => store.messages([ThreadId.make(threadId)]))

const words = (text: string): VendorEvent => ({ _tag: "TranscriptDelta", role: "assistant", itemId: "i", text })

const question = (vendor: Vendor): void => {
  vendor.say({ _tag: "UserItem", itemId: "u", before: null, transcribed: true })
  vendor.say({ _tag: "TranscriptFinal", role: "user", itemId: "u", text: "Count." })
  vendor.say({ _tag: "ResponseStarted", responseId: "r" })
}

describe("an answer that is not finished", () => {
  story(
    "is stored every second as an interrupted one, and once more as a whole at its end",
    (vendor, _client, threadId) =>
      Effect.gen(function* () {
        question(vendor)
        vendor.say(words("one"))
        yield* TestClock.adjust("999 millis")
        assert.deepStrictEqual(yield* stored(threadId), [["user", "Count."]])
        yield* TestClock.adjust("1 millis")
        assert.deepStrictEqual(yield* stored(threadId), [
          ["user", "Count."],
          ["assistant", "one"]
        ])
        vendor.say(words(" two"))
        yield* TestClock.adjust("1 second")
        const [, draft] = yield* messages(threadId)
        assert.deepInclude(draft, { content: "one two", metadata: { interrupted: true } })
        vendor.say({ _tag: "TranscriptFinal", role: "assistant", itemId: "i", text: "one two three" })
        vendor.say({ _tag: "ResponseDone", responseId: "r" })
        yield* TestClock.adjust("1 millis")
        const whole = yield* messages(threadId)
        assert.lengthOf(whole, 2)
        assert.strictEqual(whole[1]?.id, draft?.id)
        assert.deepInclude(whole[1], { content: "one two three", metadata: null })
      })
  )

  story(
    "waits for the transcript of its question, so that the order stays that of speaking",
    (vendor, _client, threadId) =>
      Effect.gen(function* () {
        vendor.say({ _tag: "UserItem", itemId: "u", before: null, transcribed: true })
        vendor.say({ _tag: "ResponseStarted", responseId: "r" })
        vendor.say(words("one"))
        yield* TestClock.adjust("3 seconds")
        assert.deepStrictEqual(yield* stored(threadId), [])
        vendor.say({ _tag: "TranscriptFinal", role: "user", itemId: "u", text: "Count." })
        yield* TestClock.adjust("1 second")
        assert.deepStrictEqual(yield* stored(threadId), [
          ["user", "Count."],
          ["assistant", "one"]
        ])
      })
  )
})

describe("a client that vanishes", () => {
  story(
    "ends as by a barge-in: what was heard is stored, and the usage of the answer is waited for",
    (vendor, client, threadId) =>
      Effect.gen(function* () {
        question(vendor)
        vendor.say(words("one two three four"))
        vendor.on((command) => {
          if (command._tag !== "ClientGone") return
          vendor.say({ _tag: "Interrupted", cut: { itemId: "i", heardMillis: 500, generatedMillis: 1000 } })
          vendor.say({ _tag: "ResponseDone", responseId: "r" })
        })
        client.leave()
        yield* Fiber.join(client.served)
        assert.deepStrictEqual(yield* stored(threadId), [
          ["user", "Count."],
          ["assistant", "one two"]
        ])
        const [, answer] = yield* messages(threadId)
        assert.deepStrictEqual(answer?.metadata, { interrupted: true })
      })
  )
})

describe("stop", () => {
  story("tells of a transcript that does not come any more", (vendor, client) =>
    Effect.gen(function* () {
      vendor.say({ _tag: "UserItem", itemId: "u", before: null, transcribed: true })
      client.send({ _tag: "Stop" })
      yield* TestClock.adjust("3 seconds")
      assert.deepStrictEqual(yield* client.next("TranscriptFailed"), {
        _tag: "TranscriptFailed",
        itemId: "u",
        role: "user"
      })
      assert.strictEqual(yield* client.end, "ended")
    })
  )
})
