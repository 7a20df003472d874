/** Typed questions as rows: what is sent for them, and what cannot be asked. */
import { assert, describe, it } from "@effect/vitest"
import { exampleRows, toQuestions } from "../src/page/lib/questionRows.ts"

describe("typed questions", () => {
  it("are sent by their kind, options in the order in which they stand", () => {
    assert.deepStrictEqual(toQuestions(exampleRows), {
      urgent: { type: "noul", instructions: "Is it urgent?", criteria: { true: "urgent, today", false: "later" } },
      topic: {
        type: "choice",
        instructions: "Which topic?",
        criteria: { refund: "money back", delivery: "parcel late" },
        order: ["refund", "delivery"]
      }
    })
    const rows = [
      { name: "plain", type: "noul", instructions: "Is it?", criteria: "" },
      { name: "stars", type: "choice", instructions: "How many?", criteria: "5\n\n 1: bad: very" },
      { name: "mood", type: "score", instructions: "How?", criteria: "calm\nfurious\n" }
    ] as const
    assert.deepStrictEqual(toQuestions(rows), {
      plain: { type: "noul", instructions: "Is it?" },
      stars: { type: "choice", instructions: "How many?", criteria: { 5: null, 1: "bad: very" }, order: ["5", "1"] },
      mood: { type: "score", instructions: "How?", criteria: ["calm", "furious"] }
    })
  })

  it("that cannot be asked are told by a sentence", () => {
    const row = { name: "one", type: "choice", instructions: "", criteria: "a\nb" } as const
    assert.throws(() => toQuestions([]), "There is no question.")
    assert.throws(() => toQuestions([{ ...row, name: " " }]), "A question has no name.")
    assert.throws(() => toQuestions([row, { ...row }]), "Two questions are called “one”.")
    assert.throws(() => toQuestions([{ ...row, criteria: "a" }]), "“one” needs two options or more.")
    assert.throws(() => toQuestions([{ ...row, type: "score", criteria: "" }]), "“one” needs two levels or more.")
  })
})
