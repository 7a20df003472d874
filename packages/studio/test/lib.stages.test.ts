/** How far the reading of a document is. */
import { assert, describe, it } from "@effect/vitest"
import { readingProgress } from "../src/page/lib/stages.ts"

describe("the reading of a document", () => {
  it("goes from received over text and vectors to done, by what the server tells", () => {
    const reads = [
      { status: "processing", status_message: null },
      { status: "processing", status_message: "The text was read: 10 parts.", chunk_count: 10 },
      { status: "processing", status_message: "Embedded 5 of 10 parts.", chunk_count: 10 },
      { status: "processing", status_message: "Embedded 10 of 10 parts.", chunk_count: 10 },
      { status: "completed", status_message: null }
    ] as const
    const found = reads.map(readingProgress)
    assert.deepStrictEqual(
      found.map(({ stage }) => stage),
      ["received", "text", "vectors", "vectors", "done"]
    )
    assert.deepStrictEqual(
      found.map(({ share }) => Math.round(share * 100)),
      [0, 33, 67, 100, 100]
    )
  })
})
