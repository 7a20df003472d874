/** The state machine of a video job, as a table and as what holds for every job. */
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { nextStep, type Observation } from "../../src/media/VideoJobStep.ts"
import { defaultVideoSettings, waitLimits } from "../../src/media/VideoSettings.ts"

const limits = waitLimits(defaultVideoSettings)
const minutes = (count: number) => count * 60_000

const seen = (
  status: "pending" | "in_progress" | "completed" | "failed" | "cancelled" | "expired",
  retryAfterMillis: number | null = null
): Observation => ({ _tag: "Seen", job: { status, retryAfterMillis } })
const unknown: Observation = { _tag: "Unknown" }
const unseen = (isRetryable: boolean, retryAfterMillis?: number): Observation => ({
  _tag: "Unseen",
  isRetryable,
  retryAfterMillis
})

const wait = (millis: number) => ({ _tag: "Wait", millis })
const end = (name: string) => ({ _tag: "End", end: name })

const table: ReadonlyArray<readonly [title: string, observation: Observation, age: number, step: unknown]> = [
  ["a job just ordered is looked at after the first pause", seen("pending"), 0, wait(5000)],
  ["a clock that goes back asks nobody without a pause", seen("pending"), -minutes(10), wait(5000)],
  ["pauses grow with the age", seen("in_progress"), 40_000, wait(15_000)],
  ["up to the longest", seen("in_progress"), minutes(10), wait(30_000)],
  ["the last pause ends at the limit", seen("in_progress"), minutes(30) - 1000, wait(1000)],
  ["at the limit it is over", seen("in_progress"), minutes(30), end("timed_out")],
  ["only `completed` yields a clip", seen("completed"), minutes(31), { _tag: "Fetch" }],
  ["failed", seen("failed"), 0, end("failed")],
  ["cancelled", seen("cancelled"), 0, end("cancelled")],
  ["expired", seen("expired"), 0, end("expired")],
  ["the provider's word beats a short pause", seen("pending", 60_000), 0, wait(60_000)],
  ["and a long one", seen("in_progress", 2000), minutes(10), wait(2000)],
  ["a word behind the limit leaves nothing to wait for", seen("pending", minutes(31)), 0, end("timed_out")],
  ["nobody is asked without a pause", seen("pending", 0), 0, wait(500)],
  ["a young job may be unknown", unknown, 119_999, wait(30_000)],
  ["an older one may not", unknown, minutes(2), end("unknown")],
  ["a fault passes", unseen(true), 0, wait(5000)],
  ["with the provider's pause", unseen(true, 7000), 0, wait(7000)],
  ["a refusal does not", unseen(false), 0, end("unseen")],
  ["faults do not go on behind the limit", unseen(true), minutes(30), end("timed_out")]
]

describe("a video job", () => {
  for (const [title, observation, age, step] of table) {
    it(`next: ${title}`, () => assert.deepStrictEqual(nextStep(observation, age, limits) as unknown, step))
  }

  it("a host may wait for less than 30 minutes, never for more", () => {
    assert.strictEqual(waitLimits(Object.assign({}, defaultVideoSettings, { pollLimit: "2 hours" })).limit, minutes(30))
    assert.strictEqual(waitLimits(Object.assign({}, defaultVideoSettings, { pollLimit: "1 minute" })).limit, minutes(1))
  })

  const Sights = Schema.Literals(["pending", "in_progress", "fault", "unknown"])
  type Look = { readonly observation: typeof Sights.Type; readonly asked: number | null }

  const observationFrom = ({ asked, observation }: Look): Observation => {
    if (observation === "fault") return unseen(true, asked ?? undefined)
    return observation === "unknown" ? unknown : seen(observation, asked)
  }

  /** Goes through the looks, again and again, until the job has ended. Without assertions: there are thousands of turns in each run. */
  const waited = (looks: ReadonlyArray<Look>) => {
    const observations = looks.map(observationFrom)
    let age = 0
    let shortest = Number.POSITIVE_INFINITY
    for (let turns = 0; ; turns++) {
      const step = nextStep(observations[turns % observations.length] ?? unknown, age, limits)
      if (step._tag !== "Wait" || turns === 4000) return { age, end: step._tag, shortest, turns }
      age += step.millis
      shortest = Math.min(shortest, step.millis)
    }
  }

  it.effect.prop(
    "ends within 30 minutes, whatever is seen",
    [
      Schema.Array(Schema.Struct({ observation: Sights, asked: Schema.NullOr(Schema.Int) })).check(
        Schema.isMinLength(1)
      )
    ],
    ([looks]) =>
      Effect.sync(() => {
        const { age, end: last, shortest, turns } = waited(looks)
        assert.strictEqual(last, "End")
        assert.isAbove(shortest, 0)
        assert.isAtMost(age, minutes(30))
        assert.isBelow(turns, 4000)
      })
  )
})
