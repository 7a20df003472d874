/** The room of evals in plain JavaScript. */
import { evals } from "colloquy/evals"
import { say, TestKernel } from "colloquy/testing"
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
    expectations: [{ kind: "matches", pattern: "(?=a)" }]
  })
  const message = String(await refused.catch((error: unknown) => error))
  for (const place of ["question", "tags.0", "expectations.0.pattern"]) assert.include(message, place)
})
