/**
 * Pure: how passages are ranked that are found: the lexical rank, the sum of impacts (`Impacts`) times how rare each term is among the passages
 * that are searched, and how it is joined with the similarity of vectors. In whole numbers, so that every store ranks alike.
 */

/** How rare a term is that `found` of `all` passages have, in thousandths. */
export const rarityOf = (found: number, all: number): number =>
  Math.round(1000 * Math.log(1 + (all - found + 0.5) / (found + 0.5)))

/** The score of a passage is the sum of its impacts, each times the rarity of its term; shown in millionths of that. */
export const scoreUnit = 1_000_000

/** So many of the best by each rank are looked at together. */
export const candidates = 100

/** How much the similarity of vectors counts, when there are vectors. */
export const semanticShare = 0.5

export interface Ranks {
  /** Null: the passage has none of the terms. */
  readonly lexical: number | null
  /** The cosine of the vectors; null: no vector, or not among the nearest. */
  readonly semantic: number | null
}

/**
 * Joins both ranks by normalized score: the lexical one divided by its best, the semantic one stretched from its worst to its best. Without
 * any vector it is the lexical rank alone. One score for each, between 0 and 1.
 */
export const joinRanks = (ranks: ReadonlyArray<Ranks>): ReadonlyArray<number> => {
  const lexical = ranks.flatMap(({ lexical: score }) => score ?? [])
  const semantic = ranks.flatMap(({ semantic: score }) => score ?? [])
  const share = semantic.length === 0 ? 0 : semanticShare
  const most = lexical.reduce((a, b) => Math.max(a, b), 0) || 1
  const nearest = semantic.reduce((a, b) => Math.max(a, b), -1)
  const farthest = semantic.reduce((a, b) => Math.min(a, b), 1)
  const range = Math.max(nearest - farthest, 1e-6)
  return ranks.map(
    (rank) =>
      (1 - share) * ((rank.lexical ?? 0) / most) +
      share * (rank.semantic === null ? 0 : (rank.semantic - farthest) / range)
  )
}
