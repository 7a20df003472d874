/** The regions of the Snowball stemmers: a suffix is removed only if it is inside of a region. */

export interface Regions {
  /** After the first consonant that follows a vowel. */
  readonly r1: number
  /** The same, counted from the first region. */
  readonly r2: number
}

export const findRegions = (word: string, vowels: string): Regions => {
  const r1 = regionFrom(word, 0, vowels)
  return { r1, r2: regionFrom(word, r1, vowels) }
}

export const regionFrom = (word: string, from: number, vowels: string): number => {
  let index = from
  while (index < word.length && !vowels.includes(word.charAt(index))) index++
  while (index < word.length && vowels.includes(word.charAt(index))) index++
  return Math.min(index + 1, word.length)
}

/** Marks letters that are used as consonants as capitals, from left to right: a marked letter is no vowel for the next one. */
export const markConsonants = (
  word: string,
  isConsonant: (before: string, letter: string, after: string) => boolean
): string => {
  let marked = ""
  for (let index = 0; index < word.length; index++) {
    const letter = word.charAt(index)
    marked += isConsonant(marked.slice(-1), letter, word.charAt(index + 1)) ? letter.toUpperCase() : letter
  }
  return marked
}

/** The longest suffix with which a word ends. */
export const longestSuffix = (word: string, suffixes: ReadonlyArray<string>): string | null =>
  suffixes.reduce<string | null>(
    (longest, suffix) => (word.endsWith(suffix) && suffix.length > (longest?.length ?? 0) ? suffix : longest),
    null
  )

/** The longest suffix that is completely inside of the region. */
export const suffixIn = (word: string, from: number, suffixes: ReadonlyArray<string>): string | null =>
  longestSuffix(word.slice(from), suffixes)

export const without = (word: string, suffix: string, replacement = ""): string =>
  word.slice(0, word.length - suffix.length) + replacement

/** Removes the suffix if it is inside of the region. */
export const cutIn = (word: string, from: number, suffix: string, replacement = ""): string =>
  word.endsWith(suffix) && word.length - suffix.length >= from ? without(word, suffix, replacement) : word

/** Splits a list that is written with spaces. */
export const list = (text: string): ReadonlyArray<string> => text.trim().split(/\s+/u)
