/**
 * The frame of each page of the guide: contents, search, links to the previous and the next page. Everything but the buttons that copy code
 * works without its script.
 */
import { escaped } from "./GuideMarkdown.ts"
import type { GuideHit } from "./GuideSearch.ts"

export interface PageLink {
  readonly title: string
  readonly href: string
}

export interface PagePart {
  /** Empty for the first page, which is in no part. */
  readonly title: string
  readonly pages: ReadonlyArray<PageLink>
}

export interface Frame {
  readonly title: string
  /** The relative path from this page to the folder of all pages. */
  readonly up: string
  readonly api: string
  readonly contents: ReadonlyArray<PagePart>
  /** The address of the page itself, which the contents mark. */
  readonly current: string | null
  readonly query: string
}

const linkTo = ({ href, title }: PageLink, rel = ""): string =>
  `<a href="${escaped(href)}"${rel === "" ? "" : ` rel="${rel}"`}>${escaped(title)}</a>`

const contentsHtml = ({ contents, current }: Frame): string =>
  contents
    .map(({ pages, title }) => {
      const items = pages.map((page) => {
        const mark = page.href === current ? ' aria-current="page"' : ""
        return `<li><a href="${escaped(page.href)}"${mark}>${escaped(page.title)}</a></li>`
      })
      const heading = title === "" ? "" : `<p>${escaped(title)}</p>`
      return `${heading}<ol>${items.join("\n")}</ol>`
    })
    .join("\n")

/** How many sections a page has before its list of them is shown. */
const fewestHeadings = 3

/** The page with the list of its sections behind its title. */
export const withHeadings = (html: string): string => {
  const headings = [...html.matchAll(/<h2 id="([^"]*)">(.*?)<\/h2>/gu)]
  if (headings.length < fewestHeadings) return html
  const items = headings.map(
    ([, id = "", words = ""]) => `<li><a href="#${id}">${words.replaceAll(/<[^<>]*>/gu, "")}</a></li>`
  )
  const list = `<nav class="places" aria-label="On this page"><ul>${items.join("\n")}</ul></nav>`
  return html.replace("</h1>", () => `</h1>\n${list}`)
}

const neighboursHtml = ({ contents, current }: Frame): string => {
  const all = contents.flatMap(({ pages }) => pages)
  const index = all.findIndex(({ href }) => href === current)
  const before = index > 0 ? all[index - 1] : undefined
  const behind = index >= 0 ? all[index + 1] : undefined
  if (before === undefined && behind === undefined) return ""
  const back = before === undefined ? "<span></span>" : `<span>Before: ${linkTo(before, "prev")}</span>`
  const on = behind === undefined ? "" : `<span>Next: ${linkTo(behind, "next")}</span>`
  return `<nav class="neighbours" aria-label="Before and next">${back}${on}</nav>`
}

export const layout = (frame: Frame, content: string): string => `<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8" />
    <meta name="viewport" content="width=device-width, initial-scale=1" />
    <title>${escaped(frame.title)} · Colloquy</title>
    <link rel="stylesheet" href="${frame.up}guide.css" />
    <link rel="icon" href="data:," />
    <script type="module" src="${frame.up}guide.js"></script>
  </head>
  <body>
    <a class="skip" href="#content">To the text</a>
    <header>
      <a class="home" href="${frame.up}">Colloquy: the guide</a>
      <a class="to-contents" href="#contents">Contents</a>
      <a href="${escaped(frame.api)}">The API</a>
      <form role="search" action="${frame.up}" method="get">
        <label for="q">Search the guide</label>
        <input id="q" name="q" type="search" value="${escaped(frame.query)}" maxlength="200" required />
        <button>Search</button>
      </form>
    </header>
    <div class="columns">
      <main id="content" tabindex="-1">
${content}
${neighboursHtml(frame)}
      </main>
      <nav id="contents" aria-label="Contents"><div>
${contentsHtml(frame)}
      </div></nav>
    </div>
  </body>
</html>
`

export const searchResults = (
  query: string,
  hits: ReadonlyArray<GuideHit>,
  href: (section: GuideHit["section"]) => string
): string => {
  const words = escaped(query)
  if (hits.length === 0) return `<h1>Search</h1><p role="status">Nothing in the guide has “${words}”.</p>`
  const count = hits.length === 1 ? "One section" : `${hits.length} sections`
  return `<h1>Search</h1><p role="status">${count} for “${words}”, best first.</p>${hitList(hits, href)}`
}

/** For an address that names no page: the pages whose words are like those of the address. */
export const lostPage = (hits: ReadonlyArray<GuideHit>, href: (section: GuideHit["section"]) => string): string => {
  const near = hits.length === 0 ? "" : `<p>These sections have words of it:</p>${hitList(hits, href)}`
  return `<h1>There is no such page</h1><p role="status">The guide has no page at this address. Search for it above, or look in the contents.</p>${near}`
}

const hitList = (hits: ReadonlyArray<GuideHit>, href: (section: GuideHit["section"]) => string): string => {
  const items = hits.map(({ excerpt, section }) => {
    const name = section.heading === "" ? section.title : `${section.title}: ${section.heading}`
    const text = excerpt.map((word) => (word.isFound ? `<mark>${escaped(word.text)}</mark>` : escaped(word.text)))
    return `<li><h2><a href="${escaped(href(section))}">${escaped(name)}</a></h2><p>${text.join(" ")}</p></li>`
  })
  return `<ol class="hits">${items.join("\n")}</ol>`
}
