/** Cases as tests through the door without Effect, with a model that judges. */
import { answers } from "colloquy/answers"
import { documents } from "colloquy/documents"
import { evaluate, matchers, say, scorer, simulate, TestKernel, toMarkdown } from "colloquy/testing"
import { assert, describe, it } from "@effect/vitest"

/** A model that is polite when it is told to, and judges politeness by a word. */
const open = () =>
  TestKernel.open([], {
    rooms: [answers()],
    scripted: {
      otherwise: ({ messages, model, system }) => {
        if (model !== "judge") return say(system === "Be polite." ? "Gladly: it is Tuesday." : "Tuesday.")
        const isPolite = JSON.stringify(messages).includes("Gladly")
        return say(JSON.stringify(isPolite ? { yes: 0.9, no: 0.1 } : { yes: 0.2, no: 0.8 }))
      }
    }
  })

describe("evaluate", () => {
  it("compares two prompts by a judge, and the gate tells which is worse", async () => {
    const kernel = await open()
    const days = Array.from({ length: 8 }, (_, place) => ({
      name: `day ${place}`,
      question: "Which day?",
      expectations: [{ kind: "judge", question: "Is the answer polite?" }] as const
    }))
    const evaluation = await evaluate(days, {
      kernel,
      judge: { provider: "scripted", model: "judge" },
      variants: [{ name: "polite", systemPrompt: "Be polite." }, { name: "short" }]
    })
    const gate = evaluation.gate()
    assert.isFalse(gate.passed)
    assert.include(toMarkdown(gate), '"short" is better than "polite" in 0, worse in 8 of 8 cases, likely not chance')
    await kernel.close()
  })

  it("gives a variant other excerpts of documents, and a simulated conversation too", async () => {
    const kernel = await TestKernel.open([], {
      rooms: [documents()],
      scripted: {
        otherwise: ({ messages, system }) => say(system?.startsWith("You play") ? "Closed?" : JSON.stringify(messages))
      }
    })
    const { id: assistantId } = await kernel.assistants.create({ name: "Harbour" })
    for (const file of ["The harbour is closed in winter.", "The harbour is closed at night."]) {
      const filename = `${file.slice(-7, -1)}.txt`
      const { id } = await kernel.documents.upload({ file: new TextEncoder().encode(file), filename, assistantId })
      const indexed = kernel.documents.indexed(id)
      await kernel.adjust("1 second")
      await indexed
    }
    const expectations = ["in winter", "at night"].map((text) => ({ kind: "contains", text }) as const)
    const variants = [
      { name: "usual", assistantId },
      { name: "one", assistantId, retrieval: { searchLimit: 1 } },
      { name: "none", assistantId, retrieval: { excerpts: "none" } }
    ] as const
    const { results } = await evaluate([{ question: "Is the harbour closed?", expectations }], { kernel, variants })
    assert.deepStrictEqual(
      results.map(({ scores }) => scores.filter(({ passed }) => passed).length),
      [2, 1, 0]
    )
    const simulated = { kernel, persona: "Ann", goal: "to know", turns: 1 }
    const { messages } = await simulate({ ...simulated, variant: { assistantId, retrieval: { excerpts: "none" } } })
    assert.notInclude(messages[1]?.content, "The harbour")
    await kernel.close()
  })

  it("begins no further attempt when one could not be prepared, and is over when it says so", async () => {
    const kernel = await open()
    const { id: assistantId } = await kernel.assistants.create({ name: "A" })
    let prepared = 0
    let under = 0
    const watched = {
      ...kernel,
      send: async (...given: Parameters<typeof kernel.send>) => {
        under++
        try {
          return await kernel.send(...given)
        } finally {
          under--
        }
      }
    }
    const cases = Array.from({ length: 12 }, (_, place) => ({ question: `Question ${place}` }))
    const prepare = () => {
      prepared++
      if (prepared === 2) throw new Error("No data for this case.")
    }
    const variants = [{ name: "now", assistantId }]
    const failed = await evaluate(cases, { kernel: watched, concurrency: 2, prepare, variants }).catch(
      (error: unknown) => error
    )
    assert.match(String(failed), /No data for this case/u)
    assert.strictEqual(under, 0)
    await new Promise((resolve) => setImmediate(resolve))
    assert.isAtMost(prepared, 2)
    await kernel.close()
  })

  it("has the matcher for one reply", async () => {
    const kernel = await open()
    const { toPass } = matchers({ kernel, judge: { provider: "scripted", model: "judge" } })
    const reply = await kernel.send({ content: "Which day?", systemPrompt: "Be polite." })
    const short = scorer({ name: "short", score: ({ content }) => content.length < 10 })
    assert.isTrue((await toPass(reply, { kind: "judge", question: "Is it polite?" })).pass)
    assert.isFalse((await toPass(reply, short)).pass)
    await kernel.close()
  })
})
