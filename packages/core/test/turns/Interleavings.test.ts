import { InMemory } from "@colloquy/adapters/in-memory"
import { callTool, say, ScriptedModel } from "@colloquy/testing"
import { type HostedTool, Principal, type TurnReply, type TurnRequest, Turns } from "@colloquy/core"
import { type StartError } from "@colloquy/core/adapters"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Schema from "effect/Schema"
import { TestClock } from "effect/testing"
import { openKernel, quiet, weather } from "../support/Story.ts"
import { slowStores } from "../support/WatchedStores.ts"

/** Lets everybody else make so many steps. */
const steps = (count: number) => Effect.forEach(Array.from({ length: count }), () => Effect.yieldNow, { discard: true })

const slow: HostedTool = {
  definition: { name: "slow", description: null, parameters: null },
  run: () => Effect.as(steps(15), "done")
}

const shape = (state: InMemory.State) => ({
  assistants: state.assistants.size,
  threads: state.threads.size,
  runs: [...state.runs.values()].map(({ run }) => run.status),
  active: [...state.threads.values()].filter(({ inProgress, queued }) => inProgress !== null || queued.length > 0)
    .length
})

describe("a caller who goes away", () => {
  const nothing = { assistants: 0, threads: 0, runs: [], active: 0 }
  const answered = { assistants: 1, threads: 1, runs: ["COMPLETED"], active: 0 }

  it.effect("at any moment of a start leaves nothing at all, or a turn that is answered", () =>
    Effect.gen(function* () {
      const seen = new Set<string>()
      for (let moment = 0; moment < 40; moment++) {
        const state = InMemory.makeState()
        const kernel = yield* openKernel([], { stores: slowStores(state), model: { otherwise: say("Hello.") } })
        const caller = yield* Effect.forkChild(kernel.run(Turns.use((turns) => turns.send({ content: "Hi" }))))
        yield* steps(moment)
        yield* Fiber.interrupt(caller)
        yield* kernel.run(Turns.use((turns) => turns.drain))
        const left = shape(state)
        if (left.runs.length === 0) assert.deepStrictEqual(left, nothing, `moment ${moment}`)
        else assert.deepStrictEqual(left, answered, `moment ${moment}`)
        seen.add(JSON.stringify(left))
        yield* kernel.close
      }
      assert.strictEqual(seen.size, 2)
    }).pipe(Principal.provide("ada"), Effect.provide(quiet))
  )

  it.effect("at any moment of a start on his thread leaves no trace, or a turn that is answered", () =>
    Effect.gen(function* () {
      const seen = new Set<string>()
      for (let moment = 0; moment < 40; moment++) {
        const state = InMemory.makeState()
        const kernel = yield* openKernel([], { stores: slowStores(state), model: { otherwise: say("Hello.") } })
        const { threadId } = yield* kernel.run(
          Turns.use((turns) => turns.send({ content: "note", sendToModel: false }))
        )
        const send = Turns.use((turns) => turns.send({ content: "Hi", threadId }))
        const caller = yield* Effect.forkChild(kernel.run(send))
        yield* steps(moment)
        yield* Fiber.interrupt(caller)
        yield* kernel.run(Turns.use((turns) => turns.drain))
        const { active, runs } = shape(state)
        assert.include([1, 2], runs.length)
        assert.deepStrictEqual([new Set(runs), active], [new Set(["COMPLETED"]), 0], `moment ${moment}`)
        seen.add(JSON.stringify(runs))
        yield* kernel.close
      }
      assert.strictEqual(seen.size, 2)
    }).pipe(Principal.provide("ada"), Effect.provide(quiet))
  )

  it.effect("at any moment of a submission leaves the run waiting, or answered", () =>
    Effect.gen(function* () {
      const seen = new Set<string>()
      for (let moment = 0; moment < 40; moment++) {
        const state = InMemory.makeState()
        const model = { otherwise: say("Sunny.") }
        const kernel = yield* openKernel([callTool("weather", {}, "a")], { stores: slowStores(state), model })
        const asked = yield* kernel.run(Turns.use((turns) => turns.send({ content: "?", tools: [weather] })))
        const request = { threadId: asked.threadId, outputs: [{ toolCallId: "a", output: "sun" }] }
        const caller = yield* Effect.forkChild(kernel.run(Turns.use((turns) => turns.submitToolOutputs(request))))
        yield* steps(moment)
        yield* Fiber.interrupt(caller)
        yield* kernel.run(Turns.use((turns) => turns.drain))
        const left = shape(state)
        assert.include(["REQUIRES_ACTION", "COMPLETED"], left.runs[0], `moment ${moment}`)
        assert.strictEqual(left.active, 0)
        seen.add(JSON.stringify(left))
        yield* kernel.close
      }
      assert.strictEqual(seen.size, 2)
    }).pipe(Principal.provide("ada"), Effect.provide(quiet))
  )

  it.effect("by cancelling at any moment of a run leaves it settled, and the thread free", () =>
    Effect.gen(function* () {
      const seen = new Set<string>()
      for (let moment = 0; moment < 60; moment++) {
        const state = InMemory.makeState()
        const model = { otherwise: say("a", "b") }
        const kernel = yield* openKernel([callTool("slow")], { stores: slowStores(state), hosted: [slow], model })
        const turn = yield* kernel.run(Turns.use((turns) => turns.start({ content: "Hi" })))
        yield* steps(moment)
        const run = yield* kernel.run(Turns.use((turns) => turns.cancel(turn.threadId, turn.runId)))
        const reply = yield* kernel.run(turn.reply)
        assert.strictEqual(reply.status, run.status, `moment ${moment}`)
        assert.deepStrictEqual(shape(state).active, 0)
        seen.add(run.status)
        yield* kernel.close
      }
      assert.deepStrictEqual(seen, new Set(["CANCELLED", "COMPLETED"]))
    }).pipe(Principal.provide("ada"), Effect.provide(quiet))
  )
})

interface Caller {
  readonly caller: Fiber.Fiber<TurnReply, StartError>
  readonly key: string
  readonly leaves: boolean
}

const Messages = Schema.Array(
  Schema.Struct({
    busy: Schema.Literals(["enqueue", "reject", "interrupt"]),
    key: Schema.Literals(["none", "none", "k", "l"]),
    body: Schema.Literals(["a", "b"]),
    after: Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 12 })),
    leaves: Schema.Boolean,
    here: Schema.Boolean
  })
).check(Schema.isMaxLength(8))

describe("property: messages that come at once, from two processes, under every policy", () => {
  it.effect.prop(
    "give each run one end and each key one run, in a thread that stays in order and free",
    [Messages],
    ([messages]) =>
      Effect.gen(function* () {
        const state = InMemory.makeState()
        const options = { stores: slowStores(state), model: { otherwise: say("a", "b") } }
        const here = yield* openKernel([], options)
        const there = yield* openKernel([], options)
        const first = yield* here.run(Turns.use((turns) => turns.send({ content: "first", sendToModel: false })))
        const callers: Array<Caller> = []
        for (const { after, body, busy, here: isHere, key, leaves } of messages) {
          const kernel = isHere ? here : there
          const request: TurnRequest = {
            content: body,
            threadId: first.threadId,
            busy,
            ...(key === "none" ? {} : { idempotency: { key, fingerprint: body } })
          }
          const caller = yield* Effect.forkChild(kernel.run(Turns.use((turns) => turns.send(request))))
          yield* steps(after)
          if (leaves) yield* Effect.forkChild(Fiber.interrupt(caller))
          callers.push({ caller, key, leaves })
        }
        yield* steps(200)
        yield* TestClock.adjust("40 seconds")
        const exits = yield* Effect.forEach(callers, ({ caller }) => Fiber.await(caller))
        yield* here.run(Turns.use((turns) => turns.drain))
        yield* there.run(Turns.use((turns) => turns.drain))

        assert.strictEqual(shape(state).active, 0)
        for (const { log, run } of state.runs.values()) {
          assert.include(["COMPLETED", "CANCELLED"], run.status)
          const ends = log.filter(({ _tag }) => /^(RunEnded|RunCancelled|RunFailed|MessageSaved)$/u.test(_tag))
          assert.strictEqual(ends.length, 1)
        }
        for (const [index, exit] of exits.entries()) {
          if (Exit.isSuccess(exit)) assert.isTrue(state.runs.has(exit.value.runId))
          else if (callers[index]?.leaves !== true) {
            assert.match(JSON.stringify(exit.cause), /ThreadBusy|IdempotencyConflict/u)
          }
        }
        for (const key of ["k", "l"]) {
          const runs = exits.flatMap((exit, index) =>
            Exit.isSuccess(exit) && callers[index]?.key === key ? [exit.value.runId] : []
          )
          assert.isAtMost(new Set(runs).size, 1)
        }
        const thread = [...state.threads.values()][0]
        assert.deepStrictEqual(
          thread?.messages.map(({ sequence }) => sequence),
          thread?.messages.map((_, n) => n + 1)
        )
        yield* here.close
        yield* there.close
      }).pipe(Principal.provide("ada"), Effect.scoped, Effect.provide(quiet)),
    { timeout: 60_000, arbitrary: { runs: 150 } }
  )
})

describe("many stateless repeats of one request", () => {
  for (const bodies of [["a"], ["a", "b", "c"]]) {
    it.effect(`over slow stores are one run, and leave one thread and one assistant (${bodies.length} bodies)`, () =>
      Effect.gen(function* () {
        for (let gap = 0; gap < 12; gap++) {
          const state = InMemory.makeState()
          const kernel = yield* openKernel([say("Once.")], { stores: slowStores(state) })
          const callers = []
          for (let n = 0; n < 6; n++) {
            const body = bodies[n % bodies.length] ?? ""
            const request = { content: body, idempotency: { key: "k", fingerprint: body } }
            callers.push(yield* Effect.forkChild(Effect.exit(kernel.run(Turns.use((turns) => turns.send(request))))))
            yield* steps(gap)
          }
          const exits = yield* Effect.forEach(callers, (caller) => Fiber.join(caller))
          assert.isTrue(exits.some(Exit.isSuccess))
          const model = yield* kernel.run(ScriptedModel)
          assert.strictEqual(model.requests.length, 1)
          assert.deepInclude(shape(state), { assistants: 1, threads: 1, runs: ["COMPLETED"] }, `gap ${gap}`)
          yield* kernel.close
        }
      }).pipe(Principal.provide("ada"), Effect.provide(quiet))
    )
  }
})
