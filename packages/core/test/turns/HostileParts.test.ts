/**
 * Parts of a turn that break every promise of `TurnPart`: they throw, hang, say what cannot be written, spend what is no number. The turn has
 * one end all the same, the thread takes the next message, and nothing that is stored is broken.
 */
import { InMemory } from "@colloquy/adapters/in-memory"
import { callTool, cite, Crash, draw, hang, say, type ScriptStep, TestKernel } from "@colloquy/testing"
import {
  Assistants,
  type LiveTurn,
  Principal,
  type ThreadId,
  Threads,
  type TurnEvent,
  type TurnPart,
  TurnParts,
  Turns
} from "@colloquy/core"
import { chargeOfCost, FollowUpStore, noUsage, UsageLedger, firstPage } from "@colloquy/core/adapters"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import { TestClock } from "effect/testing"
import { openKernel, quiet, storedLog, terminalEvent, transcript } from "../support/Story.ts"
import { watchedStores } from "../support/WatchedStores.ts"

type Part = TurnPart<null>

/** Joins the turns that ask for it. */
const bad = (steps: Partial<Part>): Part => ({
  name: "bad",
  plan: Schema.Null,
  decide: ({ options }) => Effect.succeed(options === undefined ? null : { plan: null }),
  ...steps
})

const oops = (): never => {
  throw new Error("a fault of the part")
}

const stuck = Effect.uninterruptible(Effect.never)

/** As a host without types could write it. */
const forged = <A>(value: unknown): A => value as A

const circular: Record<string, unknown> = {}
circular["self"] = circular

const material = { name: "m", intro: "i", items: [{ text: "t", rank: 0 }], place: "turn", weight: 1 } as const

const withPart = <A, E>(
  part: Part,
  steps: ReadonlyArray<ScriptStep>,
  body: Effect.Effect<A, E, TestKernel.Services | Principal>,
  options: TestKernel.TestKernelOptions = {}
) => {
  const kernel = TurnParts.part(part).pipe(Layer.provideMerge(TestKernel.layer(steps, options)), Layer.fresh)
  return body.pipe(Principal.provide("ada"), Effect.provide([kernel, quiet]))
}

/** Time goes on while the turn does. */
const patiently = <A, E, R>(effect: Effect.Effect<A, E, R>) =>
  Effect.gen(function* () {
    const fiber = yield* Effect.forkChild(effect, { startImmediately: true })
    for (let minute = 0; minute < 60 && fiber.pollUnsafe() === undefined; minute++) yield* TestClock.adjust("1 minute")
    assert.isDefined(fiber.pollUnsafe(), "the turn has not ended within an hour")
    return yield* Fiber.join(fiber)
  })

const turnWith = (options: { readonly bad?: Schema.Json }, threadId?: ThreadId) =>
  patiently(
    Effect.gen(function* () {
      const request = { content: "Hi", stream: true, options, ...(threadId === undefined ? {} : { threadId }) }
      const turn = yield* Turns.use((turns) => turns.start(request))
      return { turn, events: yield* Stream.runCollect(turn.events) }
    })
  )

const explained = (turn: { readonly threadId: ThreadId; readonly runId: TurnEvent["sequence"] | string }) =>
  Turns.use((turns) => turns.report(turn.threadId, forged(turn.runId)))

/** One turn with the bad part, and one after it in the same thread without. */
const survives = (
  title: string,
  part: Part,
  expected: {
    readonly end?: TurnEvent["_tag"]
    readonly code?: string
    readonly note?: string
    readonly steps?: ReadonlyArray<ScriptStep>
    readonly settings?: TestKernel.TestKernelOptions["settings"]
  } = {}
) =>
  it.effect(title, () =>
    withPart(
      part,
      expected.steps ?? (expected.end === "RunFailed" ? [say("Again")] : [say("Answer"), say("Again")]),
      Effect.gen(function* () {
        const { events, turn } = yield* turnWith({ bad: {} })
        const end = terminalEvent(events)
        assert.strictEqual(end._tag, expected.end ?? "RunEnded")
        if (end._tag === "RunFailed") assert.strictEqual(end.code, expected.code)
        if (end._tag === "RunEnded") assert.strictEqual(end.content, "Answer")
        if (expected.note !== undefined) {
          const { explanation } = yield* explained(turn)
          assert.deepInclude(explanation?.leftOut ?? [], {
            part: "bad",
            messages: 0,
            tokens: 0,
            because: expected.note
          })
        }
        assert.doesNotThrow(() => JSON.stringify(events))
        const log = yield* storedLog(turn)
        assert.strictEqual(log.at(-1)?._tag, end._tag)
        const next = yield* turnWith({}, turn.threadId)
        assert.strictEqual(terminalEvent(next.events)._tag, "RunEnded")
        const said = yield* transcript(turn.threadId)
        assert.deepStrictEqual(said.at(-1), ["assistant", "COMPLETED", "Again"])
        assert.strictEqual(said.length, 4)
        const { days } = yield* UsageLedger.use((ledger) => ledger.recent(firstPage))
        for (const { usage } of days) {
          const { inputTokens, outputTokens, costUsd } = usage
          assert.isTrue(Number.isSafeInteger(inputTokens) && inputTokens >= 0)
          assert.isTrue(Number.isSafeInteger(outputTokens) && outputTokens >= 0)
          assert.isTrue(costUsd === null || (Number.isFinite(costUsd) && costUsd >= 0))
        }
      }),
      expected.settings === undefined ? {} : { settings: expected.settings }
    )
  )

describe("a part that recalls", () => {
  const failed = "the search for it failed"
  survives("and throws, leaves a note", bad({ recall: oops }), { note: failed })
  survives("and hangs, leaves a note", bad({ recall: () => stuck }), { note: "it was not found in time" })
  survives("a weight that is no number", bad({ recall: () => Effect.succeed([{ ...material, weight: Number.NaN }]) }), {
    note: failed
  })
  survives("what is no material", bad({ recall: () => Effect.succeed(forged([{ text: 7n }])) }), { note: failed })
  survives(
    "and tells what is no JSON, has a fault of its own",
    bad({ recall: (_, turn) => Effect.sync(() => (turn.tell({ type: "x", data: forged(7n) }), [])) }),
    { note: failed }
  )
  survives(
    "and keeps something that contains itself, has a fault of its own",
    bad({ recall: (_, turn) => Effect.sync(() => (turn.keep(forged(circular)), [])) }),
    { note: failed }
  )
  survives(
    "and spends what is no number, or less than nothing, is billed within bounds",
    bad({
      recall: (_, turn) =>
        Effect.sync(() => {
          const price = { provider: "p".repeat(5000), model: "m", purpose: "x" }
          turn.spend(chargeOfCost(price, Number.NaN))
          turn.spend(chargeOfCost(price, -3))
          turn.spend({ ...price, usage: { ...noUsage, inputTokens: Number.NaN, outputTokens: -5, costUsd: Infinity } })
          return []
        })
    })
  )
})

describe("a part that speaks", () => {
  survives("and throws, leaves the answer as it is", bad({ speak: oops }))
  survives("and dies", bad({ speak: () => Effect.die("a fault") }))
  survives("and never ends, is left behind after its time", bad({ speak: () => stuck }))
  survives("and reads no words", bad({ speak: () => Effect.void }))
})

describe("a part that answers", () => {
  const decide: Part["decide"] = ({ options }) =>
    Effect.succeed(options === undefined ? null : { plan: null, answers: { provider: "house", model: "h" } })
  survives("and throws, fails the run", bad({ decide, answer: oops }), { end: "RunFailed", code: "internal_error" })
  survives("and hangs, fails the run", bad({ decide, answer: () => stuck }), { end: "RunFailed", code: "timeout" })
  survives("without the step for it, fails the run", bad({ decide }), { end: "RunFailed", code: "invalid_request" })
  const answers = (answer: unknown) => bad({ decide, answer: () => Effect.succeed(forged(answer)) })
  const internal = { end: "RunFailed", code: "internal_error" } as const
  survives("with nothing", answers(undefined), internal)
  survives("with what is no text", answers({ content: null }), internal)
  for (const error of [new Error("a fault"), "a text", null])
    survives(`with the error ${String(error)}`, bad({ decide, answer: () => forged(Effect.fail(error)) }), internal)
  survives("by a model without a name", answers({ content: "Answer", model: 7 }), internal)
  survives(
    "with a usage that is no number",
    bad({
      decide,
      answer: () => Effect.succeed({ content: "Answer", model: "h", usage: { ...noUsage, inputTokens: Number.NaN } })
    }),
    { steps: [say("Again")] }
  )
})

describe("a part that leaves follow-ups", () => {
  const open = FollowUpStore.use((store) => store.find("bad", "k"))
  const lost = (title: string, followUps: NonNullable<Part["followUps"]>) => {
    survives(title, bad({ followUps }))
    it.effect(`${title}: a message that is only saved is stored`, () =>
      withPart(
        bad({ followUps }),
        [],
        Effect.gen(function* () {
          const saved = { content: "Note", sendToModel: false, options: { bad: {} } }
          const turn = yield* Turns.use((turns) => turns.start(saved))
          assert.deepStrictEqual(yield* transcript(turn.threadId), [["user", "COMPLETED", "Note"]])
          assert.strictEqual((yield* open)._tag, "None")
        })
      )
    )
  }
  const order = { kind: "bad", key: "k", payload: {} }
  lost("and throws", oops)
  lost("and orders what is no JSON", () => [{ ...order, payload: forged(7n) }])
  lost("and orders it at no time", () => [{ ...order, delayMillis: Number.NaN }])
  lost("and orders it at a time that no store keeps", () => [{ ...order, delayMillis: 1e300 }])
  lost("and gives no list", () => forged<ReadonlyArray<never>>(null))

  it.effect("and fails in the process that recovers: the run is ended, and its thread is free", () =>
    Effect.gen(function* () {
      const state = InMemory.makeState()
      const settings = { sweep: "10 hours" } as const
      const doom = yield* Crash.make({ at: 4, hears: true })
      const dying = yield* openKernel([], {
        stores: doom.stores(InMemory.layerFrom(state)),
        settings,
        model: { otherwise: [say("Half"), hang] }
      })
      yield* dying.run(TurnParts.use((parts) => parts.register(bad({}))))
      const request = { content: "Hi", stream: true, options: { bad: {} } }
      const turn = yield* dying.run(Turns.use((turns) => turns.start(request)))
      yield* TestClock.adjust("1 second")
      yield* doom.died
      for (const part of [bad({ followUps: oops }), bad({ tools: oops })]) {
        const kernel = yield* openKernel([], { stores: InMemory.layerFrom(state), model: { otherwise: say("Well") } })
        yield* kernel.run(TurnParts.use((parts) => parts.register(part)))
        yield* TestClock.adjust("1 minute")
        const run = yield* kernel.run(Turns.use((turns) => turns.report(turn.threadId, turn.runId)))
        assert.strictEqual(run.run.status, "FAILED")
        const reply = yield* kernel.run(Turns.use((turns) => turns.send({ content: "?", threadId: turn.threadId })))
        assert.strictEqual(reply.content, "Well")
        yield* kernel.close
      }
      yield* doom.bury
    }).pipe(Principal.provide("ada"), Effect.scoped)
  )
})

describe("a part that takes what a model makes", () => {
  const steps = [[say("Answer"), cite("https://a.example"), draw("image/png", new Uint8Array(3))], say("Again")]
  survives("and throws", bad({ receive: oops }), { steps })
  survives("and dies", bad({ receive: () => Effect.die("a fault") }), { steps })
  survives("and hangs", bad({ receive: () => stuck }), { steps })
})

describe("a part that renders", () => {
  const decide: Part["decide"] = ({ options }) =>
    Effect.succeed(options === undefined ? null : { plan: null, supplement: { a: 1 } })
  survives("and throws, in this turn and every later one", bad({ decide, render: oops }))
  survives("and dies", bad({ decide, render: () => Effect.die("a fault") }))
  survives("and hangs, in this turn and every later one", bad({ decide, render: () => stuck }))
})

describe("a part that decides", () => {
  const nothingStored = (title: string, part: Part) =>
    it.effect(`${title}: nothing is stored`, () =>
      withPart(
        part,
        [say("Answer"), say("Again")],
        Effect.gen(function* () {
          const first = yield* turnWith({})
          const refused = yield* Effect.exit(turnWith({ bad: {} }, first.turn.threadId))
          assert.isTrue(Exit.isFailure(refused))
          const unknown = yield* Effect.exit(turnWith({ bad: {} }))
          assert.isTrue(Exit.isFailure(unknown))
          assert.strictEqual((yield* Threads.use((threads) => threads.get(first.turn.threadId))).messages.length, 2)
          const next = yield* turnWith({}, first.turn.threadId)
          assert.strictEqual(terminalEvent(next.events)._tag, "RunEnded")
        })
      )
    )
  const asked =
    (plan: () => unknown): Part["decide"] =>
    ({ options }) =>
      options === undefined ? Effect.succeed(null) : Effect.sync(() => forged({ plan: plan() }))
  nothingStored("and throws", bad({ decide: ({ options }) => (options === undefined ? Effect.succeed(null) : oops()) }))
  nothingStored("and dies", bad({ decide: asked(oops) }))
  nothingStored("on a plan that its schema does not know", bad({ decide: asked(() => ({ other: 1 })) }))
  nothingStored(
    "and keeps what is no JSON",
    bad({
      decide: ({ options }) => Effect.succeed(options === undefined ? null : { plan: null, supplement: forged(7n) })
    })
  )
  nothingStored(
    "and keeps what is no JSON of what it heard",
    bad({ listen: () => Effect.succeed({ content: "heard", supplement: forged(circular) }) })
  )
  const twin = { definition: { name: "twin", description: null, parameters: null }, run: () => Effect.succeed("") }
  nothingStored("on two tools of one name", bad({ tools: () => [twin, twin] }))
  survives(
    "and has nothing to do, without saying so",
    bad({ decide: () => forged(Effect.void), listen: () => forged(Effect.void) })
  )
  nothingStored("on tools that throw", bad({ tools: oops }))
  survives(
    "and counts no number of tokens",
    bad({ decide: () => Effect.succeed({ plan: null, supplement: {}, tokens: Number.NaN }) })
  )
})

describe("a part that is too slow before anything is stored", () => {
  const asked = (turn: { readonly options: unknown }) => turn.options !== undefined
  const hangsWhenAsked = (turn: { readonly options: unknown }) => (asked(turn) ? stuck : Effect.succeed(null))
  const refuseSlowly: Partial<Part> = { refuse: (turn) => Effect.asVoid(hangsWhenAsked(turn)) }
  const settings = { decideTimeout: "20 seconds", listenTimeout: "40 seconds" } as const

  /** What the time of the refusal, counted from the request, and its error are. */
  const refusal = (part: Part, options: TestKernel.TestKernelOptions = { settings }, stream = false) =>
    withPart(
      part,
      [say("Again")],
      Effect.gen(function* () {
        const started = yield* Effect.forkChild(
          Effect.flip(Turns.use((turns) => turns.start({ content: "Hi", stream, options: { bad: {} } }))),
          { startImmediately: true }
        )
        let seconds = 0
        while (started.pollUnsafe() === undefined && seconds < 600) {
          seconds += 1
          yield* TestClock.adjust("1 second")
        }
        const error = yield* Fiber.join(started)
        assert.deepStrictEqual((yield* Assistants.use((assistants) => assistants.list(firstPage))).length, 0)
        assert.strictEqual((yield* turnWith({})).events.at(-1)?._tag, "RunEnded")
        return { error, seconds }
      }),
      options
    )
  const refused = (
    title: string,
    part: Part,
    seconds: number,
    sentence: string,
    options?: TestKernel.TestKernelOptions
  ) =>
    it.effect(`${title}: the refusal names it, and nothing is stored`, () =>
      Effect.gen(function* () {
        const refusedAt = yield* refusal(part, options)
        assert.strictEqual(refusedAt.seconds, seconds)
        assert.deepInclude(refusedAt.error, { _tag: "TurnRefused", part: "bad", reason: "part_timeout" })
        assert.strictEqual(refusedAt.error.message, `${sentence} Nothing was stored; send the message again.`)
      })
    )

  refused("refuse", bad(refuseSlowly), 20, 'The part "bad" did not check the message within 20s.')
  refused("decide", bad({ decide: hangsWhenAsked }), 20, 'The part "bad" did not decide within 20s.')
  refused("listen", bad({ listen: () => stuck }), 40, 'The part "bad" did not turn the message into text within 40s.')
  refused(
    "decide, with the defaults",
    bad({ decide: hangsWhenAsked }),
    30,
    'The part "bad" did not decide within 30s.',
    {}
  )
  refused(
    "decide, in a time of its own",
    bad({ decide: hangsWhenAsked, limits: { decide: "3 minutes" } }),
    180,
    'The part "bad" did not decide within 3m.'
  )
  refused(
    "listen, in a time of its own",
    bad({ listen: () => stuck, limits: { listen: "5 seconds" } }),
    5,
    'The part "bad" did not turn the message into text within 5s.'
  )

  it.effect("listen, after the stream has begun: the stream ends, and nothing is stored", () =>
    withPart(
      bad({
        listen: (_, { spend, tell }) => {
          tell({ type: "hearing", data: {} })
          spend(chargeOfCost({ provider: "p", model: "m", purpose: "stt" }, 0.5))
          return stuck
        }
      }),
      [],
      Effect.gen(function* () {
        const { events } = yield* turnWith({ bad: {} })
        assert.deepStrictEqual(
          events.map(({ _tag }) => _tag),
          ["PartTold", "Charged", "RunFailed"]
        )
        assert.deepInclude(terminalEvent(events), { code: "part_timeout", retryable: true })
        assert.strictEqual((yield* Assistants.use((assistants) => assistants.list(firstPage))).length, 0)
        const { days } = yield* UsageLedger.use((ledger) => ledger.recent(firstPage))
        assert.strictEqual(days[0]?.usage.costUsd, 0.5)
      })
    )
  )
})

/** A part that keeps the turn that it recalls for, to use it later. */
const keepingTurn = () => {
  let turn: LiveTurn | null = null
  const part = bad({
    recall: (_, live) =>
      Effect.sync(() => {
        turn = live
        return []
      })
  })
  return { part, kept: () => turn }
}

it.effect("a part that tells and spends after the end is not heard", () => {
  const { kept, part } = keepingTurn()
  return withPart(
    part,
    [say("Answer")],
    Effect.gen(function* () {
      const { turn } = yield* turnWith({ bad: {} })
      const before = yield* storedLog(turn)
      const late = forged<LiveTurn>(kept())
      late.tell({ type: "late", data: {} })
      late.keep({ late: true })
      late.spend(chargeOfCost({ provider: "p", model: "m", purpose: "x" }, 1))
      yield* TestClock.adjust("1 minute")
      assert.deepStrictEqual(yield* storedLog(turn), before)
      const answer = (yield* Threads.use((threads) => threads.get(turn.threadId))).messages.at(-1)
      assert.isNull(answer?.supplements ?? null)
    })
  )
})

it.effect("a part that tells and spends while the end is stored is not heard, and the end is the end", () => {
  const { kept, part } = keepingTurn()
  const stores = watchedStores(InMemory.makeState(), (operation, call) =>
    operation === "runs.settle"
      ? Effect.suspend(() => {
          const late = forged<LiveTurn>(kept())
          late.tell({ type: "late", data: {} })
          late.keep({ late: true })
          late.spend(chargeOfCost({ provider: "p", model: "m", purpose: "x" }, 1))
          return call
        })
      : call
  )
  return withPart(
    part,
    [say("Answer")],
    Effect.gen(function* () {
      const { events, turn } = yield* turnWith({ bad: {} })
      assert.strictEqual(terminalEvent(events)._tag, "RunEnded")
      assert.strictEqual(new Set(events.map(({ sequence }) => sequence)).size, events.length)
      assert.notInclude(
        events.map(({ _tag }) => _tag),
        "PartTold"
      )
      const { days } = yield* UsageLedger.use((ledger) => ledger.recent(firstPage))
      assert.notInclude(
        days.map(({ purpose }) => purpose),
        "x"
      )
      assert.deepStrictEqual((yield* storedLog(turn)).at(-1), events.at(-1))
    }),
    { stores }
  )
})

it.effect("a part whose tools throw at the second leg is off, and the run goes on", () => {
  let asked = 0
  const tools = () => (asked++ === 0 ? [] : oops())
  const client = { name: "look", description: null, parameters: null }
  return withPart(
    bad({ tools }),
    [callTool("look", {}, "c1"), say("Answer")],
    Effect.gen(function* () {
      const request = { content: "Hi", tools: [client], options: { bad: {} } }
      const turn = yield* Turns.use((turns) => turns.start(request))
      assert.strictEqual((yield* turn.reply).status, "REQUIRES_ACTION")
      const outputs = [{ toolCallId: "c1", output: "seen" }]
      const next = yield* Turns.use((turns) => turns.submitToolOutputs({ threadId: turn.threadId, outputs }))
      assert.strictEqual((yield* next.reply).content, "Answer")
    })
  )
})
