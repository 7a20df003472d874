/** The work of preparing a text for the index grows in line with its length, whatever the text is. */
import { type Section, unknownPosition, prepareDocument, prepareTurns } from "@colloquy/core/retrieval"
import { assert, describe, it } from "@effect/vitest"
import { growsInLine, repeated } from "../../../../test/growth.ts"
import { processorTime } from "../../../../test/processorTime.ts"
import { estimateTokens } from "../../src/models/EstimateTokens.ts"
import { preparingDocument } from "../../src/retrieval/Indexing.ts"

const size = { tokens: 400, overlap: 50, count: estimateTokens }

const nested = (length: number): string => {
  let text = ""
  for (let depth = 1; text.length < length; depth++) text += `${" ".repeat(depth % 100)}class A {\n`
  return text
}

type Make = (length: number) => string
const of =
  (pattern: string, before = "", behind = ""): Make =>
  (length) =>
    before + repeated(pattern, length) + behind

const hostile: ReadonlyArray<readonly [form: Section["form"], what: string, make: Make]> = [
  ["markdown", "a title of marks", of(" #x", "# ")],
  ["markdown", "a title of spaces", of(" ", "#", "x")],
  ["markdown", "a title of spaces and marks", of("# ", "# a", "x")],
  ["markdown", "titles with nothing below", of("# a\n")],
  ["markdown", "a title for thousands of chunks", (n) => of("long title ", "# ", "\n\n")(n / 2) + of("Text. ")(n / 2)],
  ["markdown", "a row of dashes", of("-", "a|b\n", "x")],
  ["markdown", "a row of dashes and bars", of("-| ", "a|b\n", "x")],
  ["markdown", "a table", of("a|b\n", "a|b\n-|-\n")],
  ["markdown", "tables", of("a|b\n-|-\n")],
  ["markdown", "bars", of("|\n")],
  ["markdown", "fences", of("```\nx\n")],
  ["markdown", "lines of one paragraph", of("word word\n")],
  ["table", "a quote that is never closed", of("yyy\n", 'a,b\n"x\n')],
  ["table", "quotes in every line", of('x,"y\n', 'a,b\n"x\n')],
  ["table", "nothing but quotes", of('"')],
  ["table", "separators and spaces", of(",    ")],
  ["code", "a name that never ends", of("a", "const ")],
  ["code", "brackets that are opened", of("a(")],
  ["code", "brackets that are closed", of(")", "a(", "x")],
  ["code", "modifiers", of("export ")],
  ["code", "a type that never ends", of("int ", "", "(")],
  ["code", "lines that are comment and definition", of("[a {\n")],
  ["code", "definitions inside of each other", nested],
  ["code", "one line", of("function a(){return b};")],
  ["lines", "one line", of("x y ")],
  ["prose", "spaces", of(" ", "", "x")],
  ["prose", "one word", of("x")],
  ["prose", "empty lines with spaces", of("\n ", "", "x")],
  ["prose", "marks on one letter", of("\u0301", "e")],
  ["prose", "letters with marks", of("नमस्ते दुनिया ")],
  ["prose", "a script without spaces", of("สวัสดีชาวโลก")],
  ["prose", "flags", of("🇩🇪")],
  ["prose", "capitals inside of a word", of("aB")],
  ["prose", "possessives", of("’s")]
]

describe("the work grows in line with the text:", () => {
  for (const [form, what, make] of hostile) {
    it(`${form}, ${what}`, () =>
      growsInLine(make, 20_000, (text) => prepareDocument("t", [{ ...unknownPosition, form, text }], size)))
  }

  it("paragraphs that are sections", () =>
    growsInLine(
      (length) => "x".repeat(length),
      4_000,
      ({ length }) => {
        const section: Section = { ...unknownPosition, form: "prose", text: "A short paragraph." }
        return prepareDocument(
          "t",
          Array.from({ length }, () => section),
          size
        )
      }
    ))

  for (const pattern of ["last a", "last monday ", "a b ago ", "a1", "aB", "日本語", "’s"]) {
    it(`a turn of a conversation, ${pattern}`, () =>
      growsInLine(of(pattern), 20_000, (text) => prepareTurns([{ text, label: "", context: text, said: new Date(0) }])))
  }
})

it("a table of markdown may have more rows than a call has arguments", () => {
  const { chunks } = prepareDocument(
    "t",
    [{ ...unknownPosition, form: "markdown", text: `a|b\n-|-\n${"1|2\n".repeat(200_000)}` }],
    size
  )
  assert.isAbove(chunks.length, 1000)
})

it("one step on a line of 5 million characters is short", () => {
  for (const form of ["prose", "lines", "code", "markdown", "table"] as const) {
    const steps = preparingDocument(
      "t",
      [{ ...unknownPosition, form, text: repeated("some words. ", 5_000_000) }],
      size
    )
    // The first hundred steps see the whole line; the others are alike.
    const times = Array.from({ length: 100 }, () => processorTime(() => steps.next()))
    // Collections of garbage may fall into some of them.
    assert.isAtMost(times.toSorted((a, b) => a - b).at(-5) ?? 0, 50, form)
  }
})
