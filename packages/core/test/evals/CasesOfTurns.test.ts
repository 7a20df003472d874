/** A turn becomes a case and is tried again: what it asked for and who was asked are as they were the first time. */
import { InMemory } from "@colloquy/adapters/in-memory"
import { Assistants, type HostedTool, HostedTools, Inbox, Kernel, Principal, Threads, Turns } from "@colloquy/core"
import { Answers } from "@colloquy/core/answers"
import { type CaseOfTurn, Evals, type NewExperiment } from "@colloquy/core/evals"
import { Helpers } from "@colloquy/core/helpers"
import { Outputs } from "@colloquy/core/outputs"
import { callTool, hang, say, ScriptedModel, type ScriptStep } from "@colloquy/testing"
import { assert, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as TestClock from "effect/testing/TestClock"
import { passSeconds } from "../support/PassTime.ts"

const pay: HostedTool = {
  definition: { name: "pay", description: "Pays.", parameters: { type: "object" } },
  needsApproval: true,
  run: ({ cents }) => Effect.succeed(`paid ${JSON.stringify(cents)}`)
}

const inWorld = <A, E>(
  steps: ReadonlyArray<ScriptStep>,
  story: Effect.Effect<A, E, Evals | Kernel.Kernel | ScriptedModel | Principal>,
  state = InMemory.makeState()
) =>
  story.pipe(
    Principal.provide("ada"),
    Effect.provide(
      Layer.mergeAll(Evals.layer(), Answers.layer(), Helpers.layer(), Outputs.layer()).pipe(
        Layer.provideMerge(HostedTools.tools([pay])),
        Layer.provideMerge(Kernel.layer),
        Layer.provideMerge(ScriptedModel.layer(steps)),
        Layer.provide(InMemory.layerFrom(state)),
        Layer.provideMerge(TestClock.layer()),
        Layer.fresh
      )
    )
  )

const pass = passSeconds(60)

/** Makes a case of the turn, tries it, and gives the case with its only result. */
const again = Effect.fnUntraced(function* (
  { messageId, threadId }: Pick<CaseOfTurn, "messageId" | "threadId">,
  asked: Partial<NewExperiment> = {}
) {
  const { createCase, createExperiment, listResults } = yield* Evals
  const made = yield* createCase({ threadId, messageId })
  const { experiment } = yield* createExperiment({ caseIds: [made.id], variants: [{ name: "now" }], ...asked })
  yield* pass
  const [result] = (yield* listResults({ experimentId: experiment.id, limit: 10 })).results
  return { made, result }
})

const readSystems = Effect.map(ScriptedModel, ({ requests }) => requests.map(({ system }) => system ?? ""))

const schema = { type: "object", properties: { name: { type: "string" } }, required: ["name"] }

it.live("an answer of a schema is asked for by its schema again", () =>
  inWorld(
    [say('{"name":"Ada"}'), say('{"name":1}'), say('{"name":"Bob"}')],
    Effect.gen(function* () {
      const first = yield* (yield* Turns).send({ content: "Who?", options: { outputs: { schema } } })
      const { made, result } = yield* again(first)
      assert.deepStrictEqual(made.options, { outputs: { schema } })
      assert.isUndefined(made.instructions)
      assert.isUndefined(made.toolDefinitions)
      // The model was told what did not fit, as in any turn with a schema.
      assert.include(result?.content, '{"name":"Bob"}')
      assert.deepInclude(result, { passed: true, error: null })
      const systems = yield* readSystems
      assert.strictEqual(systems[1], systems[0])
    })
  )
)

it.live("typed questions are asked again", () =>
  inWorld(
    [say('{"Yes": 0.9, "No": 0.1}'), say('{"Yes": 0.2, "No": 0.8}')],
    Effect.gen(function* () {
      const questions = { urgent: { type: "noul", instructions: "Is it urgent?" } }
      const first = yield* (yield* Turns).send({ content: "Fire!", options: { answers: { questions } } })
      const { made, result } = yield* again(first)
      assert.deepStrictEqual(made.options, { answers: { questions } })
      const answered: unknown = JSON.parse(result?.content ?? "")
      assert.deepStrictEqual(answered, { urgent: { type: "noul", noul: 0.2 } })
    })
  )
)

it.live("instructions that the message brought are those of the case, and a variant may replace them", () =>
  inWorld(
    [say("Rain."), say("Sun."), say("Wind."), say("Snow.")],
    Effect.gen(function* () {
      const { id } = yield* (yield* Assistants).create({ name: "A", systemPrompt: "Be long." })
      const turns = yield* Turns
      const first = yield* turns.send({ assistantId: id, content: "Weather?", systemPrompt: "Be brief." })
      assert.deepInclude((yield* again(first)).made, { instructions: "Be brief." })
      yield* again(first, { variants: [{ name: "new", instructions: "Be kind." }] })
      const { messageId, threadId } = yield* turns.send({ assistantId: id, content: "And now?" })
      assert.isUndefined((yield* (yield* Evals).createCase({ messageId, threadId })).instructions)
      assert.deepStrictEqual(yield* readSystems, ["Be brief.", "Be brief.", "Be kind.", "Be long."])
    })
  )
)

it.live("a question that was handed over is put to the assistant that had it, which hands it over again", () => {
  const handOver = callTool("hand_off_to_billing", { reason: "a bill" })
  return inWorld(
    [handOver, say("It is paid."), say("Yes."), handOver, say("It is not paid."), say("No.")],
    Effect.gen(function* () {
      const assistants = yield* Assistants
      const billing = yield* assistants.create({ name: "Billing", systemPrompt: "You know bills." })
      const handoffs = [{ assistantId: billing.id, name: "billing", description: "Bills" }]
      const front = yield* assistants.create({ name: "Front", systemPrompt: "You greet.", handoffs })
      const turns = yield* Turns
      const first = yield* turns.send({ assistantId: front.id, content: "Is my bill paid?" })
      const second = yield* turns.send({ threadId: first.threadId, content: "Sure?" })
      const { made, result } = yield* again(first)
      assert.strictEqual(made.assistantId, front.id)
      assert.deepInclude(result, { content: "It is not paid." })
      // What is said afterwards is said to the one that acts.
      assert.strictEqual((yield* again(second)).made.assistantId, billing.id)
      const before = ["You greet.", "You know bills.", "You know bills."]
      assert.deepStrictEqual(yield* readSystems, [...before, ...before])
    })
  )
})

it.live("a call whose arguments a person changed has the result that the model read, under its own arguments", () =>
  inWorld(
    [callTool("pay", { cents: 1 }), say("Paid 5."), callTool("pay", { cents: 1 }), say("Paid.")],
    Effect.gen(function* () {
      const turns = yield* Turns
      const first = yield* turns.send({ content: "Pay." })
      const { id: toolCallId } = first.toolCalls[0]!
      const decisions = [{ toolCallId, decision: "approve" as const, arguments: { cents: 5 } }]
      const decided = yield* turns.decide({ threadId: first.threadId, runId: first.runId, decisions })
      yield* decided.reply
      const { made, result } = yield* again(first)
      const output = '(Who approved this call changed its arguments to {"cents":5}.)\npaid 5'
      assert.deepStrictEqual(made.tools, [{ name: "pay", arguments: '{"cents":1}', output }])
      assert.deepStrictEqual(result?.toolCalls, [{ name: "pay", arguments: '{"cents":1}', result: output }])
      const [, , , asked] = (yield* ScriptedModel).requests
      assert.deepInclude(asked?.messages.at(-1), { role: "tool", output })
    })
  )
)

it.live("helpers of a live attempt work on threads that no list shows, and that go with it", () => {
  const state = InMemory.makeState()
  return inWorld(
    [callTool("poet", { message: "A verse" }), hang],
    Effect.gen(function* () {
      const assistants = yield* Assistants
      const poet = yield* assistants.create({ name: "Poet" })
      const helpers = [{ assistantId: poet.id, name: "poet", description: "Verses" }]
      const chief = yield* assistants.create({ name: "Chief", helpers })
      const { cancelExperiment, createCase, createExperiment } = yield* Evals
      const made = yield* createCase({ question: "A verse, please", assistantId: chief.id })
      const { experiment } = yield* createExperiment({
        caseIds: [made.id],
        variants: [{ name: "now" }],
        tools: "live"
      })
      yield* pass
      assert.strictEqual(state.threads.size, 2)
      const page = { skip: 0, limit: 10 }
      assert.deepStrictEqual(yield* (yield* Threads).list({ page, includeMessages: false }), [])
      assert.deepStrictEqual((yield* (yield* Inbox).list({ limit: 10 })).runs, [])
      yield* cancelExperiment(experiment.id)
      yield* pass
      assert.strictEqual(state.threads.size, 0)
    }),
    state
  )
})
