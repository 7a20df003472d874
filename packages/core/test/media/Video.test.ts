/** The rules of the video tool, each as a turn with a scripted model for videos. Specification part 4, "Video tool rules". */
import { callTool, callTools, fail, say, ScriptedVideo } from "@colloquy/testing"
import { InsufficientCredit, type MeteringPort, Threads, Turns } from "@colloquy/core"
import { type ChatRequest, firstPage, UsageLedger } from "@colloquy/core/adapters"
import { mediaIn, MediaStorage } from "@colloquy/core/media"
import { assert, describe } from "@effect/vitest"
import * as Effect from "effect/Effect"
import type * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import { TestClock } from "effect/testing"
import { callOnce, knownModel, toolResultsIn, turnWith, videoJobsIn, videoStory, wishes } from "../support/VideoRoom.ts"
import { documentsIn } from "../support/DocumentRoom.ts"
import { storedRun, tags } from "../support/Story.ts"

const storyWith = (
  title: string,
  script: ScriptedVideo.VideoScript,
  body: (scene: {
    readonly studio: ScriptedVideo.ScriptedVideo
    readonly asked: ReadonlyArray<ChatRequest>
  }) => Parameters<typeof videoStory>[2],
  options: Omit<Parameters<typeof videoStory>[1], "studio" | "asked"> = {}
) => {
  const studio = ScriptedVideo.make(script)
  const asked: Array<ChatRequest> = []
  videoStory(title, { steps: callOnce(), ...options, studio, asked }, body({ studio, asked }))
}

const refusalFor = (options: Schema.JsonObject) =>
  Effect.flip(Turns.use((turns) => turns.start({ content: "A video, please.", options })))

const resultIn = (asked: ReadonlyArray<ChatRequest>): Record<string, string> => {
  const [text = ""] = toolResultsIn(asked)
  return text.startsWith("{") ? JSON.parse(text) : { error: text }
}

const errorIn = (asked: ReadonlyArray<ChatRequest>): string => resultIn(asked)["error"] ?? ""

const chargesToday = UsageLedger.use((ledger) =>
  Effect.map(ledger.recent(firstPage), ({ days }) =>
    days.map(({ model, purpose, usage }) => [purpose, model, usage.costUsd] as const)
  )
)

const upstreamStates = /pending|in_progress|completed|failed|cancelled|expired/u

describe("enabling the tool", () => {
  storyWith(
    "makes generate_video available to the conversation model; it does not force a generation",
    {},
    ({ asked, studio }) =>
      Effect.gen(function* () {
        const { reply } = yield* turnWith()
        assert.strictEqual(reply.content, "I would rather not.")
        assert.deepStrictEqual(
          asked[0]?.tools.map(({ name }) => name),
          ["generate_video"]
        )
        assert.strictEqual(studio.orders.length, 0)
      }),
    { steps: [say("I would rather not.")] }
  )

  storyWith(
    "is for one turn: the settings are sent on every turn that needs it, and are no assistant configuration",
    {},
    ({ asked }) =>
      Effect.gen(function* () {
        const { turn } = yield* turnWith()
        yield* turnWith({ threadId: turn.threadId, options: {} })
        assert.deepStrictEqual(asked[1]?.tools, [])
      }),
    { steps: [say("One."), say("Two.")] }
  )

  for (const stream of [true, false]) {
    storyWith(
      `refuses invalid configurations before generation, identically for streaming and non-streaming turns (${stream})`,
      { models: [knownModel] },
      ({ studio }) =>
        Effect.gen(function* () {
          const config = { style: "noir", size: "1280x720", resolution: "720p", duration: 7, upscale_factor: 2 }
          const turns = yield* Turns
          const error = yield* Effect.flip(
            turns.start({ content: "x", stream, options: wishes(knownModel.name, config) })
          )
          if (error._tag !== "TurnRefused") throw error
          assert.strictEqual(error.reason, "invalid")
          assert.sameMembers(
            error.problems.map(({ path }) => path.join(".")),
            ["config.style", "config.size", "config.duration", "config.upscale_factor"]
          )
          assert.strictEqual(studio.orders.length, 0)
          const threads = yield* Threads.use((all) => all.list({ page: firstPage, includeMessages: false }))
          assert.strictEqual(threads.length, 0)
        }),
      { steps: [] }
    )
  }

  storyWith(
    "refuses a model that is not in the live catalogue, and a provider that makes no videos",
    {},
    () =>
      Effect.gen(function* () {
        assert.deepInclude(yield* refusalFor(wishes("acme/other")), { reason: "not_found" })
        const other = { video: { provider: "scripted", model: "acme/clip" } }
        assert.deepInclude(yield* refusalFor(other), { reason: "invalid" })
        assert.deepInclude(yield* refusalFor({ video: {} }), { reason: "invalid" })
      }),
    { steps: [] }
  )

  storyWith(
    "tells a catalogue that cannot be read from a model that is not in it",
    { listFails: "connection" },
    () =>
      Effect.gen(function* () {
        assert.deepInclude(yield* refusalFor(wishes()), { reason: "provider_failed" })
      }),
    { steps: [] }
  )
})

describe("a clip", () => {
  storyWith(
    "is stored, returned in generated_media and in the media_generated event, with media_type `video` and mime_type `video/mp4`",
    { looks: ["pending", "in_progress", { status: "completed", costUsd: 0.42 }] },
    ({ asked, studio }) =>
      Effect.gen(function* () {
        const { events, reply, turn } = yield* turnWith()
        assert.strictEqual(reply.content, "Done.")
        assert.strictEqual(studio.orders.length, 1)
        const [document] = yield* documentsIn(turn.threadId)
        if (document === undefined) throw new Error("There is no document.")
        const medium = {
          documentId: document.id,
          mediaType: "video" as const,
          mimeType: "video/mp4",
          filename: document.filename,
          size: ScriptedVideo.sampleClip.length
        }
        assert.deepStrictEqual(mediaIn(reply.supplements["video"]), [medium])
        const told = events.flatMap((event) => (event._tag === "PartTold" ? [[event.type, event.data]] : []))
        assert.deepStrictEqual(told, [["media_generated", medium]])
        const bytes = MediaStorage.use((storage) => Stream.mkUint8Array(storage.bytes(document)))
        assert.deepStrictEqual([...(yield* bytes)], [...ScriptedVideo.sampleClip])
        assert.deepInclude(resultIn(asked), { document_id: document.id, media_type: "video", mime_type: "video/mp4" })
        // The states of the job are no events of ours.
        for (const event of events) {
          assert.notMatch(event._tag === "PartTold" ? event.type : event._tag, upstreamStates)
        }
      })
  )

  storyWith(
    "is billed with the actual cost reported for the request; provider job ids and completed-job costs are kept in thread metadata",
    { looks: [{ status: "completed", costUsd: 0.42 }] },
    () =>
      Effect.gen(function* () {
        const { turn } = yield* turnWith()
        assert.deepStrictEqual(yield* chargesToday, [
          ["video", "acme/clip", 0.42],
          ["chat", "scripted-model", null]
        ])
        assert.deepStrictEqual(yield* videoJobsIn(turn.threadId), [
          { job_id: "job-1", run_id: turn.runId, model: "acme/clip", status: "completed", cost_usd: 0.42 }
        ])
      })
  )

  storyWith(
    "is billed never by an estimate: of which no cost is reported costs null",
    { models: [knownModel], looks: [{ status: "completed" }] },
    () =>
      Effect.gen(function* () {
        const options = wishes(knownModel.name, { duration: 10 })
        const { reply, turn } = yield* turnWith({ options })
        assert.deepStrictEqual((yield* chargesToday)[0], ["video", "acme/known", null])
        assert.isNull(reply.usage.costUsd)
        assert.deepInclude((yield* videoJobsIn(turn.threadId)) as ReadonlyArray<unknown>, {
          job_id: "job-1",
          run_id: turn.runId,
          model: "acme/known",
          status: "completed",
          cost_usd: null
        })
      })
  )

  storyWith(
    "has the options of video_config: explicit configuration is fixed, tool arguments can only fill options left out; what was dropped is told",
    { models: [knownModel] },
    ({ asked, studio }) =>
      Effect.gen(function* () {
        yield* turnWith({ options: wishes(knownModel.name, { duration: 5, provider: { order: ["acme"] } }) })
        assert.deepInclude(studio.orders[0], {
          prompt: "A boat at dawn",
          options: { resolution: "720p", duration: 5, provider: { order: ["acme"] } }
        })
        assert.include(resultIn(asked)["dropped"], "duration")
      }),
    { steps: callOnce({ duration: 10, resolution: "720p" }) }
  )

  storyWith(
    "is not ordered with arguments that the model does not support: every problem goes back to the conversation model",
    { models: [knownModel] },
    ({ asked, studio }) =>
      Effect.gen(function* () {
        yield* turnWith({ options: wishes(knownModel.name) })
        assert.strictEqual(studio.orders.length, 0)
        assert.match(errorIn(asked), /duration 7.*5, 10.*creativity/su)
        assert.deepStrictEqual(
          (yield* chargesToday).map(([purpose]) => purpose),
          ["chat"]
        )
      }),
    { steps: callOnce({ duration: 7, creativity: 1 }) }
  )

  storyWith(
    "of two calls at once are two orders, two jobs and two media",
    {},
    ({ studio }) =>
      Effect.gen(function* () {
        const { reply, turn } = yield* turnWith()
        assert.strictEqual(studio.orders.length, 2)
        assert.strictEqual(mediaIn(reply.supplements["video"]).length, 2)
        const jobs = (yield* videoJobsIn(turn.threadId)) as ReadonlyArray<{ readonly status: string }>
        assert.deepStrictEqual(
          jobs.map(({ status }) => status),
          ["completed", "completed"]
        )
        assert.deepStrictEqual((yield* chargesToday)[0], ["video", "acme/clip", 0.5])
      }),
    { steps: [callTools(["generate_video", { prompt: "a" }], ["generate_video", { prompt: "b" }]), say("Both.")] }
  )
})

describe("waiting", () => {
  storyWith(
    "(polling) is bounded to 30 minutes, with growing pauses; a polling timeout does not cancel the upstream job",
    { looks: ["in_progress"] },
    ({ asked, studio }) =>
      Effect.gen(function* () {
        const { reply, turn } = yield* turnWith()
        assert.strictEqual(reply.status, "COMPLETED")
        assert.isBelow(studio.looks(), 80)
        assert.isAbove(studio.looks(), 50)
        const result = resultIn(asked)
        assert.deepInclude(result, { status: "timed_out", job_id: "job-1" })
        assert.match(result["message"] ?? "", /may still be making it/u)
        assert.deepInclude((yield* videoJobsIn(turn.threadId)) as ReadonlyArray<unknown>, {
          job_id: "job-1",
          run_id: turn.runId,
          model: "acme/clip",
          status: "in_progress",
          cost_usd: null
        })
        assert.deepStrictEqual((yield* chargesToday)[0], ["video", "acme/clip", null])
      })
  )

  storyWith(
    "keeps the job id in the thread's metadata at once, and the pauses of Retry-After",
    {
      looks: [
        { fails: "rate_limited", retryAfterMillis: 120_000 },
        { status: "completed", costUsd: 1 }
      ]
    },
    ({ studio }) =>
      Effect.gen(function* () {
        const turn = yield* (yield* Turns).start({ content: "x", options: wishes(), stream: true })
        yield* TestClock.adjust("1 second")
        assert.deepStrictEqual(yield* videoJobsIn(turn.threadId), [
          { job_id: "job-1", run_id: turn.runId, model: "acme/clip", status: "pending", cost_usd: null }
        ])
        assert.strictEqual(studio.looks(), 0)
        yield* TestClock.adjust("4 seconds")
        assert.strictEqual(studio.looks(), 1)
        yield* TestClock.adjust("119 seconds")
        assert.strictEqual(studio.looks(), 1)
        yield* TestClock.adjust("1 second")
        assert.strictEqual(studio.looks(), 2)
        assert.strictEqual((yield* turn.reply).status, "COMPLETED")
      })
  )

  storyWith(
    "tolerates 404 just after submit, and faults of the provider",
    { looks: ["unknown", { fails: "overloaded" }, { fails: "connection" }, "unknown", { status: "completed" }] },
    ({ studio }) =>
      Effect.gen(function* () {
        const { reply } = yield* turnWith()
        assert.strictEqual(mediaIn(reply.supplements["video"]).length, 1)
        assert.strictEqual(studio.orders.length, 1)
      })
  )

  for (const [title, look, status, words] of [
    ["failed", { status: "failed", problem: "the prompt is not allowed" }, "failed", /could not make/u],
    ["cancelled", "cancelled", "cancelled", /cancelled/u],
    ["expired", "expired", "expired", /expired/u],
    ["not known any more", "unknown", "unknown", /does not know/u],
    ["not told about", { fails: "auth" }, "unseen", /no longer reports/u]
  ] as const) {
    storyWith(
      `ends with words that the model can use when the job is ${title}: only completed yields a clip`,
      { looks: [look] },
      ({ asked, studio }) =>
        Effect.gen(function* () {
          const { events, reply, turn } = yield* turnWith()
          assert.strictEqual(reply.status, "COMPLETED")
          const result = resultIn(asked)
          assert.strictEqual(result["status"], status)
          assert.match(result["message"] ?? "", words)
          assert.strictEqual(result["provider_message"], status === "failed" ? "the prompt is not allowed" : undefined)
          assert.strictEqual(studio.orders.length, 1)
          assert.strictEqual(studio.downloads(), 0)
          assert.deepStrictEqual(yield* documentsIn(turn.threadId), [])
          assert.notInclude(tags(events), "PartTold")
          // A job that ended without a cost costs nothing; of one that may go on nobody knows.
          const isOver = status === "failed" || status === "cancelled" || status === "expired"
          assert.deepStrictEqual(
            (yield* chargesToday).filter(([purpose]) => purpose === "video"),
            isOver ? [] : [["video", "acme/clip", null]]
          )
        })
    )
  }

  storyWith(
    "of a cancelled run stops, and does not claim to stop the job",
    { looks: ["in_progress"] },
    ({ studio }) =>
      Effect.gen(function* () {
        const turns = yield* Turns
        const turn = yield* turns.start({ content: "x", options: wishes(), stream: true })
        yield* TestClock.adjust("1 minute")
        const looks = studio.looks()
        yield* turns.cancel(turn.threadId, turn.runId)
        yield* TestClock.adjust("10 minutes")
        assert.strictEqual((yield* storedRun(turn)).status, "CANCELLED")
        assert.strictEqual(studio.looks(), looks)
        const [job] = (yield* videoJobsIn(turn.threadId)) as ReadonlyArray<unknown>
        assert.deepInclude(job, { status: "in_progress", cost_usd: null })
        assert.deepStrictEqual((yield* chargesToday)[0], ["video", "acme/clip", null])
      }),
    { steps: callOnce().slice(0, 1) }
  )

  storyWith(
    "does not begin for a run that is cancelled while the order is on its way; its job is written down nevertheless",
    { order: "hangs" },
    ({ studio }) =>
      Effect.gen(function* () {
        const turns = yield* Turns
        const turn = yield* turns.start({ content: "x", options: wishes(), stream: true })
        yield* TestClock.adjust("1 second")
        assert.strictEqual(studio.orders.length, 1)
        const [ordering] = (yield* videoJobsIn(turn.threadId)) as ReadonlyArray<unknown>
        assert.deepInclude(ordering, { job_id: null, run_id: turn.runId, status: "ordering", cost_usd: null })
        yield* turns.cancel(turn.threadId, turn.runId)
        yield* TestClock.adjust("1 second")
        assert.strictEqual((yield* storedRun(turn)).status, "CANCELLED")
        yield* studio.release
        yield* TestClock.adjust("1 second")
        const [job, ...others] = (yield* videoJobsIn(turn.threadId)) as ReadonlyArray<unknown>
        assert.deepInclude(job, { job_id: "job-1", status: "pending" })
        assert.deepStrictEqual(others, [])
        assert.strictEqual(studio.looks(), 0)
      }),
    { steps: callOnce().slice(0, 1) }
  )
})

describe("a failed turn", () => {
  const failing = [
    ["of the conversation model", [fail("rate_limited"), fail("rate_limited"), fail("rate_limited")]],
    ["in the next leg", [fail("overloaded"), fail("overloaded"), fail("overloaded")]]
  ] as const
  for (const [title, last] of failing) {
    const isLater = title === "in the next leg"
    storyWith(
      `must not be blindly resubmitted: after a clip, a failure ${title} is told as not retryable`,
      {},
      ({ studio }) =>
        Effect.gen(function* () {
          const lookUp = { name: "look_up", description: null, parameters: null }
          const first = yield* turnWith(isLater ? { tools: [lookUp] } : {})
          if (isLater) {
            const [call] = first.reply.toolCalls ?? []
            const again = yield* (yield* Turns).submitToolOutputs({
              threadId: first.turn.threadId,
              outputs: [{ toolCallId: call?.id ?? "", output: "found" }],
              stream: true
            })
            yield* TestClock.adjust("5 minutes")
            const fault = (yield* again.reply).fault
            assert.deepInclude(fault, { code: "overloaded", retryable: false })
          } else {
            const end = first.events.at(-1)
            if (end?._tag !== "RunFailed") throw new Error("The run did not fail.")
            assert.deepInclude(end, { code: "rate_limited", retryable: false })
            assert.match(end.error, /tools had been called.*Look at the thread before you send the message again/su)
          }
          assert.strictEqual((yield* documentsIn(first.turn.threadId)).length, 1)
          assert.strictEqual(studio.orders.length, 1)
        }),
      {
        steps: isLater
          ? [callTools(["generate_video", { prompt: "a boat" }], ["look_up", {}]), ...last]
          : [callTool("generate_video", { prompt: "a boat" }), ...last]
      }
    )
  }

  storyWith(
    "in which nothing was called may be sent again",
    {},
    () =>
      Effect.gen(function* () {
        const { reply } = yield* turnWith()
        assert.deepInclude(reply.fault, { code: "rate_limited", retryable: true })
      }),
    { steps: [fail("rate_limited"), fail("rate_limited"), fail("rate_limited")] }
  )
})

describe("an order", () => {
  for (const reason of ["timeout", "connection", "overloaded", "cut_off", "malformed", "unknown"] as const) {
    storyWith(
      `is submitted once, never again after an ambiguous failure (${reason}): the turn says so`,
      { order: { fails: reason } },
      ({ asked, studio }) =>
        Effect.gen(function* () {
          const { reply } = yield* turnWith()
          assert.strictEqual(reply.status, "COMPLETED")
          assert.strictEqual(studio.orders.length, 1)
          assert.match(errorIn(asked), /not known whether.*Do not order it again/su)
          assert.isNull(reply.usage.costUsd)
          assert.deepStrictEqual((yield* chargesToday)[0], ["video", "acme/clip", null])
        })
    )
  }

  for (const reason of ["auth", "quota", "invalid_request", "model_not_found", "rate_limited", "refused"] as const) {
    storyWith(
      `that the provider refuses (${reason}) is no video and no charge`,
      { order: { fails: reason } },
      ({ asked, studio }) =>
        Effect.gen(function* () {
          yield* turnWith()
          assert.strictEqual(studio.orders.length, 1)
          assert.match(errorIn(asked), /did not take the order/u)
          assert.deepStrictEqual(
            (yield* chargesToday).map(([purpose]) => purpose),
            ["chat"]
          )
        })
    )
  }

  const asked: Array<unknown> = []
  const metering = (mayBuy: boolean): MeteringPort => ({
    ensureCredit: (need) =>
      Effect.suspend(() => {
        asked.push(need)
        return mayBuy || need.purpose === "chat" ? Effect.void : Effect.fail(new InsufficientCredit())
      }),
    record: () => Effect.void
  })
  storyWith(
    "asks for credit first, with what is known of the price",
    { models: [knownModel] },
    () =>
      Effect.gen(function* () {
        asked.length = 0
        yield* turnWith({ options: wishes(knownModel.name, { duration: 10 }) })
        assert.deepInclude(asked, { purpose: "video", amountUsd: 0.8 })
      }),
    { metering: metering(true) }
  )

  storyWith(
    "without credit is not sent: a 402 mid-turn reaches the model as a tool result",
    {},
    ({ asked: requests, studio }) =>
      Effect.gen(function* () {
        const { reply } = yield* turnWith()
        assert.strictEqual(reply.status, "COMPLETED")
        assert.strictEqual(studio.orders.length, 0)
        assert.match(errorIn(requests), /not enough credit/u)
      }),
    { metering: metering(false) }
  )
})

describe("a hostile provider", () => {
  const html = new TextEncoder().encode("<!doctype html><html><body>no clip</body></html>".repeat(10))
  const png = Uint8Array.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a, ...Array.from({ length: 90 }, () => 1)])
  const webm = Uint8Array.from([0x1a, 0x45, 0xdf, 0xa3, ...Array.from({ length: 90 }, () => 1)])
  const endless = Stream.concat(
    Stream.make(ScriptedVideo.sampleClip),
    Stream.forever(Stream.make(new Uint8Array(65_536)))
  )
  for (const [title, clips, words] of [
    ["sends a clip that never ends", [endless], /more than 1000000 bytes/u],
    ["sends HTML", [Stream.make(html)], /no video/u],
    ["sends a picture", [Stream.make(png)], /no video/u],
    ["sends a video that is no MP4", [Stream.make(webm)], /no video/u],
    ["sends nothing", [Stream.empty], /empty/u],
    [
      "breaks off every time",
      [Stream.concat(Stream.make(ScriptedVideo.sampleClip), Stream.fail("cut_off" as const))],
      /ended before/u
    ],
    ["falls silent", [Stream.concat(Stream.make(ScriptedVideo.sampleClip), Stream.never)], /did not answer in time/u],
    ["refuses to give it", [Stream.fail("unknown" as const)], /did not explain/u]
  ] as const) {
    storyWith(
      `that ${title}: nothing is stored, the cost is charged, the model is told`,
      { clips },
      ({ asked, studio }) =>
        Effect.gen(function* () {
          const { reply, turn } = yield* turnWith({}, "1 hour")
          assert.strictEqual(reply.status, "COMPLETED")
          const error = errorIn(asked)
          assert.match(error, words)
          assert.match(error, /made and may have been charged/u)
          assert.deepStrictEqual(yield* documentsIn(turn.threadId), [])
          assert.deepStrictEqual((yield* chargesToday)[0], ["video", "acme/clip", 0.25])
          assert.strictEqual(studio.orders.length, 1)
        }),
      { maxClip: 1_000_000 }
    )
  }

  storyWith(
    "that the provider does not have any more is told as such, and not as an unknown model",
    { clips: [Stream.fail("model_not_found" as const)] },
    ({ asked, studio }) =>
      Effect.gen(function* () {
        yield* turnWith()
        const error = errorIn(asked)
        assert.match(error, /no file for this video/u)
        assert.notMatch(error, /does not know this model/u)
        assert.strictEqual(studio.downloads(), 1)
      })
  )

  storyWith(
    "that is too large is not fetched again after the turn",
    { clips: [Stream.concat(Stream.make(ScriptedVideo.sampleClip), Stream.make(new Uint8Array(1_000_000)))] },
    ({ studio }) =>
      Effect.gen(function* () {
        yield* turnWith()
        assert.strictEqual(studio.downloads(), 1)
        yield* TestClock.adjust("1 hour")
        assert.strictEqual(studio.downloads(), 1)
      }),
    { maxClip: 1000, settings: { reattach: true } }
  )

  for (const [reason, rows] of [
    ["connection", [{ job_id: null, status: "unknown" }]],
    ["invalid_request", []]
  ] as const) {
    storyWith(
      `whose order failed (${reason}) leaves a row only if it may have arrived`,
      { order: { fails: reason } },
      () =>
        Effect.gen(function* () {
          const { turn } = yield* turnWith()
          const jobs = (yield* videoJobsIn(turn.threadId)) as ReadonlyArray<object>
          assert.strictEqual(jobs.length, rows.length)
          for (const [index, row] of rows.entries()) assert.deepInclude(jobs[index], row)
        })
    )
  }

  storyWith(
    "that breaks off once: the clip is read again, and never ordered again",
    {
      clips: [
        Stream.concat(Stream.make(new Uint8Array(4)), Stream.fail("cut_off" as const)),
        Stream.make(ScriptedVideo.sampleClip)
      ]
    },
    ({ studio }) =>
      Effect.gen(function* () {
        const { reply } = yield* turnWith()
        assert.strictEqual(mediaIn(reply.supplements["video"]).length, 1)
        assert.strictEqual(studio.downloads(), 2)
        assert.strictEqual(studio.orders.length, 1)
      })
  )
})
