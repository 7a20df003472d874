/** Reads the visible content of HTML: text under its headings, lists and tables, without scripts, styles, navigation and hidden elements. */
import type { Section } from "@colloquy/core/retrieval"
import { Parser } from "htmlparser2"
import { limits } from "./Limits.ts"
import { Refused } from "./Refused.ts"
import { collectSections, markdownTable, oneLine } from "./Sections.ts"

const words = (text: string): ReadonlySet<string> => new Set(text.split(" "))

const unseen = words("script style noscript template svg iframe object head nav select button")
const blocks = words(
  "p div section article main ul ol dl dd dt blockquote pre table form figure figcaption header footer aside address hr body br"
)

export const readHtml = (html: string): ReadonlyArray<Section> => {
  const out = collectSections()
  let text = ""
  let depth = 0
  /** How many elements are open inside an invisible element, including that element. */
  let hidden = 0
  let preformatted = 0
  let lists = 0
  let item: string | undefined
  /** The rows of the innermost open table. */
  let rows: Array<Array<string>> | undefined
  /** The rows of the open tables around it. */
  const outerTables: Array<Array<Array<string>>> = []

  const endBlock = () => {
    const block = preformatted > 0 ? text.replace(/^\n+/u, "").trimEnd() : oneLine(text)
    text = ""
    if (block === "") return
    const cells = rows?.at(-1)
    if (cells !== undefined && cells.length > 0) cells.push(oneLine(`${cells.pop() ?? ""} ${block}`))
    else if (item !== undefined) out.block(item + block, true)
    else out.block(block)
    item = undefined
  }
  const endHeading = (level: number) => {
    const title = oneLine(text)
    text = ""
    if (title !== "") out.heading(title, level)
  }
  const endTable = () => {
    endBlock()
    const ended = rows ?? []
    rows = outerTables.pop()
    const cells = rows?.at(-1)
    if (cells === undefined || cells.length === 0) {
      const table = markdownTable(ended)
      if (table !== "") out.block(table)
    } else {
      // A table inside a cell becomes text of that cell.
      const inner = ended.map((row) => row.filter((cell) => cell !== "").join(", ")).filter((row) => row !== "")
      cells.push(oneLine(`${cells.pop() ?? ""} ${inner.join("; ")}`))
    }
  }
  const open = (name: string, attributes: Readonly<Record<string, string>>) => {
    if (isHeading(name) || blocks.has(name) || name === "li" || name === "tr" || name === "td" || name === "th")
      endBlock()
    if (name === "table") {
      if (rows !== undefined) outerTables.push(rows)
      rows = []
    }
    if (name === "tr") rows?.push([])
    else if (name === "td" || name === "th") rows?.at(-1)?.push("")
    else if (name === "li") item = `${"  ".repeat(Math.max(0, lists - 1))}- `
    else if (name === "ul" || name === "ol") lists++
    else if (name === "pre") preformatted++
    else if (name === "img" && attributes["alt"] !== undefined) text += ` ${attributes["alt"]} `
  }
  const close = (name: string) => {
    if (isHeading(name)) return rows === undefined ? endHeading(Number(name.slice(1))) : endBlock()
    if (name === "table") return endTable()
    if (blocks.has(name) || name === "li" || name === "tr" || name === "td" || name === "th") endBlock()
    if (name === "ul" || name === "ol") lists--
    else if (name === "pre") preformatted--
    else if (name === "li") item = undefined
  }
  const parser = new Parser({
    onopentag: (name, attributes) => {
      if (++depth > limits.htmlDepth)
        throw new Refused("damaged", "The elements of the page are nested too deeply. Save the page in a simpler form.")
      if (hidden > 0 || unseen.has(name) || "hidden" in attributes) hidden++
      else open(name, attributes)
    },
    ontext: (piece) => {
      if (hidden === 0) text += piece
    },
    onclosetag: (name) => {
      depth--
      if (hidden > 0) hidden--
      else close(name)
    }
  })
  parser.write(html)
  parser.end()
  endBlock()
  return out.end()
}

const isHeading = (name: string): boolean => /^h[1-6]$/u.test(name)
