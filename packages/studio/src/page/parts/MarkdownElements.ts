/**
 * Markdown of a model as elements. It is safe by construction: the text is parsed into tokens, and each token becomes an element that is
 * made here. No HTML of the text is interpreted, links open only known schemes, and external pictures become links, so that the page loads
 * nothing because a model wrote it.
 */
import { Marked, type Token, type Tokens } from "marked"
import { CodeBlock } from "./CodeBlock.ts"
import { Marker } from "./Excerpts.ts"
import { html, type View } from "../view.ts"
import { safeLink } from "../lib/addresses.ts"

const marked = new Marked({
  gfm: true,
  breaks: true,
  extensions: [
    {
      name: "marker",
      level: "inline",
      start: (text) => text.indexOf("[d"),
      tokenizer: (text) => {
        const [raw, number] = /^\[d(\d{1,3})\]/u.exec(text) ?? []
        return raw === undefined ? undefined : { type: "marker", raw, index: Number(number) - 1 }
      }
    }
  ]
})

export const markdown = (text: string): ReadonlyArray<View> => {
  try {
    return blocks(withoutGaps(marked.lexer(text)))
  } catch {
    // The parser fails at text that is nested thousands of levels deep.
    return [html`<p>${text}</p>`]
  }
}

/** Headings of an answer are put below the page's own headings, without gaps between levels. */
const withoutGaps = (tokens: ReadonlyArray<Token>): ReadonlyArray<Token> => {
  const open: Array<number> = []
  return tokens.map((token) => {
    if (token.type !== "heading") return token
    const depth = Number(token["depth"])
    while (depth <= (open.at(-1) ?? 0)) open.pop()
    open.push(depth)
    return { ...token, depth: Math.min(6, open.length + 3) }
  })
}

const blocks = (tokens: ReadonlyArray<Token>): ReadonlyArray<View> => tokens.map(block)

const block = (token: Token): View => {
  switch (token.type) {
    case "space":
    case "def":
      return null
    case "code":
      return html`<${CodeBlock} code=${token["text"]} language=${String(token["lang"] ?? "")} />`
    case "heading":
      return heading(token["depth"], inlines(token.tokens))
    case "hr":
      return html`<hr />`
    case "blockquote":
      return html`<blockquote>${blocks(token.tokens ?? [])}</blockquote>`
    case "list":
      return list(asList(token))
    case "table":
      return table(asTable(token))
    case "paragraph":
      return html`<p>${inlines(token.tokens)}</p>`
    case "html":
      return html`<p>${token.raw.trimEnd()}</p>`
    case "text":
      return html`<p>${token.tokens === undefined ? plain(token) : inlines(token.tokens)}</p>`
    default:
      return html`<p>${token.raw}</p>`
  }
}

// The lexer gives these types with these fields.
// oxlint-disable-next-line typescript/no-unsafe-type-assertion
const asList = (token: Token) => token as Tokens.List
// oxlint-disable-next-line typescript/no-unsafe-type-assertion
const asTable = (token: Token) => token as Tokens.Table

const heading = (level: unknown, content: ReadonlyArray<View>): View => {
  const tag = `h${Math.max(4, Number(level))}`
  return html`<${tag}>${content}<//>`
}

const list = ({ items, ordered, start }: Tokens.List): View => {
  const shown = items.map(
    (item) =>
      html`<li class=${item.task ? "task" : ""}>
        ${item.task && html`<input type="checkbox" disabled checked=${item.checked} aria-label=${item.checked ? "Done" : "To do"} />`}
        ${item.tokens.map((each) => (each.type === "text" ? inlines(each.tokens ?? [each]) : each.type === "checkbox" ? null : block(each)))}
      </li>`
  )
  return ordered ? html`<ol start=${start === "" ? 1 : start}>${shown}</ol>` : html`<ul>${shown}</ul>`
}

const table = ({ align, header, rows }: Tokens.Table): View => {
  const columnClass = (index: number) => `side-${align[index] ?? "left"}`
  return html`<div class="table" tabindex="0" role="group" aria-label="Table">
    <table>
      <thead>
        <tr>
          ${header.map((cell, index) => html`<th scope="col" class=${columnClass(index)}>${inlines(cell.tokens)}</th>`)}
        </tr>
      </thead>
      <tbody>
        ${rows.map((row) => html`<tr>${row.map((cell, index) => html`<td class=${columnClass(index)}>${inlines(cell.tokens)}</td>`)}</tr>`)}
      </tbody>
    </table>
  </div>`
}

const inlines = (tokens: ReadonlyArray<Token> = []): ReadonlyArray<View> => tokens.map(inline)

const inline = (token: Token): View => {
  switch (token.type) {
    case "strong":
      return html`<strong>${inlines(token.tokens)}</strong>`
    case "em":
      return html`<em>${inlines(token.tokens)}</em>`
    case "del":
      return html`<del>${inlines(token.tokens)}</del>`
    case "codespan":
      return html`<code>${token["text"]}</code>`
    case "br":
      return html`<br />`
    case "link":
      return link(String(token["href"]), inlines(token.tokens))
    case "image":
      return link(String(token["href"]), [`Picture: ${token["text"] === "" ? token["href"] : token["text"]}`])
    case "text":
      return token.tokens === undefined ? plain(token) : html`<span>${inlines(token.tokens)}</span>`
    case "marker":
      return html`<${Marker} index=${Number(token["index"])} raw=${token.raw} />`
    case "escape":
      return String(token["text"])
    default:
      return token.raw
  }
}

/** The lexer keeps entities as they were written. */
const plain = (token: Token): string => decodeEntities(token.raw)

const entities: Readonly<Record<string, string>> = { amp: "&", lt: "<", gt: ">", quot: '"', apos: "'", nbsp: "\u00A0" }

const decodeEntities = (text: string): string =>
  text.replaceAll(/&(?:#(\d{1,7})|#x([\da-f]{1,6})|(\w{2,6}));/giu, (whole, decimal, hex, name) => {
    if (name !== undefined) return entities[String(name)] ?? whole
    const code = decimal === undefined ? Number.parseInt(String(hex), 16) : Number(decimal)
    return code > 0 && code <= 0x10_ff_ff ? String.fromCodePoint(code) : whole
  })

const link = (address: string, content: ReadonlyArray<View>): View => {
  const safe = safeLink(address)
  return safe === null
    ? html`<span>${content}</span>`
    : html`<a href=${safe} target="_blank" rel="noopener noreferrer nofollow">${content}</a>`
}
