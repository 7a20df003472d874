/** The line that the terminal shows for each leg of a run. */
import { InMemory } from "@colloquy/adapters/in-memory"
import { Principal, Turns } from "@colloquy/core"
import { RunStore } from "@colloquy/core/adapters"
import { fail, say, TestKernel } from "@colloquy/testing"
import { assert, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Logger from "effect/Logger"
import { type EndedLeg, runLine, watchLegs } from "../src/RunLines.ts"

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
    "waits for you demo/demo-1 · 1.8 s · 412 tokens · $0.00"
  )
})

it("has a colour only for a terminal", () => {
  assert.include(runLine(leg, true), "\u001B[32mcompleted\u001B[0m demo/demo-1")
})

/** A terminal that shows legs and the kernel's warnings. */
const terminal = () => {
  const lines: Array<string> = []
  const warned = Promise.withResolvers<void>()
  const usual = Logger.make(({ message }) => {
    lines.push(`log: ${[message].flat().join(" ")}`)
    warned.resolve()
  })
  const { logger, store } = watchLegs((each) => lines.push(runLine({ ...each, millis: 7 }, false)), usual)
  return { lines, store, log: Logger.layer([logger]), warned: Effect.promise(() => warned.promise) }
}

it.effect("is the only one of a run that failed: what the kernel warns of stands in it", () =>
  Effect.gen(function* () {
    const { lines, log, store } = terminal()
    const stores = Layer.provideMerge(store, InMemory.layer)
    const kernel = TestKernel.layer([say("Hello."), fail("auth")], { stores })
    yield* Effect.gen(function* () {
      const turns = yield* Turns
      yield* turns.send({ content: "1" })
      yield* turns.send({ content: "2" })
    }).pipe(Effect.provide(Layer.provideMerge(kernel, log)))
    const [completed, failed, ...others] = lines
    assert.strictEqual(completed, "completed scripted/scripted-model · 7 ms · 11 tokens")
    assert.match(
      failed ?? "",
      /^failed scripted\/scripted-model · 7 ms · 0 tokens · \$0.00 · The provider [^·]*auth\)$/
    )
    assert.deepStrictEqual(others, [])
  }).pipe(Principal.provide("ada"))
)

it.effect("a failed run whose end another process stores is warned of as ever", () =>
  Effect.gen(function* () {
    const { lines, log, store, warned } = terminal()
    const losing = Layer.effect(
      RunStore,
      Effect.map(RunStore, (own) => ({ ...own, settle: () => Effect.succeed(false) }))
    )
    const stores = Layer.provideMerge(store, Layer.provideMerge(losing, InMemory.layer))
    yield* Effect.gen(function* () {
      yield* (yield* Turns).start({ content: "1" })
      yield* warned
    }).pipe(Effect.provide(Layer.provideMerge(TestKernel.layer([fail("auth")], { stores }), log)))
    assert.lengthOf(lines, 1)
    assert.match(lines[0] ?? "", /^log: Run \S+ failed\. /)
  }).pipe(Principal.provide("ada"))
)
