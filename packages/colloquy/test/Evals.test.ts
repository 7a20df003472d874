/** The room of evals in plain JavaScript. */
import { evals } from "colloquy/evals"
import { say, TestKernel } from "colloquy/testing"
import { uses } from "@colloquy/testing"
import { assert, it } from "@effect/vitest"

it("a stored turn becomes a case, which is changed, found by its tag, and removed", async () => {
  await using kernel = await TestKernel.open([say("Paris.")], { rooms: [evals()] })
  const { threadId, messageId } = await kernel.send({ content: "Capital of France?" })
  const expectations = [{ kind: "contains", text: "Paris" }] as const
  const once = { idempotency: { key: "k", fingerprint: "f" } }
  const made = await kernel.evals.createCase({ threadId, messageId, expectations, ...once })
  assert.deepInclude(made, { question: "Capital of France?", messages: [], expectations, name: null })
  assert.deepStrictEqual(await kernel.evals.createCase({ threadId, messageId, ...once }), made)
  const [other] = await kernel.evals.importCases({ cases: [{ question: "Of Italy?", tags: ["geo"] }] })
  assert.deepInclude(await kernel.evals.updateCase({ caseId: made.id, tags: ["geo", "fr"] }), { tags: ["geo", "fr"] })
  const { cases, next } = await kernel.evals.listCases({ tag: "geo", limit: 1 })
  assert.deepStrictEqual([cases.map(({ id }) => id), next], [[other], other])
  await kernel.evals.removeCase(made.id)
  const gone = await kernel.evals.getCase(made.id).catch((error: unknown) => error)
  assert.include(String(gone), `There is no case ${made.id}.`)
})

it("a case that cannot be checked is refused with every problem and its place", async () => {
  await using kernel = await TestKernel.open([], { rooms: [evals()] })
  const refused = kernel.evals.createCase({
    question: " ",
    tags: ["two\nlines"],
    expectations: [
      { kind: "matches", pattern: "(?=a)" },
      // A caller in plain JavaScript may misspell a field.
      Object.assign({ kind: "contains", text: "a" } as const, { ignorecase: true })
    ]
  })
  const message = String(await refused.catch((error: unknown) => error))
  for (const place of ["question", "tags.0", "expectations.0.pattern", "expectations.1.ignorecase"])
    assert.include(message, place)
})

it("turns are scored online, an experiment is stopped by its budget and goes on, and judges are told", async () => {
  const online = { share: 1, expectations: [{ kind: "contains", text: "Paris" }] } as const
  const paid = [say("Paris."), uses({ inputTokens: 1, outputTokens: 1, costUsd: 1 })]
  await using kernel = await TestKernel.open([], { rooms: [evals({ online })], scripted: { otherwise: paid } })
  const { assistantId, messageId, threadId } = await kernel.send({ content: "Capital of France?" })
  await kernel.evals.giveFeedback({ threadId, messageId, score: 1 })
  await kernel.adjust("10 seconds")
  const { scores } = await kernel.evals.listOnlineScores({ rated: true })
  assert.deepStrictEqual(
    scores.map(({ feedback, score }) => [score.threadId, score.passed, feedback]),
    [[threadId, true, 1]]
  )
  const { days, judges, versions } = await kernel.evals.online({ assistantId })
  assert.deepStrictEqual([days.length, judges, versions[0]?.passRate], [1, [], 1])
  const [one = "", two = ""] = await kernel.evals.importCases({
    cases: [
      { question: "One?", assistantId },
      { question: "Two?", assistantId }
    ]
  })
  const asked = { caseIds: [one, two], variants: [{ name: "now" }], concurrency: 1, budgetUsd: 0.5 }
  const { experiment } = await kernel.evals.createExperiment(asked)
  const at = { experimentId: experiment.id }
  // Virtual time passes at once. What does not run on it, such as the first load of a module, takes as long as it takes.
  const until = async (status: string) => {
    while (true) {
      await kernel.adjust("5 seconds")
      const state = await kernel.evals.getExperiment(experiment.id)
      if (state.status === status) return state
      assert.strictEqual(state.status, "running")
    }
  }
  assert.strictEqual((await until("stopped")).done, 1)
  const refused = await kernel.evals.resumeExperiment(at).catch(String)
  assert.include(refused, "Name more than that")
  await kernel.evals.resumeExperiment({ ...at, budgetUsd: 5 })
  assert.strictEqual((await until("completed")).done, 2)
  assert.deepStrictEqual(await kernel.evals.calibrate(experiment.id), [])
})
