/** `npm run live` against the fake vendors of the adapters' tests: what it asks, what it calls held, its limit, and its page. */
import { OpenAiRealtime } from "@colloquy/adapters/realtime"
import { noUsage } from "@colloquy/core/adapters"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Redacted from "effect/Redacted"
import * as FakeVendor from "../packages/adapters/test/providers/FakeVendor.ts"
import type { RefusedWith, Said } from "@colloquy/testing/contracts"
import { model, usage } from "../packages/adapters/test/providers/Scenarios.ts"
import type { Vendor } from "../packages/adapters/test/providers/Vendor.ts"
import { vendors } from "../packages/adapters/test/providers/Vendors.ts"
import { startVendor } from "../packages/adapters/test/realtime/FakeVendor.ts"
import { conversationChecks, unknownModel } from "../scripts/live/Conversations.ts"
import { jobChecks } from "../scripts/live/Jobs.ts"
import { DoesNotHold, type LiveCheck, type LiveResult, pageText, runChecks } from "../scripts/live/LiveCheck.ts"
import { liveVendors } from "../scripts/live/LiveVendors.ts"
import { sessionChecks } from "../scripts/live/Sessions.ts"

const key = "sk-live-secret"

const stop: Said = { finish: "stop", usage }
const answers: ReadonlyArray<ReadonlyArray<Said>> = [
  [{ text: "Lighthouse" }, stop],
  [{ text: "one " }, { text: "two" }, stop],
  [
    { call: { slot: 0, id: "call_1", name: "get_time" } },
    { arguments: { slot: 0, text: '{"zone":"UTC"}' } },
    { finish: "tool_calls", usage }
  ],
  [{ text: "It is 12:34." }, stop],
  [{ text: "Once upon" }, { finish: "length", usage }]
]

const playing = (vendor: Vendor, says: ReadonlyArray<ReadonlyArray<Said>>) =>
  Effect.map(FakeVendor.make, (fake) => {
    const refusal = (reason: RefusedWith) => {
      const { body, status } = vendor.refuse(reason)
      return FakeVendor.json(body, status)
    }
    fake.script(vendor.path, ...says.map((each) => FakeVendor.sse(vendor.render(each))), refusal("auth"))
    fake.script(vendor.path.replace(model, unknownModel), refusal("model_not_found"))
    return { fake, provider: vendor.provider({ server: fake.baseUrl, apiKey: Redacted.make(key) }) }
  })

describe("npm run live", () => {
  for (const name of ["OpenAI Chat", "OpenAI Responses", "Anthropic", "Gemini"]) {
    const vendor = vendors.find((each) => each.name === name)
    it.live(`holds for a vendor that keeps its wire: ${name}`, () =>
      Effect.scoped(
        Effect.gen(function* () {
          if (vendor === undefined) throw new Error(`Names: ${vendors.map((each) => each.name).join(", ")}`)
          const { fake, provider } = yield* playing(vendor, answers)
          const { results } = yield* runChecks(conversationChecks(provider, model), 1)
          assert.deepStrictEqual(
            results.filter(({ outcome }) => outcome !== "held"),
            []
          )
          assert.lengthOf(results, 7)
          assert.strictEqual(fake.unused(), 0)
        })
      )
    )
  }

  it.live("says what does not hold, and writes a page without the key", () =>
    Effect.scoped(
      Effect.gen(function* () {
        const [vendor] = vendors
        if (vendor === undefined) throw new Error("There are vendors.")
        const { provider } = yield* playing(vendor, [
          [{ text: "A candle | no usage" }, { finish: "stop", usage: null }]
        ])
        const run = yield* runChecks(conversationChecks(provider, model).slice(0, 2), 1)
        assert.deepStrictEqual(
          run.results.map(({ note, outcome }) => [outcome, note]),
          [
            ["failed", "The provider reported no usage."],
            ["failed", "The request failed: auth."]
          ]
        )
        const page = pageText({ vendor: "fake", at: new Date(0), models: { chat: model }, limitUsd: 1, run })
        assert.include(page, "0 held, 2 failed, 0 skipped.")
        assert.include(page, "| conversation | answers in words, with an end and usage | failed |")
        assert.notInclude(page, key)
      })
    )
  )

  it.effect("skips what might exceed the limit, counting a cost that is not reported as the most it may be", () =>
    Effect.gen(function* () {
      const check = (name: string, atMostUsd: number, costUsd: number | null): LiveCheck => ({
        group: "job",
        name,
        atMostUsd,
        timeout: "1 second",
        run: Effect.succeed({ ...noUsage, costUsd })
      })
      const dear: LiveCheck = { ...check("fails", 0.3, null), run: Effect.fail(new DoesNotHold({ reason: "No." })) }
      const { countedUsd, results } = yield* runChecks(
        [
          check("reported", 0.5, 0.1),
          dear,
          check("unknown", 0.3, null),
          check("too much", 0.4, null),
          check("free", 0, 0)
        ],
        1
      )
      assert.deepStrictEqual(
        results.map(({ name, outcome }) => [name, outcome]),
        [
          ["reported", "held"],
          ["fails", "failed"],
          ["unknown", "held"],
          ["too much", "skipped"],
          ["free", "held"]
        ]
      )
      assert.closeTo(countedUsd, 0.7, 1e-9)
    })
  )

  it.live("holds a session with a vendor that speaks", () =>
    Effect.scoped(
      Effect.gen(function* () {
        const vendor = yield* Effect.acquireRelease(
          Effect.promise(() => startVendor()),
          (started) => Effect.promise(started.close)
        )
        const play = async (answersText: boolean) => {
          const there = await vendor.connection()
          there.say({ type: "session.created", session: {} })
          await there.message(({ type }) => type === "session.update")
          there.say({ type: "session.updated", session: {} })
          if (!answersText) return
          await there.message(({ type }) => type === "response.create")
          there.say({ type: "response.created", response: { id: "r1" } })
          there.say({ type: "response.output_audio.delta", response_id: "r1", item_id: "i1", delta: "AAAA" })
          there.say({ type: "response.output_audio_transcript.done", item_id: "i1", transcript: "Lighthouse." })
          there.say({
            type: "response.done",
            response: { id: "r1", status: "completed", usage: { input_tokens: 9, output_tokens: 3 } }
          })
        }
        const voice = OpenAiRealtime.model({ url: vendor.url, apiKey: Redacted.make(key), models: { "voice-1": {} } })
        const script = play(false).then(() => play(true))
        const { results } = yield* runChecks(sessionChecks(voice, "voice-1"), 1)
        yield* Effect.promise(() => script)
        assert.deepStrictEqual(
          results.map(({ note, outcome }) => [outcome, note]),
          [
            ["held", ""],
            ["held", ""]
          ]
        )
      })
    )
  )

  const fakeJobChecks = (fake: FakeVendor.FakeVendor) => {
    const { openai } = liveVendors
    if (openai === undefined) throw new Error("OpenAI is a vendor of live checks.")
    const { embedding = "", image = "" } = openai.models
    return jobChecks(openai.provider({ apiKey: Redacted.make(key), baseUrl: `${fake.baseUrl}/v1` }), {
      embedding,
      image
    })
  }
  const outcomes = ({ results }: { readonly results: ReadonlyArray<LiveResult> }) =>
    results.map(({ name, note, outcome }) => [name, outcome, note])
  const vector = (numbers: ReadonlyArray<number>) => Buffer.from(Float32Array.from(numbers).buffer).toString("base64")
  const sound: FakeVendor.Reply = { headers: { "content-type": "audio/mpeg" }, body: [new Uint8Array(4000)] }

  it.live("holds the jobs of a vendor that keeps its wire: vectors, speech there and back, a picture", () =>
    Effect.scoped(
      Effect.gen(function* () {
        const fake = yield* FakeVendor.make
        const data = [0, 1].map((index) => ({ index, embedding: vector([index, 1, 0]) }))
        fake.script("/v1/embeddings", FakeVendor.json({ data, usage: { prompt_tokens: 9, total_tokens: 9 } }))
        fake.script("/v1/audio/speech", sound)
        fake.script("/v1/audio/transcriptions", FakeVendor.json({ text: "The lighthouse is open today." }))
        const picture = Buffer.alloc(1000).toString("base64")
        fake.script("/v1/images/generations", FakeVendor.json({ data: [{ b64_json: picture }] }))
        assert.deepStrictEqual(outcomes(yield* runChecks(fakeJobChecks(fake), 1)), [
          ["gives a vector for each text", "held", ""],
          ["hears what it has spoken", "held", ""],
          ["draws a picture", "held", ""]
        ])
        assert.strictEqual(fake.unused(), 0)
      })
    )
  )

  it.live("says which job does not hold", () =>
    Effect.scoped(
      Effect.gen(function* () {
        const fake = yield* FakeVendor.make
        const data = [
          { index: 0, embedding: vector([1, 0]) },
          { index: 1, embedding: vector([1, 0, 0]) }
        ]
        fake.script("/v1/embeddings", FakeVendor.json({ data, usage: { prompt_tokens: 9, total_tokens: 9 } }))
        fake.script("/v1/audio/speech", sound)
        fake.script("/v1/audio/transcriptions", FakeVendor.json({ text: "The candle is blue." }))
        fake.script("/v1/images/generations", FakeVendor.json({ data: [{ b64_json: "AAAA" }] }))
        const notes = outcomes(yield* runChecks(fakeJobChecks(fake), 1)).map(([, outcome, note]) => [outcome, note])
        assert.deepStrictEqual(notes.slice(1), [
          ["failed", "The words that were spoken were not heard."],
          ["failed", "There is no picture."]
        ])
        assert.strictEqual(notes[0]?.[0], "failed")
      })
    )
  )
})
