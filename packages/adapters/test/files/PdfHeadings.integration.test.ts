/** Headings of a PDF that a browser printed: the text of the page, and not of its code, says what is large. */
import { unknownPosition, ownText, prepareDocument } from "@colloquy/core/retrieval"
import { estimateTokens } from "@colloquy/core/adapters"
import { assert, it } from "@effect/vitest"
import { inChromium } from "../../../../test/browser.ts"
import { readPdf } from "../../src/files/Pdf.ts"

const words = "Some words of this part tell what it is about, and they go on for a while. "
const style = "body { font: 16px serif } h1 { font-size: 32px } h2 { font-size: 24px } pre { font-size: 11px }"
const code = `<pre>${"const value = await read(path, { encoding, signal })\n".repeat(60)}</pre>`
const parts = Array.from(
  { length: 30 },
  (_, at) =>
    `<h2>Part ${at}</h2><h2>Reading of number ${at}</h2><p>${words.repeat(3)}</p>${code}<p>${words.repeat(2)}</p>`
)
const long = "A title that is so long that it takes two lines of the page, because it tells all that stands below it"

inChromium((launch) => {
  it("are its own, and no chunk is a heading alone", async () => {
    const browser = await launch()
    const page = await browser.newPage()
    await page.setContent(
      `<style>${style}</style><h1>The manual</h1>${parts.join("")}<h2>${long}</h2><p>${words}</p><h2>End</h2>`
    )
    const bytes = await page.pdf({ format: "A4" })
    await browser.close()
    const sections = await readPdf(new Uint8Array(bytes), null)
    const headings = new Set(sections.map(({ heading }) => heading))
    const expected = parts.flatMap((_, at) => [`Part ${at}`, `Reading of number ${at}`])
    assert.sameMembers([...headings], ["The manual", ...expected, long, "End"])
    const { chunks } = prepareDocument("manual.pdf", sections, { tokens: 400, overlap: 50, count: estimateTokens })
    const titles = new Set<string | null>(headings)
    for (const { chunk } of chunks) {
      const lines = ownText(chunk)
        .split("\n")
        .map((line) => line.trim())
        .filter((line) => line !== "")
      assert.isFalse(
        lines.every((line) => titles.has(line)),
        ownText(chunk)
      )
    }
    assert.include(chunks.at(-1)?.chunk.text ?? "", "End")
  })
})

it("a file of nothing but headings is one chunk", () => {
  const sections = ["One", "Two"].map((title, at) => ({
    ...unknownPosition,
    form: "prose" as const,
    text: title,
    heading: title,
    page: at + 1
  }))
  const { chunks } = prepareDocument("t", sections, { tokens: 400, overlap: 50, count: estimateTokens })
  assert.deepStrictEqual(
    chunks.map(({ chunk }) => chunk.text),
    ["One\n\nTwo"]
  )
})
