/** A page of the guide as HTML: Markdown, links to other pages at their addresses, code in colours. HTML in a page is shown as text. */
import { Marked, type Tokens } from "marked"
import { highlight } from "@colloquy/studio/highlight"

const entities: Readonly<Record<string, string>> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
  "'": "&#39;"
}

export const escaped = (text: string): string => text.replaceAll(/[&<>"']/gu, (letter) => entities[letter] ?? letter)

/** The words of a heading with hyphens between them, as sites that host code make anchors. */
export const headingAnchor = (heading: string): string =>
  heading
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}\s_-]/gu, "")
    .trim()
    .replaceAll(/\s/gu, "-")

const languages: Readonly<Record<string, string>> = { md: "Markdown", sh: "Shell", ts: "TypeScript", tsx: "TypeScript" }

export const codeBlock = (code: string, language = ""): string => {
  const pieces = highlight(code, language).map(({ shade, text }) =>
    shade === "plain" ? escaped(text) : `<span class="${shade}">${escaped(text)}</span>`
  )
  const label = languages[language] ?? "Code"
  // Wide code can be scrolled, also by the keyboard.
  return `<pre tabindex="0" role="group" aria-label="${label}"><code>${pieces.join("")}</code></pre>\n`
}

/** The one form of HTML that pages have: an anchor for links. In a line it comes as two tokens. */
const place = /^\s*<a id="([\w-]+)">(?:<\/a>\s*)?$/u

/** `href` returns the address of a link of this page; null: its target does not exist, and only its words are shown. */
export const toHtml = (markdown: string, href: (link: string) => string | null): string =>
  new Marked({
    gfm: true,
    renderer: {
      html: ({ text }: Tokens.HTML | Tokens.Tag) => {
        const id = place.exec(text)?.[1]
        if (text === "</a>") return ""
        return id === undefined ? escaped(text) : `<a id="${id}"></a>`
      },
      code: ({ lang, text }: Tokens.Code) => codeBlock(text, lang),
      heading({ depth, text, tokens }: Tokens.Heading) {
        return `<h${depth} id="${escaped(headingAnchor(text))}">${this.parser.parseInline(tokens)}</h${depth}>\n`
      },
      link({ href: link, tokens }: Tokens.Link) {
        const words = this.parser.parseInline(tokens)
        const address = href(link)
        return address === null ? words : `<a href="${escaped(address)}">${words}</a>`
      },
      image: ({ text }: Tokens.Image) => escaped(text),
      table({ header, rows }: Tokens.Table) {
        const cells = (row: ReadonlyArray<Tokens.TableCell>, name: "td" | "th") =>
          row
            .map(({ tokens }) => this.parser.parseInline(tokens))
            .map((words) => (name === "th" && words !== "" ? `<th scope="col">${words}</th>` : `<td>${words}</td>`))
            .join("")
        const body = rows.map((row) => `<tr>${cells(row, "td")}</tr>`).join("\n")
        return `<div class="table" tabindex="0" role="group" aria-label="Table"><table><thead><tr>${cells(header, "th")}</tr></thead><tbody>${body}</tbody></table></div>\n`
      }
    }
  }).parse(markdown, { async: false })
