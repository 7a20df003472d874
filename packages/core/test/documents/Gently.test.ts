/** A large text is cut while the server goes on with everything else. */
import { assert, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import { runYielding } from "../../src/primitives/RunYielding.ts"
import { runSteps } from "../../src/primitives/Steps.ts"
import { unknownPosition, prepareDocument, type Section } from "@colloquy/core/retrieval"
import { preparingDocument } from "../../src/retrieval/Indexing.ts"
import { estimateTokens } from "../../src/models/EstimateTokens.ts"

const size = { tokens: 400, overlap: 50, count: estimateTokens }
const words = "badgers dig deep setts below old trees ".repeat(3_000)
const forms: ReadonlyArray<readonly [Section["form"], string]> = [
  ["prose", words],
  ["prose", words.replaceAll("trees ", "trees. ").replaceAll("old ", "old\n\n")],
  ["prose", "日本語のテキスト。".repeat(12_000)],
  ["prose", "x".repeat(120_000)],
  ["markdown", `# Badgers\n\n${words.replaceAll("trees ", "trees\n\n## Below\n\n")}`],
  ["code", words.replaceAll("trees ", "trees {\n  return 1\n}\n\n")],
  ["table", `what;where\n${words.replaceAll("trees ", "trees;\n")}`],
  ["lines", words.replaceAll("trees ", "trees\n")]
]

for (const [form, text] of forms) {
  it.live(`${text.length} characters as ${form} (${text.slice(0, 12)}…) leave time for others`, () =>
    Effect.gen(function* () {
      const sections: ReadonlyArray<Section> = [{ ...unknownPosition, form, text }]
      let turns = 0
      const other = yield* Effect.forkChild(
        Effect.forever(
          Effect.andThen(
            Effect.yieldNow,
            Effect.sync(() => turns++)
          )
        ),
        { startImmediately: true }
      )
      const prepared = yield* runYielding(preparingDocument("badgers.txt", sections, size))
      yield* Fiber.interrupt(other)
      assert.isAtLeast(turns, 5)
      assert.deepStrictEqual(prepared, prepareDocument("badgers.txt", sections, size))
    })
  )
}

it("steps that are run at once give what they return", () => {
  assert.strictEqual(
    runSteps(
      (function* () {
        yield
        return 3
      })()
    ),
    3
  )
})
