/** The search in sections of the guide, by minisearch over stems: headings before texts, pages of use before those about the code. */
import { splitTerms } from "@colloquy/core/retrieval"
import { lexer } from "marked"
import MiniSearch from "minisearch"
import { headingAnchor } from "./GuideMarkdown.ts"

interface GuideSection {
  readonly page: string
  /** The title of the page. */
  readonly title: string
  /** Empty: the text before the first heading below the title. */
  readonly heading: string
  readonly anchor: string
  /** Its lines: a row of a long table is found as easily as a short section. */
  readonly lines: ReadonlyArray<string>
}

export interface GuideHit {
  readonly section: GuideSection
  /** The words around the hit, each with a mark whether it was searched for. */
  readonly excerpt: ReadonlyArray<{ readonly text: string; readonly isFound: boolean }>
}

/** Code and marks of Markdown as words between spaces, which is all that a search and an excerpt need. */
const plain = (markdown: string): string => markdown.replaceAll(/[`|*#\s]+|\]\([^\](]*\)|\[|-{3,}/gu, " ").trim()

export const splitSections = (page: string, markdown: string): ReadonlyArray<GuideSection> => {
  const sections = [{ heading: "", anchor: "", lines: [] as Array<string> }]
  let title = page
  for (const token of lexer(markdown)) {
    if (token.type !== "heading") sections.at(-1)?.lines.push(...token.raw.split("\n").map(plain))
    else if (token["depth"] === 1) title = plain(token.raw)
    else sections.push({ heading: plain(token.raw), anchor: `#${headingAnchor(token["text"])}`, lines: [] })
  }
  return sections.map((section) => ({ page, title, ...section }))
}

const mostHits = 20
const longestQuery = 200
const isAboutCode = (page: string): boolean => !page.startsWith("docs/") || page.startsWith("docs/decisions/")

const stems = (word: string): Array<string> => [...splitTerms(word, "en")]

export const makeSearch = (sections: ReadonlyArray<GuideSection>): ((query: string) => ReadonlyArray<GuideHit>) => {
  const pieces = sections.flatMap((section) => ["", ...section.lines].map((text) => ({ section, text })))
  const index = new MiniSearch({
    fields: ["title", "heading", "text"],
    processTerm: stems,
    searchOptions: {
      prefix: (term) => term.length >= 3,
      boostDocument: (id: number) => (isAboutCode(pieces[id]?.section.page ?? "") ? 0.5 : 1)
    }
  })
  index.addAll(pieces.map(({ section: { heading, title }, text }, id) => ({ id, title, heading, text })))
  return (query) => {
    const best = new Map<GuideSection, GuideHit>()
    for (const { id, terms } of index.search(query.slice(0, longestQuery))) {
      const { section, text } = pieces[id] ?? {}
      if (section === undefined || text === undefined || best.has(section)) continue
      best.set(section, { section, excerpt: makeExcerpt(text, new Set(terms)) })
    }
    return [...best.values()].slice(0, mostHits)
  }
}

const before = 12
const wordsShown = 36

const makeExcerpt = (text: string, found: ReadonlySet<string>): GuideHit["excerpt"] => {
  const words = text.split(" ").map((word) => ({ text: word, isFound: stems(word).some((stem) => found.has(stem)) }))
  const from = Math.max(0, words.findIndex(({ isFound }) => isFound) - before)
  return words.slice(from, from + wordsShown)
}
