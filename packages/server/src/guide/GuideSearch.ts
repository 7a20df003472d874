/**
 * Searches sections of the guide, best first: with the same terms and the same ranking as the search in documents, over headings and texts.
 */
import { documentWeighting, type Impacts, impactsOf, queryTerms, rarityOf, termsOf } from "@colloquy/core/retrieval"
import { lexer } from "marked"
import { anchorOf } from "./GuideMarkdown.ts"

export interface GuideSection {
  readonly page: string
  /** The title of the page. */
  readonly title: string
  /** Empty: the text before the first heading below the title. */
  readonly heading: string
  readonly anchor: string
  /** Its text in pieces of some lines, so that a row of a long table is found as easily as a short section. */
  readonly pieces: ReadonlyArray<string>
}

/** The words only, without Markdown marks and addresses of links. */
const plain = (markdown: string): string =>
  markdown
    .replaceAll(/^```\w*$/gmu, " ")
    .replaceAll(/\[([^\]]*)\]\([^)]*\)/gu, "$1")
    .replaceAll(/^\s*\|?[\s|:-]+$/gmu, " ")
    .replaceAll(/[`|]|\*\*|^#+ /gmu, " ")
    .replaceAll(/\s+/gu, " ")
    .trim()

export const sectionsOf = (page: string, markdown: string): ReadonlyArray<GuideSection> => {
  const sections: Array<{ heading: string; anchor: string; raw: string }> = [{ heading: "", anchor: "", raw: "" }]
  let title = page
  for (const token of lexer(markdown)) {
    if (token.type === "heading" && typeof token["text"] === "string") {
      const heading = plain(token["text"])
      if (token["depth"] === 1) title = heading
      else sections.push({ heading, anchor: `#${anchorOf(token["text"])}`, raw: "" })
    } else {
      const last = sections.at(-1)
      if (last !== undefined) last.raw += token.raw
    }
  }
  return sections.map(({ anchor, heading, raw }) => ({ page, title, heading, anchor, pieces: piecesOf(raw) }))
}

const shortestPiece = 200

/** Lines; short ones are joined with the following ones. */
const piecesOf = (raw: string): ReadonlyArray<string> => {
  const pieces: Array<string> = []
  let piece = ""
  for (const line of raw.split("\n").map(plain)) {
    piece = `${piece} ${line}`.trim()
    if (piece.length < shortestPiece) continue
    pieces.push(piece)
    piece = ""
  }
  return piece === "" && pieces.length > 0 ? pieces : [...pieces, piece]
}

export interface GuideHit {
  readonly section: GuideSection
  /** The words around the hit, each with a mark whether it was searched for. */
  readonly excerpt: ReadonlyArray<{ readonly text: string; readonly isFound: boolean }>
}

const mostHits = 20
const longestQuery = 200

/** A word that only begins like a searched word counts half. */
const shareOfBeginning = 0.5
const shortestBeginning = 3

/** Pages about the code of the project come after those about its use. */
const shareOfCode = 0.6
const isAboutCode = (page: string): boolean => !page.startsWith("docs/") || page.startsWith("docs/decisions/")

interface Piece {
  readonly section: GuideSection
  readonly text: string
  readonly impacts: Impacts
}

const weighed = (section: GuideSection): ReadonlyArray<Piece> =>
  section.pieces.map((text) => {
    const passage = { text, label: section.heading, context: section.title, said: null }
    const impacts = impactsOf([passage], "en", documentWeighting)[0] ?? new Map<string, number>()
    return { section, text, impacts }
  })

export const makeSearch = (sections: ReadonlyArray<GuideSection>): ((query: string) => ReadonlyArray<GuideHit>) => {
  const pieces = sections.flatMap(weighed)
  const counts = new Map<string, number>()
  for (const { impacts } of pieces) for (const term of impacts.keys()) counts.set(term, (counts.get(term) ?? 0) + 1)

  const wanted = (query: string): ReadonlyMap<string, number> => {
    const weights = new Map<string, number>()
    for (const asked of queryTerms(query.slice(0, longestQuery), "en")) {
      for (const [term, count] of counts) {
        const isBeginning = asked.length >= shortestBeginning && term.startsWith(asked)
        if (term !== asked && !isBeginning) continue
        const weight = rarityOf(count, pieces.length) * (term === asked ? 1 : shareOfBeginning)
        weights.set(term, Math.max(weights.get(term) ?? 0, weight))
      }
    }
    return weights
  }

  return (query) => {
    const weights = wanted(query)
    const scored = pieces
      .map(({ impacts, section, text }) => ({ section, text, score: scoreOf(impacts, weights, section.page) }))
      .filter(({ score }) => score > 0)
      .toSorted((a, b) => b.score - a.score)
    const best = new Map<GuideSection, string>()
    for (const { section, text } of scored) if (!best.has(section)) best.set(section, text)
    return [...best].slice(0, mostHits).map(([section, text]) => ({ section, excerpt: excerptOf(text, weights) }))
  }
}

const scoreOf = (impacts: Impacts, weights: ReadonlyMap<string, number>, page: string): number => {
  const sum = [...weights].reduce((total, [term, weight]) => total + weight * (impacts.get(term) ?? 0), 0)
  return isAboutCode(page) ? sum * shareOfCode : sum
}

const before = 12
const wordsShown = 36

const excerptOf = (text: string, weights: ReadonlyMap<string, number>): GuideHit["excerpt"] => {
  const words = text.split(" ").map((word) => ({
    text: word,
    isFound: termsOf(word, "en").some((term) => weights.has(term))
  }))
  const first = words.findIndex(({ isFound }) => isFound)
  const from = Math.max(0, first - before)
  return words.slice(from, from + wordsShown)
}
