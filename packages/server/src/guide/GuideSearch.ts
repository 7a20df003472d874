/**
 * The search in sections of the guide, by minisearch over stems. A section is found by its own words, by the title of its page, and by the
 * line about that page in the contents. Pages about use come before those about the code.
 */
import { splitTerms } from "@colloquy/core/retrieval"
import { lexer } from "marked"
import MiniSearch from "minisearch"
import { setImmediate as nextTurn } from "node:timers/promises"
import { headingAnchor } from "./GuideMarkdown.ts"

interface GuideSection {
  readonly page: string
  /** The title of the page. */
  readonly title: string
  /** Empty: the text before the first heading below the title. */
  readonly heading: string
  readonly anchor: string
  /** The lines of the section. Each is searched by itself, so that a row of a long table is found as easily as a short section. */
  readonly lines: ReadonlyArray<string>
}

export interface GuideHit {
  readonly section: GuideSection
  /** The words around the hit, each with a mark whether it was searched for. */
  readonly excerpt: ReadonlyArray<{ readonly text: string; readonly isFound: boolean }>
}

/** Code and marks of Markdown as words between spaces, which is all that a search and an excerpt need. */
const plain = (markdown: string): string => markdown.replaceAll(/[`|*#\s]+|\]\([^\](]*\)|\[|-{3,}/gu, " ").trim()

const splitSections = (page: string, markdown: string): ReadonlyArray<GuideSection> => {
  const sections = [{ heading: "", anchor: "", lines: [] as Array<string> }]
  let title = page
  for (const token of lexer(markdown)) {
    if (token.type !== "heading") sections.at(-1)?.lines.push(...token.raw.split("\n").map(plain))
    else if (token["depth"] === 1) title = plain(token.raw)
    else sections.push({ heading: plain(token.raw), anchor: `#${headingAnchor(token["text"])}`, lines: [] })
  }
  return sections.map((section) => ({ page, title, ...section }))
}

export interface GuidePage {
  readonly path: string
  /** The line about the page in the contents. */
  readonly about: string
  /** Markdown. */
  readonly text: string
}

const mostHits = 20
/** The largest number of hits of one page, so that it does not hide the others. */
const mostOfPage = 2
const longestQuery = 200
const isAboutCode = (page: string): boolean => !/^docs\/(?!decisions\/|reference\/)/u.test(page)

/** Words of a question that say nothing about a page. */
const idle: ReadonlySet<string> = new Set(
  "a add all an and are at be by can colloquy do does ends every for from how i in into is it me my of on one or that the there to use was what when which with without".split(
    " "
  )
)

/** The words of a question without those that occur in every question. A question that has no other words stays as it is. */
const askedWords = (query: string): string => {
  const words = query.slice(0, longestQuery).split(/\s+/u)
  const kept = words.filter((word) => !idle.has(word.toLowerCase()))
  return (kept.length === 0 ? words : kept).join(" ")
}

const stems = (word: string): Array<string> => [...splitTerms(word, "en")]

const searchOptions = { prefix: (term: string) => term.length >= 3 }

/** The number of entries that are added to an index before the event loop is given back. */
const chunkSize = 100

export const makeSearch = async (
  pages: ReadonlyArray<GuidePage>
): Promise<(query: string) => ReadonlyArray<GuideHit>> => {
  const all = []
  for (const { about, path, text } of pages) {
    all.push({ about, path, sections: splitSections(path, text) })
    await nextTurn()
  }
  const pieces = all.flatMap(({ about, sections }) =>
    sections.flatMap((section, index) =>
      ["", ...(index === 0 ? [plain(about)] : []), ...section.lines].map((text) => ({ section, text }))
    )
  )
  const inSections = new MiniSearch({ fields: ["title", "heading", "text"], processTerm: stems, searchOptions })
  await inSections.addAllAsync(
    pieces.map(({ section: { heading, title }, text }, id) => ({ id, title, heading, text })),
    { chunkSize }
  )
  const inPages = new MiniSearch({
    fields: ["title", "about", "headings", "text"],
    processTerm: stems,
    searchOptions: { ...searchOptions, boost: { title: 6, about: 4, headings: 2 } }
  })
  await inPages.addAllAsync(
    all.map(({ about, path, sections }) => ({
      id: path,
      title: sections[0]?.title ?? "",
      about: plain(about),
      headings: sections.map(({ heading }) => heading).join(" "),
      text: sections.flatMap(({ lines }) => lines).join(" ")
    })),
    { chunkSize: 1 }
  )
  return (query) => {
    const asked = askedWords(query)
    const weights = new Map(
      inPages.search(asked).map(({ id, score }) => [String(id), isAboutCode(String(id)) ? score / 6 : score])
    )
    const found = inSections
      .search(asked)
      .flatMap(({ id, score, terms }) => {
        const piece = pieces[id]
        return piece === undefined ? [] : { ...piece, terms, score: score * (weights.get(piece.section.page) ?? 0) }
      })
      .toSorted((a, b) => b.score - a.score)
    const best = new Map<GuideSection, GuideHit>()
    for (const { section, terms, text } of found) {
      if (!best.has(section)) best.set(section, { section, excerpt: makeExcerpt(text, new Set(terms)) })
    }
    const shown = new Map<string, number>()
    const isShown = ({ section: { page } }: GuideHit) => {
      const count = (shown.get(page) ?? 0) + 1
      shown.set(page, count)
      return count <= mostOfPage
    }
    return [...best.values()].filter(isShown).slice(0, mostHits)
  }
}

const before = 12
const wordsShown = 36

const makeExcerpt = (text: string, found: ReadonlySet<string>): GuideHit["excerpt"] => {
  const words = text.split(" ").map((word) => ({ text: word, isFound: stems(word).some((stem) => found.has(stem)) }))
  const from = Math.max(0, words.findIndex(({ isFound }) => isFound) - before)
  return words.slice(from, from + wordsShown)
}
