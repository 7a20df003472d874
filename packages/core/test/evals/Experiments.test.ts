/** Experiments in virtual time: attempts are answered, scored and compared, stop when they should, and leave no thread behind. */
import { InMemory } from "@colloquy/adapters/in-memory"
import {
  Assistants,
  defaultTurnSettings,
  type HostedTool,
  HostedTools,
  Inbox,
  InsufficientCredit,
  Kernel,
  Metering,
  type MeteringPort,
  Principal,
  StoreUnavailable,
  Threads,
  type TurnPart,
  TurnParts,
  TurnSettings,
  Turns
} from "@colloquy/core"
import { noUsage } from "@colloquy/core/adapters"
import { Evals, EvalStore, ExperimentRefused, type NewCase, type NewExperiment } from "@colloquy/core/evals"
import {
  callTool,
  fail,
  hang,
  say,
  ScriptedModel,
  type ScriptedOptions,
  type ScriptStep,
  uses
} from "@colloquy/testing"
import { assert, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import * as TestClock from "effect/testing/TestClock"
import { passSeconds } from "../support/PassTime.ts"

interface World {
  readonly steps?: ReadonlyArray<ScriptStep>
  readonly otherwise?: NonNullable<ScriptedOptions["otherwise"]>
  readonly hosted?: ReadonlyArray<HostedTool>
  readonly parts?: ReadonlyArray<Layer.Layer<never, never, TurnParts>>
}

const inWorld = <A, E>(
  { hosted = [], otherwise, parts = [], steps = [] }: World,
  story: Effect.Effect<A, E, Evals | Kernel.Kernel | ScriptedModel | Principal>,
  state = InMemory.makeState(),
  stores = InMemory.layerFrom(state)
) =>
  story.pipe(
    Principal.provide("ada"),
    Effect.provide(
      Evals.layer({ mostAttempts: 100 }).pipe(
        Layer.provideMerge(Layer.mergeAll(HostedTools.tools(hosted), ...parts)),
        Layer.provideMerge(Kernel.layer),
        Layer.provideMerge(ScriptedModel.layer(steps, otherwise === undefined ? {} : { otherwise })),
        Layer.provide(stores),
        Layer.provideMerge(TestClock.layer()),
        Layer.fresh
      )
    )
  )

const pass = passSeconds(60)

const make = Effect.fnUntraced(function* (cases: ReadonlyArray<Partial<NewCase>>, asked: Partial<NewExperiment> = {}) {
  const assistant = yield* (yield* Assistants).create({ name: "A", systemPrompt: "Be right." })
  const { createExperiment, importCases } = yield* Evals
  const given = cases.map((each) => ({ question: "Capital of France?", assistantId: assistant.id, ...each }))
  const caseIds = yield* importCases(given)
  const { experiment } = yield* createExperiment({ variants: [{ name: "now" }], caseIds, ...asked })
  return { assistant, caseIds, id: experiment.id }
})

const look = (id: Parameters<typeof Evals.Service.getExperiment>[0]) =>
  Effect.gen(function* () {
    const { getExperiment, listResults } = yield* Evals
    return { state: yield* getExperiment(id), results: (yield* listResults({ experimentId: id, limit: 100 })).results }
  })

const nothingIsLeft = Effect.gen(function* () {
  const page = { skip: 0, limit: 100 }
  assert.deepStrictEqual(yield* (yield* Threads).list({ page, includeMessages: false }), [])
  assert.deepStrictEqual((yield* (yield* Inbox).list({ limit: 100 })).runs, [])
})

const paris = { expectations: [{ kind: "contains" as const, text: "Paris" }] }

it.live(
  "two variants answer each case with its conversation, are scored, summarized and compared, and no thread is left",
  () => {
    const state = InMemory.makeState()
    return inWorld(
      { steps: [say("Paris."), say("Rome."), say("It is Paris."), say("Rome?")] },
      Effect.gen(function* () {
        const messages = [
          { role: "user" as const, content: "Hi" },
          { role: "assistant" as const, content: null, toolCalls: [{ id: "1", name: "look", arguments: "{}" }] },
          { role: "tool" as const, content: "42", toolCallId: "1" },
          { role: "assistant" as const, content: "Hello" }
        ]
        const variants = [
          { name: "right" },
          { name: "wrong", instructions: "Be wrong.", modelOptions: { temperature: 1 } }
        ]
        const { assistant, id } = yield* make([paris, { ...paris, messages, name: "Second", tags: ["t"] }], {
          variants,
          concurrency: 1,
          expectations: [{ kind: "tokens_under", tokens: 1e9 }]
        })
        yield* pass
        const { results, state: end } = yield* look(id)
        assert.deepInclude(end, { status: "completed", done: 4, reason: null })
        assert.deepStrictEqual(
          results.map(({ caseName, content, number, passed, variant }) => [number, variant, caseName, content, passed]),
          [
            [0, "right", "Capital of France?", "Paris.", true],
            [1, "wrong", "Capital of France?", "Rome.", false],
            [2, "right", "Second", "It is Paris.", true],
            [3, "wrong", "Second", "Rome?", false]
          ]
        )
        assert.deepInclude(results[2], {
          tags: ["t"],
          error: null,
          assistantVersion: assistant.version,
          judgesCostUsd: 0
        })
        assert.deepStrictEqual(
          results[2]?.scores.map(({ scorer }) => scorer),
          ["contains", "tokens_under"]
        )
        assert.notStrictEqual(results[0]?.promptHash, results[1]?.promptHash)
        assert.isString(results[0]?.promptHash)
        const { requests } = yield* ScriptedModel
        assert.deepStrictEqual(
          requests.map(({ messages: read, system }) => [system, read.map(({ role }) => role).join(" ")]),
          [
            ["Be right.", "user"],
            ["Be wrong.", "user"],
            ["Be right.", "user assistant tool assistant user"],
            ["Be wrong.", "user assistant tool assistant user"]
          ]
        )
        const { compareVariants, summarizeExperiment } = yield* Evals
        assert.deepStrictEqual(
          (yield* summarizeExperiment(id)).map(({ passed, variant }) => [variant, passed]),
          [
            ["right", 2],
            ["wrong", 0]
          ]
        )
        const comparison = yield* compareVariants(id, { before: "right", after: "wrong" })
        assert.deepStrictEqual([comparison.worse.length, comparison.better.length], [2, 0])
        const missing = yield* Effect.flip(compareVariants(id, { before: "right", after: "none" }))
        assert.strictEqual(missing._tag, "VariantNotFound")
        yield* nothingIsLeft
        assert.strictEqual(state.threads.size, 0)
      }),
      state
    )
  }
)

it.live("tools answer from the record, and a tool of the server runs only in a live experiment", () => {
  let ran = 0
  const hosted: HostedTool = {
    definition: { name: "look", description: "", parameters: { type: "object" } },
    needsApproval: true,
    run: () => Effect.sync(() => `live ${++ran}`)
  }
  const call = callTool("look", { a: 1, b: 2 })
  const steps = [call, say("A."), callTool("look", {}), callTool("look", {}), say("B.")]
  return inWorld(
    { steps, hosted: [hosted] },
    Effect.gen(function* () {
      const tools = [{ name: "look", arguments: '{"b":2,"a":1}', output: "recorded" }]
      const { id } = yield* make([{ tools }], { expectations: [{ kind: "calls", tool: "look", arguments: { a: 1 } }] })
      yield* pass
      const first = (yield* look(id)).results[0]
      assert.deepInclude(first, { content: "A.", passed: true, error: null })
      assert.deepStrictEqual(
        first?.toolCalls.map(({ result }) => result),
        ["recorded"]
      )
      const { id: second } = yield* make([{ tools }], { concurrency: 1 })
      yield* pass
      const results = (yield* look(second)).results[0]?.toolCalls.map(({ result }) => result)
      assert.deepStrictEqual(results, ["recorded", "Error: the record has no result of this call."])
      assert.strictEqual(ran, 0)
    })
  )
})

it.live("an experiment that is cancelled ends the turns under way, and one that is deleted too", () => {
  const state = InMemory.makeState()
  return inWorld(
    { otherwise: hang },
    Effect.gen(function* () {
      const { cancelExperiment, getExperiment, removeExperiment } = yield* Evals
      const { id } = yield* make([paris, paris, paris])
      const other = yield* make([paris])
      yield* pass
      assert.isAbove(state.threads.size, 0)
      yield* nothingIsLeft
      assert.deepInclude(yield* cancelExperiment(id), { status: "cancelled", done: 0 })
      yield* removeExperiment(other.id)
      yield* pass
      assert.deepInclude(yield* cancelExperiment(id), { status: "cancelled", done: 0 })
      assert.strictEqual((yield* Effect.flip(getExperiment(other.id)))._tag, "ExperimentNotFound")
      assert.strictEqual(state.threads.size, 0)
      assert.isTrue([...state.runs.values()].every(({ run }) => run.endedAt !== null))
    }),
    state
  )
})

it.live("a fault that passes is tried again, one that stays is the result, and so is a case that was deleted", () =>
  inWorld(
    { steps: [fail("rate_limited"), say("Paris.")], otherwise: fail("invalid_request") },
    Effect.gen(function* () {
      const { removeCase } = yield* Evals
      const { caseIds, id } = yield* make([paris, paris, paris], { concurrency: 1 })
      yield* removeCase(caseIds[2]!)
      yield* pass
      const { results, state } = yield* look(id)
      assert.deepInclude(state, { status: "completed", done: 3 })
      assert.deepStrictEqual(
        results.map(({ error, passed }) => [passed, error]),
        [
          [true, null],
          [false, null],
          [false, "The case was deleted."]
        ]
      )
    })
  )
)

it.live("an answer whose judge failed is scored again, and not asked for and paid again", () => {
  const answer: ScriptStep = [say("Paris."), uses({ inputTokens: 1, outputTokens: 1, costUsd: 1 })]
  const state = InMemory.makeState()
  let failures = 8
  const isForJudge = ({ messages }: Parameters<Extract<World["otherwise"], Function>>[0]) =>
    JSON.stringify(messages).includes("Is it right?")
  return inWorld(
    {
      otherwise: (request) => {
        if (!isForJudge(request)) return answer
        return failures-- > 0 ? fail("rate_limited") : say('{"Yes": 0.9, "No": 0.1}')
      }
    },
    Effect.gen(function* () {
      const { id } = yield* make([{ expectations: [{ kind: "judge", question: "Is it right?" }] }])
      yield* pass
      const { results, state: end } = yield* look(id)
      assert.deepInclude(results[0], { passed: true, content: "Paris.", costUsd: 1 })
      assert.deepInclude(end, { status: "completed", done: 1 })
      const { requests } = yield* ScriptedModel
      assert.lengthOf(
        requests.filter((request) => !isForJudge(request)),
        1
      )
      assert.isBelow(failures, 0)
      assert.strictEqual(state.threads.size, 0)
    }),
    state
  )
})

it.live(
  "an attempt that nobody may pay to judge leaves no thread, also when its experiment has ended meanwhile",
  () => {
    const state = InMemory.makeState()
    let purposes = 0
    const metering: MeteringPort = {
      ensureCredit: ({ purpose }) =>
        Effect.suspend(() => {
          if (purpose !== "judge") return Effect.void
          purposes++
          for (const row of state.experiments.values()) row.state = { ...row.state, status: "stopped" }
          return Effect.fail(new InsufficientCredit({}))
        }),
      record: () => Effect.void
    }
    return inWorld(
      { steps: [say("Paris.")] },
      Effect.gen(function* () {
        yield* make([{ expectations: [{ kind: "judge", question: "Is it right?" }] }])
        yield* pass
        assert.deepStrictEqual([purposes, state.threads.size], [1, 0])
      }),
      state
    ).pipe(Effect.provideService(Metering, metering))
  }
)

it.live("an experiment that cannot be is refused with every problem and its place", () =>
  inWorld(
    {},
    Effect.gen(function* () {
      const { createExperiment, importCases } = yield* Evals
      const assistant = yield* (yield* Assistants).create({ name: "A" })
      const problems = (asked: NewExperiment) =>
        Effect.map(Effect.flip(createExperiment(asked)), (error) =>
          error instanceof ExperimentRefused ? error.problems.map(({ path }) => path.join(".")) : [error._tag]
        )
      assert.deepStrictEqual(yield* problems({ variants: [{ name: "a" }] }), ["tags"])
      const caseIds = yield* importCases([
        { question: "?", expectations: [{ kind: "custom", name: "unknown" }] },
        { question: "?" }
      ])
      const variants = [{ name: "a" }, { name: "a", assistantId: assistant.id, assistantVersion: 9 }]
      assert.deepStrictEqual(yield* problems({ variants, caseIds, tags: ["x"], repeats: 20 }), [
        "variants.1.name",
        "tags",
        "variants.0.assistantId",
        "expectations",
        "variants.1.assistantVersion"
      ])
      const many = Array.from({ length: 5 }, (_, place) => ({ name: String(place), assistantId: assistant.id }))
      const repeated = { variants: many, repeats: 20 }
      const twice = yield* importCases([{ question: "?" }, { question: "?" }])
      assert.deepStrictEqual(yield* problems({ ...repeated, caseIds: twice }), [""])
    })
  )
)

it.live("a case has the tools that its message brought, and the assistant's own are left to the assistant", () => {
  const definition = (name: string) => ({ name, description: `About ${name}`, parameters: { type: "object" } })
  const own = [definition("own")]
  const brought = [definition("weather"), definition("time")]
  return inWorld(
    { steps: [callTool("weather", {}), say("Sun."), say("Hi."), say("None."), callTool("weather", {}), say("Sun!")] },
    Effect.gen(function* () {
      const assistant = yield* (yield* Assistants).create({ name: "A", tools: own })
      const turns = yield* Turns
      const { createCase, createExperiment } = yield* Evals
      const first = yield* turns.send({ content: "Weather?", assistantId: assistant.id, tools: brought })
      const [call] = first.toolCalls
      const next = yield* turns.submitToolOutputs({
        threadId: first.threadId,
        outputs: [{ toolCallId: call!.id, output: "sun" }]
      })
      yield* next.reply
      const place = { threadId: first.threadId, messageId: first.messageId }
      const second = yield* turns.send({ content: "Hi", threadId: first.threadId })
      const third = yield* turns.send({ content: "None", threadId: first.threadId, tools: [] })
      const made = yield* createCase({ ...place, expectations: [{ kind: "contains", text: "Sun" }] })
      assert.deepStrictEqual(made.toolDefinitions, brought)
      assert.isUndefined((yield* createCase({ ...place, messageId: second.messageId })).toolDefinitions)
      assert.deepStrictEqual((yield* createCase({ ...place, messageId: third.messageId })).toolDefinitions, [])
      const { experiment } = yield* createExperiment({ caseIds: [made.id], variants: [{ name: "now" }] })
      yield* pass
      const [result] = (yield* look(experiment.id)).results
      assert.deepInclude(result, { passed: true, content: "Sun!" })
      assert.deepStrictEqual(result?.toolCalls, [{ name: "weather", arguments: "{}", result: "sun" }])
      const { requests } = yield* ScriptedModel
      assert.deepStrictEqual(requests.at(-1)?.tools, brought)
    })
  )
})

it.live("a budget that is spent stops an experiment and says so, and with more it goes on where it stopped", () => {
  const state = InMemory.makeState()
  const answer: ScriptStep = [say("Paris."), uses({ inputTokens: 1, outputTokens: 1, costUsd: 0.4 })]
  return inWorld(
    { otherwise: answer },
    Effect.gen(function* () {
      const { resumeExperiment } = yield* Evals
      const { id } = yield* make([paris, paris, paris, paris, paris], { budgetUsd: 1, concurrency: 2 })
      yield* pass
      const { results, state: stopped } = yield* look(id)
      // At most what is under way exceeds it.
      assert.deepInclude(stopped, { status: "stopped", reason: "The budget of 1 USD is spent." })
      assert.isAtLeast(stopped.costUsd, 1)
      assert.isAtMost(stopped.costUsd, 1.6 + 1e-9)
      assert.strictEqual(results.length, stopped.done)
      assert.isBelow(stopped.done, 5)
      for (const change of [{}, { budgetUsd: stopped.costUsd }, { budgetUsd: Infinity }]) {
        const refused = yield* Effect.flip(resumeExperiment(id, change))
        assert.strictEqual(refused._tag, "ExperimentRefused")
      }
      const once = { key: "resume", fingerprint: "f" }
      const resumed = yield* resumeExperiment(id, { budgetUsd: null }, once)
      assert.deepInclude(resumed, { status: "running", reason: null, done: stopped.done })
      yield* pass
      const { results: all, state: end } = yield* look(id)
      assert.deepInclude(end, { status: "completed", done: 5 })
      assert.deepStrictEqual(
        all.map(({ number }) => number),
        [0, 1, 2, 3, 4]
      )
      assert.deepStrictEqual(all.slice(0, results.length), results)
      assert.deepStrictEqual(yield* resumeExperiment(id, {}, once), end)
      assert.deepStrictEqual(yield* resumeExperiment(id), end)
      assert.strictEqual(state.threads.size, 0)
    }),
    state
  )
})

it.live("tries that are made again count in the cost, also those of a judge", () => {
  const usage = { ...noUsage, costUsd: 0.5 }
  const paying: TurnPart<null> = {
    name: "paying",
    plan: Schema.Null,
    decide: () => Effect.succeed({ plan: null }),
    recall: (_, turn) =>
      Effect.sync(() => {
        turn.spend({ provider: "p", model: "m", purpose: "search", usage })
        return []
      })
  }
  let answers = 0
  let judgements = 0
  return inWorld(
    {
      parts: [TurnParts.part(paying)],
      otherwise: ({ messages }) => {
        const read = JSON.stringify(messages)
        const yes: ScriptStep = [say('{"Yes": 0.9, "No": 0.1}'), uses({ costUsd: 0.125 })]
        // The second judge fails in the first try, when the first one is paid.
        if (read.includes("Is it short?")) return judgements++ < 4 ? fail("rate_limited") : yes
        if (read.includes("Is it right?")) return yes
        return answers++ < 3 ? fail("rate_limited") : [say("Paris."), uses({ costUsd: 0.25 })]
      }
    },
    Effect.gen(function* () {
      const judge = (question: string) => ({ kind: "judge" as const, question })
      const { id } = yield* make([{ expectations: [judge("Is it right?"), judge("Is it short?")] }])
      yield* pass
      const { results, state } = yield* look(id)
      assert.deepInclude(results[0], { passed: true, costUsd: 0.75, judgesCostUsd: 0.25 })
      assert.deepInclude(state, { status: "completed", costUsd: 0.5 + 0.125 + 0.75 + 0.25 })
    })
  )
})

it.live("an experiment is not resumed with a key that another request takes at the same moment", () => {
  const state = InMemory.makeState()
  const other = { key: "resume", fingerprint: "other", answer: null }
  const taking = Effect.map(EvalStore, (store) =>
    EvalStore.of({
      ...store,
      resumeExperiment: (...asked) => Effect.andThen(store.insertCases([], 1, other), store.resumeExperiment(...asked))
    })
  )
  return inWorld(
    { otherwise: say("Paris.") },
    Effect.gen(function* () {
      const { cancelExperiment, resumeExperiment } = yield* Evals
      const { id } = yield* make([paris])
      yield* cancelExperiment(id)
      const refused = yield* Effect.flip(resumeExperiment(id, {}, { key: "resume", fingerprint: "f" }))
      assert.strictEqual(refused._tag, "IdempotencyConflict")
      assert.strictEqual((yield* look(id)).state.status, "cancelled")
    }),
    state,
    Layer.provideMerge(Layer.effect(EvalStore, taking), InMemory.layerFrom(state))
  )
})

it.live("an experiment that is cancelled and resumed at once loses no attempt", () => {
  const state = InMemory.makeState()
  return inWorld(
    { otherwise: say("Paris.") },
    Effect.gen(function* () {
      const { cancelExperiment, resumeExperiment } = yield* Evals
      const { id } = yield* make([paris, paris, paris, paris, paris, paris], { concurrency: 3 })
      for (let times = 0; times < 4; times++) {
        yield* cancelExperiment(id)
        yield* resumeExperiment(id)
        yield* Effect.yieldNow
      }
      yield* pass
      const { results, state: end } = yield* look(id)
      assert.deepInclude(end, { status: "completed", done: 6 })
      assert.isTrue(results.every(({ passed }) => passed))
      assert.strictEqual(state.threads.size, 0)
    }),
    state
  )
})

type StoreChange = (store: typeof EvalStore.Service) => Partial<typeof EvalStore.Service>

/** The store of experiments with some operations changed. */
const changed = (state: InMemory.State, change: StoreChange) =>
  Layer.provideMerge(
    Layer.effect(
      EvalStore,
      EvalStore.useSync((store) => ({ ...store, ...change(store) }))
    ),
    InMemory.layerFrom(state)
  )

const costing = (costUsd: number) => uses({ inputTokens: 1, outputTokens: 1, costUsd })

it.live("what attempts under way have cost counts when a budget ends them", () => {
  const state = InMemory.makeState()
  const definition = { name: "look", description: "", parameters: { type: "object" } }
  return inWorld(
    {
      otherwise: ({ messages }) => {
        if (!JSON.stringify(messages).includes("slow")) return [say("Paris."), costing(0.5)]
        return messages.at(-1)?.role === "tool" ? hang : [callTool("look", {}), costing(0.25)]
      }
    },
    Effect.gen(function* () {
      const tools = [{ name: "look", arguments: "{}", output: "42" }]
      const slow = { question: "slow", tools, toolDefinitions: [definition] }
      const { id } = yield* make([slow, {}, {}, {}], { budgetUsd: 0.5, concurrency: 2 })
      yield* pass
      const { getExperiment } = yield* Evals
      assert.deepInclude(yield* getExperiment(id), { status: "stopped", done: 1, costUsd: 0.75 })
      assert.strictEqual(state.threads.size, 0)
    }),
    state
  )
})

it.live("the cost of a result counts that comes when its experiment has ended", () => {
  const state = InMemory.makeState()
  const ending: StoreChange = (store) => ({
    recordResult: (id, result, next) =>
      Effect.andThen(
        store.endExperiment({ id, status: "cancelled", reason: null, at: result.endedAt }),
        store.recordResult(id, result, next)
      )
  })
  return inWorld(
    { otherwise: [say("Paris."), costing(0.5)] },
    Effect.gen(function* () {
      const { id } = yield* make([paris])
      yield* pass
      assert.deepInclude((yield* look(id)).state, { status: "cancelled", done: 0, costUsd: 0.5 })
    }),
    state,
    changed(state, ending)
  )
})

it.live("a result that was stored, of which the process has not heard, is not judged and not counted again", () => {
  const state = InMemory.makeState()
  let lost = 0
  let judgements = 0
  const unheard: StoreChange = (store) => ({
    recordResult: (...given) => {
      const recorded = store.recordResult(...given)
      // The last result comes when the first one was tried again.
      if (given[1].number > 0) return Effect.delay(recorded, "20 seconds")
      const unavailable = Effect.fail(new StoreUnavailable({ operation: "recordResult" }))
      return Effect.tap(recorded, () => (lost++ === 0 ? unavailable : Effect.void))
    }
  })
  return inWorld(
    {
      otherwise: ({ messages }) => {
        if (!JSON.stringify(messages).includes("Is it right?")) return [say("Paris."), costing(0.5)]
        judgements++
        return [say('{"Yes": 0.9, "No": 0.1}'), costing(0.25)]
      }
    },
    Effect.gen(function* () {
      const judged = { expectations: [{ kind: "judge" as const, question: "Is it right?" }] }
      const { id } = yield* make([judged, judged], { concurrency: 1 })
      yield* pass
      assert.deepInclude((yield* look(id)).state, { status: "completed", done: 2, costUsd: 1.5 })
      assert.strictEqual(judgements, 2)
      assert.strictEqual(state.threads.size, 0)
    }),
    state,
    changed(state, unheard)
  )
})

it.live("a case as large as the host permits is tried", () =>
  inWorld(
    { otherwise: say("Paris.") },
    Effect.gen(function* () {
      const content = "x".repeat(defaultTurnSettings.imports.charactersOfOne + 1)
      const { id } = yield* make([{ messages: [{ role: "user", content }] }])
      yield* pass
      assert.deepInclude((yield* look(id)).results[0], { error: null, content: "Paris." })
    })
  ).pipe(
    Effect.provideService(
      TurnSettings,
      Object.assign({}, defaultTurnSettings, {
        imports: { ...defaultTurnSettings.imports, charactersOfOne: 2_000_000 }
      })
    )
  )
)
