/** What is written for a segment of many different terms: in order, and by a few terms at a time. */
import { unknownPosition } from "@colloquy/core/retrieval"
import { assert, it } from "@effect/vitest"
import { encodingSegment, splitStatements } from "../../src/postgres/ChunkRecord.ts"

const count = 60_000

/** Every term once, in no order. All have their first characters in common, as the words of a made-up language might. */
const terms = Array.from({ length: count }, (_, at) => `word${(at * 7919) % count}`)

const chunks = [terms.slice(0, count / 2), terms.slice(count / 2)].map((some, ordinal) => ({
  chunk: { ...unknownPosition, ordinal, text: `Chunk ${ordinal}.`, repeated: 0 },
  impacts: new Map(some.map((term) => [term, 1]))
}))

it("the terms of a segment are put in order and written a few at a time", () => {
  const steps = encodingSegment(chunks)
  let taken = 0
  let step = steps.next()
  for (; step.done !== true; step = steps.next()) taken++
  assert.isAtLeast(taken, count / 2_000)
  assert.deepStrictEqual(step.value.terms, terms.toSorted())
  const statements = splitStatements(step.value)
  assert.isAtMost(Math.max(...statements.map((each) => each.terms.length)), 500)
  for (const field of ["bodies", "terms", "offsets", "impacts"] as const) {
    assert.deepStrictEqual(
      statements.flatMap((each) => each[field]),
      step.value[field]
    )
  }
})
