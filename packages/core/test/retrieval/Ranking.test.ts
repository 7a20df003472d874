import { joinRanks, type Passage, prepareDocument, prepareTurns, termRarity } from "@colloquy/core/retrieval"
import { estimateTokens } from "@colloquy/core/adapters"
import { assert, describe, it } from "@effect/vitest"

const turn = (text: string, fields: Partial<Passage> = {}): Passage => ({
  text,
  label: "",
  context: "",
  said: null,
  ...fields
})

const english = "It was what they have and the one that would be there with them. "

/** The impact of each term in each turn. English, by the words of the first turn. */
const impacts = (turns: ReadonlyArray<Passage>) =>
  prepareTurns([turn(english), ...turns])
    .chunks.slice(1)
    .map((chunk) => chunk.impacts)

describe("impacts", () => {
  it("are those of BM25 with a fixed pivot", () => {
    const [only] = impacts([turn("kettle stove")])
    // 1000 * 2 * 1.9 / (2 + 0.9 * (0.25 + 0.75 * 4 / 60)), the first turn's "one there" lent at half of a turn's distance.
    const lent = 2
    const norm = 0.9 * (0.25 + (0.75 * (4 + lent)) / 80)
    assert.strictEqual(only?.get("kettl"), Math.round((1000 * 2 * 1.9) / (2 + norm)))
  })

  it("are lent to the neighbours, less with distance, and never a label", () => {
    const turns = ["alpha", "beta", "kettle", "gamma", "delta", "epsilon"].map((text) =>
      turn(text, { label: text === "kettle" ? "Ada" : "" })
    )
    const found = impacts(turns).map((terms) => terms.get("kettl") ?? 0)
    const [twoBefore = 0, before = 0, own = 0, behind = 0, twoBehind = 0, far = 0] = found
    assert.isAbove(own, behind)
    assert.isAbove(behind, before)
    assert.isAbove(behind, twoBehind)
    assert.isAbove(before, twoBefore)
    assert.isAbove(twoBefore, 0)
    assert.strictEqual(far, 0)
    assert.deepStrictEqual(
      impacts(turns).map((terms) => terms.has("ada")),
      [false, false, true, false, false, false]
    )
  })

  it("of a question are less than those of a statement", () => {
    const [asked, said] = [impacts([turn("kettle?")]), impacts([turn("kettle.")])]
    assert.isBelow(asked[0]?.get("kettl") ?? 0, said[0]?.get("kettl") ?? 0)
  })

  it("know the day on which a thing was said, and the days that are told from there", () => {
    const said = new Date(Date.UTC(2023, 4, 8))
    const [terms] = impacts([turn("We met last Tuesday, two years ago, and will next month.", { said })])
    for (const term of ["8", "2", "may", "2023", "2021", "june"]) assert.isTrue(terms?.has(term), term)
    assert.isFalse(terms?.has("april"))
  })

  it("of a document know its title and headings", () => {
    const { chunks, language } = prepareDocument(
      "Boiler manual.md",
      [
        {
          form: "markdown",
          text: `# Safety\n\n${english}`,
          heading: null,
          page: null,
          slide: null,
          sheet: null,
          row: null
        }
      ],
      { tokens: 400, overlap: 50, count: estimateTokens }
    )
    assert.strictEqual(language, "en")
    for (const term of ["boiler", "manual", "safeti"]) assert.isTrue(chunks[0]?.impacts.has(term), term)
  })
})

describe("ranks", () => {
  it("count a rare term more than a frequent one, in whole numbers", () => {
    assert.strictEqual(termRarity(1, 100), Math.round(1000 * Math.log(1 + 99.5 / 1.5)))
    assert.isAbove(termRarity(1, 100), termRarity(50, 100))
    assert.isAbove(termRarity(100, 100), 0)
  })

  it("without vectors are the lexical rank alone", () => {
    assert.deepStrictEqual(
      joinRanks([
        { lexical: 8, semantic: null },
        { lexical: 2, semantic: null }
      ]),
      [1, 0.25]
    )
  })

  it("with vectors are joined by their normalized scores", () => {
    assert.deepStrictEqual(
      joinRanks([
        { lexical: 8, semantic: null },
        { lexical: 4, semantic: 0.75 },
        { lexical: null, semantic: 0.25 }
      ]),
      [0.5, 0.75, 0]
    )
  })

  it("are scaled from the least to the greatest cosine, also where rounding puts them beyond -1 or 1", () => {
    for (const semantic of [1.0000001, -1.0000001])
      assert.deepStrictEqual(joinRanks([{ lexical: null, semantic }]), [0])
  })
})
