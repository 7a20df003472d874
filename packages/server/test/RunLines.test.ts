/** The line that the terminal shows for each leg of a run. */
import { assert, it } from "@effect/vitest"
import { type EndedLeg, runLine } from "../src/RunLines.ts"

const leg: EndedLeg = {
  status: "COMPLETED",
  provider: "demo",
  model: "demo-1",
  millis: 1804,
  tokens: 412,
  costUsd: 0.0021,
  reason: null
}

it("has state, model, time, tokens and cost on one line, and the reason of a failure", () => {
  assert.strictEqual(runLine(leg, false), "completed demo/demo-1 · 1.8 s · 412 tokens · $0.0021")
  assert.strictEqual(
    runLine({ ...leg, status: "FAILED", millis: 12, costUsd: null, reason: "The provider\nis gone." }, false),
    "failed demo/demo-1 · 12 ms · 412 tokens · The provider is gone."
  )
  assert.strictEqual(
    runLine({ ...leg, status: "REQUIRES_ACTION", costUsd: 0 }, false),
    "requires action demo/demo-1 · 1.8 s · 412 tokens · $0.00"
  )
})

it("has a colour only for a terminal", () => {
  assert.include(runLine(leg, true), "\u001B[32mcompleted\u001B[0m demo/demo-1")
})
