/** What a list or a search does with a number that counts nothing: the same on every store, because no store gets it. */
import { Colloquy } from "colloquy"
import { documents } from "colloquy/documents"
import { evals } from "colloquy/evals"
import { inMemory } from "colloquy/in-memory"
import { memory } from "colloquy/memory"
import { pglite } from "colloquy/pglite"
import { schedules } from "colloquy/schedules"
import { say, scripted } from "colloquy/testing"
import { webhooks } from "colloquy/webhooks"
import { assert, describe, it } from "@effect/vitest"

const refusal = (work: Promise<unknown>): Promise<string> =>
  work.then(
    () => "none",
    (fault: unknown) => String(fault)
  )

const all = async <A>(values: AsyncIterable<A>): Promise<ReadonlyArray<A>> => {
  const found: Array<A> = []
  for await (const value of values) found.push(value)
  return found
}

describe.each([
  ["in memory", inMemory],
  ["on PGlite", pglite]
] as const)("%s", (_, store) => {
  it("every list and search refuses a number that counts nothing, by the name that it has", async () => {
    await using colloquy = await Colloquy.open({
      store: store(),
      model: "scripted-model",
      owner: "ada",
      providers: [scripted([say("Hi."), say("So."), say("And?")])],
      rooms: [
        documents(),
        evals(),
        memory(),
        schedules(),
        webhooks({ secret: "a secret of many characters, for tests" })
      ]
    })
    const { assistantId, threadId } = await colloquy.send({ content: "Hello" })
    const { experiment } = await colloquy.evals.createExperiment({
      caseIds: [(await colloquy.evals.createCase({ question: "?" })).id],
      variants: [{ name: "one", assistantId }]
    })
    const lists: Readonly<Record<string, (limit: number) => Promise<unknown>>> = {
      approvals: (limit) => colloquy.approvals.list({ limit }),
      assistants: (limit) => colloquy.assistants.list({ limit }),
      "assistants.versions": (limit) => colloquy.assistants.versions.list(assistantId, { limit }),
      audit: (limit) => colloquy.audit.list({ limit }),
      billing: (limit) => colloquy.billing.recentUsage({ limit }),
      documents: (limit) => colloquy.documents.list({ assistantId, limit }),
      "documents.search": (limit) => colloquy.documents.search({ assistantId, query: "x", limit }),
      "evals.listCases": (limit) => colloquy.evals.listCases({ limit }),
      "evals.listExperiments": (limit) => colloquy.evals.listExperiments({ limit }),
      "evals.listFeedback": (limit) => colloquy.evals.listFeedback({ limit }),
      "evals.listOnlineScores": (limit) => colloquy.evals.listOnlineScores({ limit }),
      "evals.listResults": (limit) => colloquy.evals.listResults({ experimentId: experiment.id, limit }),
      memories: (limit) => colloquy.memories.list({ assistantId, limit }),
      "memories.search": (limit) => colloquy.memories.search({ assistantId, query: "x", limit }),
      models: (limit) => colloquy.models.list({ limit }),
      runs: (limit) => colloquy.runs({ threadId, limit }),
      "runs.list": (limit) => colloquy.runs.list({ limit }),
      schedules: (limit) => colloquy.schedules.list({ assistantId, limit }),
      threads: (limit) => colloquy.threads.list({ limit }),
      webhooks: (limit) => colloquy.webhooks.list({ limit })
    }
    for (const [name, list] of Object.entries(lists)) {
      for (const limit of [-1, 1.5, Number.NaN, Number.POSITIVE_INFINITY]) {
        const fault = await refusal(list(limit))
        assert.strictEqual(fault, `TypeError: \`limit\` must be a whole number from 0, and is ${limit}.`, name)
      }
      await list(1)
    }
    assert.include(await refusal(colloquy.threads.list({ skip: -1 })), "`skip` must be")
    assert.include(await refusal(colloquy.assistants.versions.get(assistantId, Number.NaN)), "`version` must be")
    const { runId } = await colloquy.send({ content: "Again", threadId })
    const after = Number.NaN
    const experimentId = experiment.id
    const behind = [
      () => all(colloquy.follow({ threadId, runId, after })),
      () => all(colloquy.runs.events({ after })),
      () => colloquy.runs({ threadId, after }),
      () => colloquy.evals.listResults({ experimentId, after })
    ]
    for (const list of behind) assert.include(await refusal(list()), "`after` must be a whole number", String(list))
    assert.deepStrictEqual(await all(colloquy.follow({ threadId, runId, after: 2 ** 31 })), [])
    for (const date of [new Date(Number.NaN), new Date(-8.64e15), new Date(8.64e15)]) {
      const times = [
        () => colloquy.runs.list({ since: date }),
        () => colloquy.runs.list({ after: { createdAt: date, id: runId } }),
        () => colloquy.evals.online({ from: date }),
        () => colloquy.evals.online({ to: date }),
        () => colloquy.memories.search({ assistantId, query: "x", at: date })
      ]
      for (const list of times) assert.include(await refusal(list()), "must be a date of the years 0 to 9999")
    }
    for (const version of [1.5, Number.NaN, Number.POSITIVE_INFINITY]) {
      const pinned = await refusal(colloquy.threads.pin(threadId, version))
      const made = await refusal(colloquy.threads.create({ assistantId, assistantVersion: version }))
      for (const fault of [pinned, made]) assert.include(fault, "AssistantVersionUnknown", String(version))
    }
  })
})
