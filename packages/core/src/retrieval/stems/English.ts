/** The English stemmer of the Snowball project (Porter 2), written from its published description. */
import { list, markConsonants, regionFrom, suffixIn, longestSuffix, without } from "./Regions.ts"

const vowels = "aeiouy"

const special: ReadonlyMap<string, string> = new Map([
  ["skis", "ski"],
  ["skies", "sky"],
  ["dying", "die"],
  ["lying", "lie"],
  ["tying", "tie"],
  ["idly", "idl"],
  ["gently", "gentl"],
  ["ugly", "ugli"],
  ["early", "earli"],
  ["only", "onli"],
  ["singly", "singl"],
  ...list("sky news howe atlas cosmos bias andes").map((word): [string, string] => [word, word])
])

const finishedAfterPlural = new Set(list("inning outing canning herring earring proceed exceed succeed"))

const replacements = (text: string): ReadonlyMap<string, string> =>
  new Map(
    text
      .trim()
      .split(/\s+/u)
      .map((pair): [string, string] => [pair.split(">")[0] ?? "", pair.split(">")[1] ?? ""])
  )

const derived = replacements(`
  tional>tion enci>ence anci>ance abli>able entli>ent izer>ize ization>ize ational>ate ation>ate ator>ate alism>al aliti>al alli>al
  fulness>ful ousli>ous ousness>ous iveness>ive iviti>ive biliti>ble bli>ble ogi>og fulli>ful lessli>less li>`)
const abstract = replacements("tional>tion ational>ate alize>al icate>ic iciti>ic ical>ic ful> ness> ative>")
const last = list("al ance ence er ic able ible ant ement ment ent ism ate iti ous ive ize ion")

export const englishStem = (word: string): string => {
  if (word.length < 3 || !/^[a-z']+$/u.test(word)) return word
  const known = special.get(word)
  if (known !== undefined) return known
  // A y that is a consonant is marked as a capital.
  const marked = markConsonants(
    word.replace(/^'/u, ""),
    (before, letter) => letter === "y" && /^[aeiouy]?$/u.test(before)
  )
  const r1 = /^(?:gener|commun|arsen)/u.exec(marked)?.[0].length ?? regionFrom(marked, 0, vowels)
  const r2 = regionFrom(marked, r1, vowels)
  const singular = withoutPlural(marked.replace(/(?:'s'|'s|')$/u, ""))
  if (finishedAfterPlural.has(singular)) return singular
  const present = withY(withoutTense(singular, r1))
  const plain = withoutLast(withoutAbstract(withoutDerived(present, r1), r1, r2), r2)
  return withoutE(plain, r1, r2).toLowerCase()
}

const withoutPlural = (word: string): string => {
  if (word.endsWith("sses")) return without(word, "es")
  if (/ie[ds]$/u.test(word)) return word.slice(0, word.length > 4 ? -2 : -1)
  if (/[us]s$/u.test(word) || !word.endsWith("s")) return word
  return /[aeiouy]/u.test(word.slice(0, -2)) ? word.slice(0, -1) : word
}

const withoutTense = (word: string, r1: number): string => {
  const agreed = longestSuffix(word, ["eed", "eedly"])
  if (agreed !== null) return word.length - agreed.length >= r1 ? without(word, agreed, "ee") : word
  const tense = longestSuffix(word, ["ed", "edly", "ing", "ingly"])
  const stem = tense === null ? word : without(word, tense)
  if (tense === null || !/[aeiouy]/u.test(stem)) return word
  if (/(?:at|bl|iz)$/u.test(stem)) return `${stem}e`
  if (/(?:bb|dd|ff|gg|mm|nn|pp|rr|tt)$/u.test(stem)) return stem.slice(0, -1)
  return r1 >= stem.length && endsShort(stem) ? `${stem}e` : stem
}

const endsShort = (word: string): boolean =>
  /^[aeiouy][^aeiouy]$/u.test(word) || /[^aeiouy][aeiouy][^aeiouywxY]$/u.test(word)

const withY = (word: string): string => (/.[^aeiouy][yY]$/u.test(word) ? `${word.slice(0, -1)}i` : word)

const withoutDerived = (word: string, r1: number): string => {
  const suffix = longestSuffix(word, [...derived.keys()])
  if (suffix === null || word.length - suffix.length < r1) return word
  const stem = without(word, suffix)
  if (suffix === "ogi" && !stem.endsWith("l")) return word
  if (suffix === "li" && !/[cdeghkmnrt]$/u.test(stem)) return word
  return stem + (derived.get(suffix) ?? "")
}

const withoutAbstract = (word: string, r1: number, r2: number): string => {
  const suffix = longestSuffix(word, [...abstract.keys()])
  if (suffix === null || word.length - suffix.length < (suffix === "ative" ? r2 : r1)) return word
  return without(word, suffix, abstract.get(suffix))
}

const withoutLast = (word: string, r2: number): string => {
  const suffix = longestSuffix(word, last)
  if (suffix === null || suffixIn(word, r2, [suffix]) === null) return word
  return suffix === "ion" && !/[st]ion$/u.test(word) ? word : without(word, suffix)
}

const withoutE = (word: string, r1: number, r2: number): string => {
  const at = word.length - 1
  if (word.endsWith("e")) return at >= r2 || (at >= r1 && !endsShort(word.slice(0, -1))) ? word.slice(0, -1) : word
  return word.endsWith("ll") && at >= r2 ? word.slice(0, -1) : word
}
