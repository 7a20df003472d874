/** Markers in an answer: which name a text that the model was given, where they stand, and what becomes of the others. */
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { growsInLine, repeated } from "../../../../test/growth.ts"
import { type Marks, matchMarks, withoutMarkers } from "../../src/turns/Citations.ts"

const documents: Marks = { letter: "d", count: 2 }
const memories: Marks = { letter: "m", count: 1 }

describe("markers", () => {
  it.each<[text: string, content: string, found: ReadonlyArray<string>, dropped: number]>([
    ["Thirty days [d1]. Nine[d2].", "Thirty days [d1]. Nine[d2].", ["d1", "d2"], 0],
    ["Thirty days [d9].", "Thirty days.", [], 1],
    ["One[d3] two [d0] three [d01] [d9]", "One two three", [], 4],
    ["[d9] Begin\n[d8] line", "Begin\nline", [], 2],
    ["All [d1, d2;d3][d1].", "All [d1][d2][d1].", ["d1", "d2", "d1"], 1],
    ["[d99999999999999999999999]!", "!", [], 1],
    [
      "Area [m2], [D1], [d1-d2], [d 1], [x1], [d1, x2], [1]",
      "Area [m2], [D1], [d1-d2], [d 1], [x1], [d1, x2], [1]",
      [],
      0
    ],
    ["`[d9]` and ``a ` [d1]`` [d1]", "`[d9]` and ``a ` [d1]`` [d1]", ["d1"], 0],
    ["A ` alone [d9] and\n\nanother ` [d1]", "A ` alone and\n\nanother ` [d1]", ["d1"], 1],
    ["```ts\na[d9]\n```\n[d9]\n~~~\n[d1]\n```\n[d1]", "```ts\na[d9]\n```\n\n~~~\n[d1]\n```\n[d1]", [], 1],
    ["- ```\n  [d9]\n  ```\n> ~~~~\n> [d9]\n> ~~~\n[d9]", "- ```\n  [d9]\n  ```\n> ~~~~\n> [d9]\n> ~~~\n[d9]", [], 0],
    ["``` not `a fence [d9]", "``` not `a fence", [], 1]
  ])("of %j", (text, content, found, dropped) => {
    const matched = matchMarks(text, [documents])
    assert.deepInclude(matched, { content, dropped })
    assert.deepStrictEqual(
      matched.found.map(({ end, start }) => content.slice(start + 1, end - 1)),
      found
    )
  })

  it("are left out where an answer is read by others", () => {
    const { content, dropped, found } = matchMarks("Nine [d1], [d9] ten[d2][d1].", [documents])
    const supplements = { citations: { value: { found, dropped } } }
    assert.strictEqual(withoutMarkers({ content, supplements }), "Nine, ten.")
    assert.strictEqual(withoutMarkers({ content: "[d1]", supplements: null }), "[d1]")
  })

  it("of two kinds stand side by side", () => {
    const text = "Bergen [m1], nine [d2] and [m2]."
    const { content, dropped, found } = matchMarks(text, [documents, memories])
    assert.strictEqual(content, "Bergen [m1], nine [d2] and.")
    assert.strictEqual(dropped, 1)
    assert.deepStrictEqual(
      found.map(({ index, letter }) => [letter, index]),
      [
        ["m", 0],
        ["d", 1]
      ]
    )
  })

  const Fragment = Schema.Literals([
    "[d1]",
    "[d2]",
    "[d3]",
    "[d1, d9]",
    "[",
    "d1",
    "]",
    " ",
    "\n",
    "\n\n",
    "`",
    "```",
    "~~~",
    ".",
    "x",
    "[m1]"
  ])
  it.effect.prop(
    "are where they are said to be",
    [Schema.Array(Fragment).check(Schema.isMaxLength(60))],
    ([fragments]) =>
      Effect.sync(() => {
        const { content, found } = matchMarks(fragments.join(""), [documents])
        for (const { end, index, start } of found) assert.strictEqual(content.slice(start, end), `[d${index + 1}]`)
      }),
    { arbitrary: { runs: 500, size: 60 } }
  )

  it.each(["[d9] ", "` `` ``` ", "[d1, d2, ", "```\n", "`\n"])(
    "of a text of %j take a time in line with its length",
    (pattern) =>
      growsInLine(
        (length) => repeated(pattern, length),
        4_000,
        (text) => matchMarks(text, [documents])
      ),
    30_000
  )
})
