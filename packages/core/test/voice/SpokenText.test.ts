/** What of an answer is read aloud, and where it is cut: the same however the text comes in pieces. */
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { longestSentence } from "../../src/voice/Sentences.ts"
import { makeSpokenText } from "../../src/voice/SpokenText.ts"

const spoken = (text: string, size: number): ReadonlyArray<string> => {
  const reader = makeSpokenText()
  const sentences: Array<string> = []
  for (let at = 0; at < text.length; at += size) sentences.push(...reader.feed(text.slice(at, at + size)))
  return [...sentences, ...reader.end()]
}

const cases: ReadonlyArray<readonly [title: string, text: string, sentences: ReadonlyArray<string>]> = [
  ["sentences", "Hello there. Really? Yes!", ["Hello there.", "Really?", "Yes!"]],
  [
    "numbers and abbreviations stay whole",
    "It costs 3.14 euros, i.e. not much! Ask Dr. Smith.",
    ["It costs 3.14 euros, i.e. not much!", "Ask Dr. Smith."]
  ],
  ["a number at the end of what has come so far", "Version 2.", ["Version 2."]],
  [
    "marks go, words stay",
    "Some **bold. And** *more* ~~here~~, `code` and snake_case.",
    ["Some bold.", "And more here, code and snake_case."]
  ],
  ["a product is no emphasis", "2*3*4 is 24.", ["2*3*4 is 24."]],
  [
    "links are read by their words",
    "See [the docs. Here](https://x.y/z.a?b) and <https://a.example/b>. Bye.",
    ["See the docs. Here and a.example.", "Bye."]
  ],
  ["code blocks are not read", "Look:\n```js\nconst a = 1. B\n```\nDone.", ["Look:", "Done."]],
  [
    "code blocks of tildes, of a list, and one that never ends",
    "- a\n  ~~~\nx. Y\n~~~\nThen.\n\n```\nfoo. Bar",
    ["a", "Then."]
  ],
  [
    "code blocks end only with their own mark: not with a shorter one, an empty line or the mark with a word",
    "````md\n```\nfoo. Bar\n\n````js\nx. Y\n````\nDone.",
    ["Done."]
  ],
  ["indented code is not read", "Look:\n\n    foo. Bar\n\nDone.", ["Look:", "Done."]],
  ["indented code at the beginning is not read", "    foo. Bar\n\nDone.", ["Done."]],
  [
    "headings, lists and quotes",
    "# Title\n- one\n- [x] two\n1. First\n> quoted",
    ["Title", "one", "two", "1, First", "quoted"]
  ],
  ["tables are read row by row, without their line", "| a | b |\n|---|:-:|\n| 1 | 2 |\n", ["a, b.", "1, 2."]],
  ["a table stands alone", "Look at it\n| a | b |\nand go on", ["Look at it", "a, b.", "and go on"]],
  ["a table without a line break at its end", "| a | b |", ["a, b."]],
  ["a number alone", "42", ["42"]],
  ["a paragraph goes on in the next line", "One long\nsentence here.\n\nNext", ["One long sentence here.", "Next"]],
  [
    "no line break inside of a paragraph ends a sentence",
    "One\r\nlong sentence\nhere. Next one.",
    ["One long sentence here.", "Next one."]
  ],
  ["markers of citations are not read", "Thirty days [d1][d12]. All [m3] of it.", ["Thirty days.", "All of it."]],
  ["rulers and marks alone are silent", "---\n***\n!!! …\n", []],
  ["rulers end the text before them", "Title\n---\none\n===\ntwo\n***\nthree", ["Title", "one", "two", "three"]],
  ["escaped marks are characters", String.raw`\*a\* and \_b\_ \# \[x\]\(y\) \~\~c`, ["*a* and _b_ # [x](y) ~~c"]],
  [
    "German dates and abbreviations",
    "Am 3. Oktober kommt Hr. Müller, vgl. Seite 4. Er bleibt bis zum 12. Mai. Das ist ca. eine Woche.",
    ["Am 3. Oktober kommt Hr. Müller, vgl. Seite 4. Er bleibt bis zum 12. Mai.", "Das ist ca. eine Woche."]
  ],
  [
    "a number behind a German heading",
    "# Der Plan und die Orte\n\nRaum 3. Etage oben",
    ["Der Plan und die Orte", "Raum 3. Etage oben"]
  ],
  [
    "abbreviations with and without spaces between their letters",
    "Das gilt z. B. Montags, cf. Smith et al. Berlin. Done now.",
    ["Das gilt z. B. Montags, cf. Smith et al. Berlin.", "Done now."]
  ],
  [
    "a number at the end of an English sentence",
    "The answer is 3. Next we go on.",
    ["The answer is 3.", "Next we go on."]
  ],
  [
    "speech in East Asian brackets",
    "彼は「行く。帰る！」と言った。次に進む。（例。これ）終わり。",
    ["彼は「行く。帰る！」と言った。", "次に進む。", "（例。これ）終わり。"]
  ],
  ["scripts without spaces", "中文句子。第二句！没有", ["中文句子。", "第二句！", "没有"]]
]

describe("text that is read aloud", () => {
  for (const [title, text, sentences] of cases) {
    it(`keeps to it: ${title}`, () => {
      for (const size of [1, 2, 3, 7, 1000]) assert.deepStrictEqual(spoken(text, size), sentences, `${size} at a time`)
    })
  }

  const pieces = Schema.Array(
    Schema.Literals([
      "a word",
      " ",
      ". ",
      "3.14",
      "! ",
      "\n",
      "\n\n",
      "**",
      "`",
      "```",
      "# ",
      "- ",
      "[x](y)",
      "Dr. ",
      "…",
      "é",
      "|",
      "> "
    ])
  )
  it.effect.prop(
    "is the same however it comes in pieces",
    [pieces, Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 9 }))],
    ([words, size]) =>
      Effect.sync(() => {
        const text = words.join("")
        assert.deepStrictEqual(spoken(text, size), spoken(text, text.length + 1))
      })
  )

  it("is never cut inside a word or a number, however long a sentence is", () => {
    const words = Array.from({ length: 400 }, (_, index) => (index % 3 === 0 ? `1.${index},5` : `word${index}`))
    const sentences = spoken(words.join(" "), 5)
    assert.isAbove(sentences.length, 5)
    assert.deepStrictEqual(sentences.join(" ").split(" "), words)
    for (const sentence of sentences) assert.isAtMost(sentence.length, longestSentence + 20)
  })

  it("is given as soon as the next sentence has begun", () => {
    const reader = makeSpokenText()
    assert.deepStrictEqual(reader.feed("It is 3."), [])
    assert.deepStrictEqual(reader.feed("5 now. "), [])
    assert.deepStrictEqual(reader.feed("A"), ["It is 3.5 now."])
  })
})
