/** Expressions without a time, and those with rare ones. */
import { assert, describe, it } from "@effect/vitest"
import * as Result from "effect/Result"
import { processorTime } from "../../../../test/processorTime.ts"
import { KeptTimes, nextTimes, readTimes } from "../../src/schedules/ScheduleTimes.ts"

const now = new Date("2026-11-23T00:00:00Z")
const timezone = "America/New_York"

it.each(["59 23 31 2 *", "0 0 30 2 *", "0 0 31 4,6,9,11 *", "0 0 30-31 2 *"])(
  "%s has no day, and is refused without a search",
  (cron) => {
    readTimes({ cron: "0 0 1 1 *", timezone }, now)
    const used = processorTime(() => {
      for (let each = 0; each < 10; each++) {
        const read = readTimes({ cron, timezone }, now)
        assert.isTrue(Result.isFailure(read) && read.failure.some(({ field }) => field === "cron"))
      }
    })
    // A search takes a hundred milliseconds each time.
    assert.isBelow(used, 300)
  }
)

it.each([
  ["0 0 29 2 *", "2028-02-29"],
  ["0 0 31 2 1", "2027-02-01"],
  ["0 0 30 2,4 *", "2027-04-30"],
  ["0 0 31 * *", "2026-11-30"]
])("%s has its next time", (cron, day) => {
  const [time] = nextTimes(Result.getOrThrow(readTimes({ cron, timezone: "UTC" }, now)), now)
  assert.isDefined(time)
  if (cron !== "0 0 31 * *") assert.strictEqual(time.toISOString().slice(0, 10), day)
})

it.each([
  ["*/30 * * * *", ["00:30", "01:00", "01:30", "02:00"]],
  ["0 */2 * * *", ["01:00", "03:00", "05:00", "07:00"]],
  ["30 2 * * *", ["00:30"]]
])("%s goes through the hour that comes twice once for each time of day, or all the time", (cron, times) => {
  const night = new Date("2026-10-25T00:00:00Z")
  const found = nextTimes(Result.getOrThrow(readTimes({ cron, timezone: "Europe/Berlin" }, night)), night)
  assert.deepStrictEqual(
    found.slice(0, times.length).map((time) => time.toISOString().slice(11, 16)),
    times
  )
})

describe("times that are kept", () => {
  const schedule = { cron: "*/7 1-3 * * *", timezone: "Europe/Berlin" }
  const searched = (at: Date) => nextTimes(Result.getOrThrow(readTimes(schedule, at)), at)

  it("are those that a search finds, before, at and after each of them, also when the clock goes back", () => {
    const kept = new KeptTimes()
    // The clocks of Berlin are set back on this day.
    let at = new Date("2026-10-24T21:59:00Z")
    for (let each = 0; each < 40; each++) {
      const [first = at] = searched(at)
      for (const moment of [at, new Date(at.getTime() + 1), new Date(first.getTime() - 1), first, at])
        assert.deepStrictEqual(kept.find(schedule, moment), searched(moment))
      at = first
    }
  })

  it("are searched once, and again when the first has come", () => {
    const kept = new KeptTimes()
    const at = new Date("2026-11-23T00:00:00Z")
    const times = kept.find(schedule, at)
    assert.strictEqual(kept.find({ ...schedule }, new Date(at.getTime() + 1)), times)
    assert.notStrictEqual(kept.find({ ...schedule, timezone: "UTC" }, at), times)
    const [first] = times
    assert.isDefined(first)
    assert.notStrictEqual(kept.find(schedule, first), times)
  })

  it("are none for what cannot be read", () => {
    assert.deepStrictEqual(new KeptTimes().find({ cron: "0 0 31 2 *", timezone: "UTC" }, now), [])
  })
})
