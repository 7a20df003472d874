import { type Chunk, type ChunkSize, cutChunks, unknownPosition, ownText, type Section } from "@colloquy/core/retrieval"
import { estimateTokens } from "@colloquy/core/adapters"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"

const size = (tokens: number, overlap = 0): ChunkSize => ({ tokens, overlap, count: estimateTokens })

const section = (form: Section["form"], text: string, place: Partial<Section> = {}): Section => ({
  ...unknownPosition,
  ...place,
  form,
  text
})

const texts = (chunks: ReadonlyArray<Chunk>) => chunks.map(({ text }) => text.trim())

/** Letters of many scripts, graphemes of several code points, and the characters that structure is made of. */
const Fragment = Schema.Literals([
  ...Array.from("abcXYZ019 .,;:!?()[]{}|#`~\"'-=\n"),
  "\n\n",
  "\r\n",
  "\t",
  " the end. ",
  "A sentence! ",
  "e\u0301",
  "👩‍👩‍👧‍👦",
  "🇩🇪",
  "👍🏽",
  "각",
  "\u1112\u1161\u11ab",
  "क्षि",
  "ำ",
  "\u0600",
  "文字。",
  "# ",
  "\n## Title\n",
  "\n| a | b |\n|---|---|\n| 1 | 2 |\n",
  "\n```\ncode\n```\n",
  "def f(x):\n    return x\n",
  "class A {\n",
  "a,b\n",
  '"x\ny",z\n'
])
const Sections = Schema.Array(
  Schema.Struct({
    form: Schema.Literals(["prose", "markdown", "code", "table", "lines"]),
    fragments: Schema.Array(Fragment).check(Schema.isMaxLength(120))
  })
).check(Schema.isMaxLength(4))
const Tokens = Schema.Int.check(Schema.isBetween({ minimum: 4, maximum: 60 }))

const build = (drafts: typeof Sections.Type): ReadonlyArray<Section> =>
  drafts.map(({ form, fragments }, index) => section(form, fragments.join(""), { page: index + 1 }))

const withoutSpace = (text: string) => text.replaceAll(/\s/gu, "")

const graphemes = new Intl.Segmenter("en", { granularity: "grapheme" })

describe("chunks of any sections", () => {
  const property = (
    title: string,
    check: (chunks: ReadonlyArray<Chunk>, sections: ReadonlyArray<Section>, chunkSize: ChunkSize) => void
  ) =>
    it.effect.prop(
      title,
      [Sections, Tokens],
      ([drafts, tokens]) =>
        Effect.sync(() => {
          const sections = build(drafts)
          const chunkSize = size(tokens, Math.floor(tokens / 3))
          check(cutChunks(sections, chunkSize), sections, chunkSize)
        }),
      { arbitrary: { runs: 300, size: 100 } }
    )

  property("lose nothing, and hold nothing twice but what is marked as repeated", (chunks, sections) => {
    assert.strictEqual(
      withoutSpace(chunks.map(ownText).join("")),
      withoutSpace(sections.map(({ text }) => text).join(""))
    )
  })

  property("stand where they say, in the texts of the sections with an empty line between", (chunks, sections) => {
    const all = sections.filter((each) => each.text !== "")
    const text = all.reduce(
      (before, each) => before + (before === "" || before.endsWith("\n") ? "" : "\n\n") + each.text,
      ""
    )
    for (const chunk of chunks) {
      const start = chunk.start ?? -1
      const own = ownText(chunk)
      assert.strictEqual(withoutSpace(text.slice(start, start + own.length)), withoutSpace(own))
      if (all.length === 1) assert.strictEqual(text.slice(start, start + own.length).trimEnd(), own.trimEnd())
    }
  })

  property("never split a grapheme", (chunks, sections) => {
    const text = sections.map((each) => `${each.text}\n\n`).join("")
    let from = 0
    for (const part of chunks.map(ownText)) {
      // Spaces may differ: chunks of nothing but space are left out, and a title stands before the text of the next section.
      const pattern = part
        .trim()
        .split(/\s+/u)
        .map((word) => word.replaceAll(/[^\p{L}\p{N}]/gu, (mark) => `\\u{${mark.codePointAt(0)?.toString(16)}}`))
        .join(String.raw`\s+`)
      const found = new RegExp(pattern, "u").exec(text.slice(from))
      assert.isNotNull(found)
      const at = from + found.index
      const end = at + found[0].length
      const edges = [...(part === part.trimStart() ? [at] : []), ...(part === part.trimEnd() ? [end] : [])]
      for (const edge of edges) assert.strictEqual(graphemes.segment(text).containing(edge)?.index, edge)
      from = end
    }
  })

  property("are as small as was asked, but for single graphemes", (chunks, _, { count, tokens }) => {
    for (const { text } of chunks) {
      // It may stand below its title.
      const isOne = [...graphemes.segment(text.trim().split("\n").at(-1) ?? "")].length === 1
      if (!isOne) assert.isAtMost(count(text.trim()), tokens)
    }
  })

  property("are numbered without gaps, and equal for equal sections", (chunks, sections, chunkSize) => {
    assert.deepStrictEqual(
      chunks.map(({ ordinal }) => ordinal),
      chunks.map((_, index) => index)
    )
    assert.deepStrictEqual(cutChunks(sections, chunkSize), chunks)
  })

  property("repeat what stood before them in their section, word for word, or its header", (chunks, sections) => {
    // A title with nothing below it stands before the text of the next section.
    const source = sections.map((each) => each.text).join("\n")
    for (const { repeated, text } of chunks) {
      if (repeated === 0) continue
      const lines = text
        .slice(0, repeated)
        .split("\n")
        .filter((line) => line.trim() !== "")
      for (const line of lines) assert.include(source, line)
    }
  })
})

describe("prose", () => {
  it("is cut between paragraphs, and between sentences where a paragraph is too long", () => {
    const text = "First one. Second one here.\n\nAnother paragraph that is long. It has a second sentence. And a third."
    assert.deepStrictEqual(texts(cutChunks([section("prose", text)], size(15))), [
      "First one. Second one here.",
      "Another paragraph that is long.",
      "It has a second sentence. And a third."
    ])
  })

  it("repeats the last sentences of the chunk before", () => {
    const [, second] = cutChunks([section("prose", "One two three. Four five six. Seven eight nine.")], size(14, 7))
    assert.strictEqual(second?.text, "Four five six. Seven eight nine.")
    assert.strictEqual(second?.repeated, "Four five six. ".length)
  })

  it("knows its page, slide and heading, and joins the paragraphs of one place", () => {
    const place = { heading: "Costs", page: 3 }
    const chunks = cutChunks(
      [section("prose", "Alpha.", place), section("prose", "Beta.", place), section("prose", "Gamma.", { slide: 4 })],
      size(100)
    )
    assert.deepStrictEqual(
      chunks.map(({ heading, page, slide, text }) => ({ heading, page, slide, text })),
      [
        { heading: "Costs", page: 3, slide: null, text: "Alpha.\n\nBeta." },
        { heading: null, page: null, slide: 4, text: "Gamma." }
      ]
    )
  })

  it("of a language without spaces is cut between its sentences", () => {
    const text = "猫は台所で寝ている。犬は庭で走っている。"
    assert.deepStrictEqual(texts(cutChunks([section("prose", text)], size(18))), [
      "猫は台所で寝ている。",
      "犬は庭で走っている。"
    ])
  })
})

describe("Markdown", () => {
  it("is cut at headings, and each chunk knows those above it", () => {
    const text = "# Guide\n\nHello.\n\n## Install\n\nRun it.\n\n### On Linux\n\nUse apt.\n\n## Use\n\nEnjoy."
    const chunks = cutChunks([section("markdown", text)], size(200))
    assert.deepStrictEqual(
      chunks.map(({ heading, text: found }) => [heading, found.trim()]),
      [
        ["Guide", "# Guide\n\nHello."],
        ["Guide > Install", "## Install\n\nRun it."],
        ["Guide > Install > On Linux", "### On Linux\n\nUse apt."],
        ["Guide > Use", "## Use\n\nEnjoy."]
      ]
    )
  })

  it("keeps a heading with what follows, even when that is a heading", () => {
    const [only] = cutChunks([section("markdown", "# A\n## B\nText.")], size(100))
    assert.deepInclude(only, { heading: "A > B", text: "# A\n## B\nText." })
  })

  it("takes no heading from a fence", () => {
    const chunks = cutChunks([section("markdown", "# A\n```sh\n# not a heading\nls\n```\n")], size(100))
    assert.deepStrictEqual(
      chunks.map(({ heading }) => heading),
      ["A"]
    )
  })

  it("repeats the header of a table that is cut", () => {
    const rows = Array.from({ length: 8 }, (_, index) => `| item ${index} | ${index} |\n`).join("")
    const chunks = cutChunks([section("markdown", `| name | size |\n|---|---|\n${rows}`)], size(48))
    assert.isAbove(chunks.length, 2)
    for (const { text } of chunks) assert.isTrue(text.startsWith("| name | size |\n|---|---|\n| item"))
    assert.strictEqual(chunks.map(ownText).join(""), `| name | size |\n|---|---|\n${rows}`)
  })
})

describe("records", () => {
  it("of a table are never cut, and know their row", () => {
    const text = 'id,note\n1,"two\nlines"\n2,plain\n3,"a ""quote"""\n'
    const chunks = cutChunks([section("table", text, { sheet: "Notes" })], size(18))
    assert.deepStrictEqual(
      chunks.map(({ row, sheet, text: found }) => ({ row, sheet, found })),
      [
        { row: 1, sheet: "Notes", found: 'id,note\n1,"two\nlines"\n' },
        { row: 3, sheet: "Notes", found: "id,note\n2,plain\n" },
        { row: 4, sheet: "Notes", found: 'id,note\n3,"a ""quote"""\n' }
      ]
    )
  })

  it("with a quote that is no quote do not swallow the rest of the table", () => {
    const text = 'size,name\n5" pipe,a\n"open,b\nlast,c\n'
    const chunks = cutChunks([section("table", text)], size(12))
    assert.isAbove(chunks.length, 2)
    assert.strictEqual(chunks.map(ownText).join(""), text)
  })

  it("of JSON lines stand one a line, and know it", () => {
    const text = Array.from({ length: 4 }, (_, index) => `{"id": ${index}}\n`).join("")
    const chunks = cutChunks([section("lines", text)], size(20))
    assert.deepStrictEqual(
      chunks.map(({ row }) => row),
      [1, 3]
    )
  })
})

describe("code", () => {
  const python = [
    "import os\n\n",
    "# Adds numbers.\ndef add(a, b):\n    return a + b\n\n",
    "@cached\nclass Store:\n    def get(self, key):\n        value = self.values[key]\n        return value\n\n",
    "    def put(self, key, value):\n        self.values[key] = value\n        return self\n"
  ]

  it("is cut between definitions, with the comments and decorators above them", () => {
    const chunks = cutChunks([section("code", python.join(""))], size(60))
    assert.deepStrictEqual(texts(chunks), [
      `${python[0]}${python[1]}`.trim(),
      `${python[2]}`.trim(),
      `class Store:\n${python[3]}`.trim()
    ])
  })

  it.each([
    ["TypeScript", "export const one = () => {\n  return 1\n}\n\nexport async function two() {\n  return 2\n}\n"],
    ["Go", 'func One() string {\n\treturn "1"\n}\n\nfunc (s *Store) Two() string {\n\treturn "2"\n}\n'],
    ["Java", "public static int one(int a) {\n  return a;\n}\n\nprivate final String two() {\n  return null;\n}\n"],
    ["Rust", "pub fn one() -> i32 {\n    1\n}\n\nimpl Two for Three {\n    fn two() {}\n}\n"],
    ["CSS", ".one > a {\n  color: red;\n}\n\n.two,\n.three {\n  color: blue;\n}\n"],
    ["SQL", "create table one (\n  id int\n);\n\ncreate view two as\n  select 1;\n"],
    ["Ruby", "def one\n  1\nend\n\nclass Two\n  attr :x\nend\n"],
    ["C", "int one(int a)\n{\n  return a;\n}\n\nstatic void two(char *b)\n{\n  free(b);\n}\n"]
  ])("of %s is cut between its two definitions", (_, text) => {
    const [first, ...rest] = cutChunks([section("code", text)], size(estimateTokens(text) - 1))
    assert.isAtLeast(rest.length, 1)
    assert.strictEqual(first?.text.trim(), text.split("\n\n")[0]?.trim())
  })
})
