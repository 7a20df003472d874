/**
 * Pure: the weight of each term of a passage (its impact), by BM25 with context. It is fixed when the passage is indexed: lengths are
 * divided by a fixed pivot and not by an average that would change. The impacts are whole numbers, so that every store ranks alike
 * (`Ranking`).
 */
import { runSteps, type Steps } from "../primitives/Steps.ts"
import { dateWords, spokenDates } from "./Dates.ts"
import type { Language } from "./Language.ts"
import { splitTerms } from "./Terms.ts"

/** The unit that a search finds: a chunk of a document, a turn of a conversation, a memory. */
export interface Passage {
  readonly text: string
  /** Searched as if it were part of the text, but not added to the neighbours: the speaker, a caption. */
  readonly label: string
  /** Searched with less weight: headings, a file name. */
  readonly context: string
  /** The day on which it was said, which gives a meaning to "yesterday". */
  readonly said: Date | null
}

/** The weight of each source of a passage's terms, and how a passage's length counts. */
export interface Weighting {
  readonly own: number
  /** The weights of the terms of the passages before and after it, by distance. */
  readonly before: ReadonlyArray<number>
  readonly behind: ReadonlyArray<number>
  /** The maximum of terms that are taken from a neighbour, the nearest ones. */
  readonly lent: number
  readonly context: number
  readonly spokenDates: number
  /** The factor for a passage that ends with a question. */
  readonly question: number
  /** The length, in weighted terms, that is neither long nor short. */
  readonly pivot: number
}

/** For turns of a conversation and memories: they are short, and often need the text before them to be understood. */
export const turnWeighting: Weighting = {
  own: 2,
  before: [1, 0.5],
  behind: [0.5, 0.25],
  lent: 80,
  context: 1,
  spokenDates: 2,
  question: 0.8,
  pivot: 80
}

/** For chunks of documents: some hundred words each, split by size, so that only their edges need the neighbours. */
export const documentWeighting: Weighting = { ...turnWeighting, before: [1], behind: [0.5], lent: 40, pivot: 300 }

/** The impact of each term of a passage, 1 to 1,900. */
export type Impacts = ReadonlyMap<string, number>

const saturation = 0.9
const lengthShare = 0.75

/** The impacts of consecutive passages: of one document, or of one session of a conversation. */
export const termImpacts = (
  passages: ReadonlyArray<Passage>,
  language: Language,
  weighting: Weighting
): ReadonlyArray<Impacts> => runSteps(weighing(passages, language, weighting))

/** The same in steps, one passage each. */
export function* weighing(
  passages: ReadonlyArray<Passage>,
  language: Language,
  weighting: Weighting
): Steps<ReadonlyArray<Impacts>> {
  const impacts: Array<Impacts> = []
  for (const each of weighed(passages, language, weighting)) {
    impacts.push(each)
    yield
  }
  return impacts
}

/** The same one by one: only the terms of a passage and its neighbours are in memory. */
export function* weighed(
  passages: ReadonlyArray<Passage>,
  language: Language,
  weighting: Weighting
): Generator<Impacts> {
  const near = new Map<number, ReadonlyArray<string>>()
  const ownTerms = (index: number) => {
    const terms = near.get(index) ?? splitTerms(passages[index]?.text ?? "", language)
    near.set(index, terms)
    return terms
  }
  const terms = (source: string) => (source === "" ? [] : splitTerms(source, language))
  for (const [index, { context, label, said, text }] of passages.entries()) {
    const sources: ReadonlyArray<Source> = [
      [ownTerms(index), weighting.own],
      [terms(label), weighting.own],
      [terms(said === null ? context : `${context} ${dateWords(said)}`), weighting.context],
      [said === null ? [] : terms(spokenDates(text, said)), weighting.spokenDates],
      ...weighting.before.map((weight, by): Source => [ownTerms(index - by - 1).slice(-weighting.lent), weight]),
      ...weighting.behind.map((weight, by): Source => [ownTerms(index + by + 1).slice(0, weighting.lent), weight])
    ]
    near.delete(index - weighting.before.length)
    yield toImpacts(sources, text.trimEnd().endsWith("?") ? weighting.question : 1, weighting.pivot)
  }
}

type Source = readonly [terms: ReadonlyArray<string>, weight: number]

const toImpacts = (sources: ReadonlyArray<Source>, prior: number, pivot: number): Impacts => {
  const frequencies = new Map<string, number>()
  let length = 0
  for (const [terms, weight] of sources) {
    for (const term of terms) frequencies.set(term, (frequencies.get(term) ?? 0) + weight)
    length += terms.length * weight
  }
  const norm = saturation * (1 - lengthShare + (lengthShare * length) / pivot)
  for (const [term, frequency] of frequencies) {
    frequencies.set(term, Math.max(1, Math.round((1000 * prior * frequency * (saturation + 1)) / (frequency + norm))))
  }
  return frequencies
}
