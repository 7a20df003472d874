/**
 * Pure: how found passages are ranked: the lexical rank, which is the sum of impacts (`Impacts`) times the rarity of each term among the
 * searched passages, and how it is joined with the similarity of vectors. In whole numbers, so that every store ranks alike.
 */

/** The rarity of a term that `found` of `all` passages have, in thousandths. */
export const termRarity = (found: number, all: number): number =>
  Math.round(1000 * Math.log(1 + (all - found + 0.5) / (found + 0.5)))

/** The score of a passage is the sum of its impacts, each times the rarity of its term. Scores are shown in millionths of that sum. */
export const scoreUnit = 1_000_000

/** The number of best passages of each rank that are joined. */
export const candidates = 100

/** The share of the similarity of vectors in the score, if there are vectors. */
export const semanticShare = 0.5

/** What the two searches found about a chunk. */
export interface Ranks {
  /** Null: the passage has none of the terms. */
  readonly lexical: number | null
  /** The cosine of the vectors; null if the passage has no vector or is not among the nearest. */
  readonly semantic: number | null
}

/**
 * Joins both ranks by normalised score: the lexical score divided by the best one, the semantic score scaled from the worst to the best
 * one. Without vectors the result is the lexical rank. One score for each passage, between 0 and 1.
 */
export const joinRanks = (ranks: ReadonlyArray<Ranks>): ReadonlyArray<number> => {
  const lexical = ranks.flatMap(({ lexical: score }) => score ?? [])
  const semantic = ranks.flatMap(({ semantic: score }) => score ?? [])
  const share = semantic.length === 0 ? 0 : semanticShare
  const most = lexical.reduce((a, b) => Math.max(a, b), 0) || 1
  const nearest = semantic.reduce((a, b) => Math.max(a, b), Number.NEGATIVE_INFINITY)
  const farthest = semantic.reduce((a, b) => Math.min(a, b), Number.POSITIVE_INFINITY)
  const range = Math.max(nearest - farthest, 1e-6)
  return ranks.map(
    (rank) =>
      (1 - share) * ((rank.lexical ?? 0) / most) +
      share * (rank.semantic === null ? 0 : (rank.semantic - farthest) / range)
  )
}
