/** The German stemmer of the Snowball project, written from its published description. */
import { cutIn, list, markConsonants, findRegions, suffixIn, longestSuffix, without } from "./Regions.ts"

const vowels = "aeiouyäöü"
const isVowel = (letter: string): boolean => letter !== "" && vowels.includes(letter)

/** The spelling of umlauts on keyboards without them. */
const umlauts: ReadonlyMap<string, string> = new Map([
  ["ae", "ä"],
  ["oe", "ö"],
  ["ue", "ü"]
])

export const germanStem = (word: string): string => {
  if (!/^[a-zäöüß]+$/u.test(word)) return word
  // A u or y between vowels is a consonant, marked as a capital.
  const marked = markConsonants(
    word,
    (before, letter, after) => /[uy]/u.test(letter) && isVowel(before) && isVowel(after)
  )
    .replaceAll("ß", "ss")
    .replaceAll(/ae|oe|(?<!q)ue/gu, (pair) => umlauts.get(pair) ?? pair)
  const { r1, r2 } = findRegions(marked, vowels)
  const first = Math.max(r1, 3)
  const stem = withoutDerivation(withoutComparison(withoutInflection(marked, first), first), first, r2)
  return stem.toLowerCase().replaceAll("ä", "a").replaceAll("ö", "o").replaceAll("ü", "u")
}

const withoutInflection = (word: string, r1: number): string => {
  const suffix = longestSuffix(word, list("em ern er e en es s"))
  if (suffix === null || suffixIn(word, r1, [suffix]) === null) return word
  const stem = without(word, suffix)
  if (suffix === "em" && stem.endsWith("syst")) return word
  if (suffix === "s") return /[bdfghklmnrt]$/u.test(stem) ? stem : word
  return suffix.startsWith("e") && suffix !== "em" && !suffix.includes("r") && stem.endsWith("niss")
    ? stem.slice(0, -1)
    : stem
}

const withoutComparison = (word: string, r1: number): string => {
  const suffix = longestSuffix(word, list("en er est st"))
  if (suffix === null || suffixIn(word, r1, [suffix]) === null) return word
  const stem = without(word, suffix)
  return suffix === "st" && !/.{3}[bdfghklmnt]$/u.test(stem) ? word : stem
}

const withoutDerivation = (word: string, r1: number, r2: number): string => {
  const suffix = longestSuffix(word, list("end ung ig ik isch lich heit keit"))
  if (suffix === null || suffixIn(word, r2, [suffix]) === null) return word
  const stem = without(word, suffix)
  switch (suffix) {
    case "end":
    case "ung":
      return stem.endsWith("eig") ? stem : cutIn(stem, r2, "ig")
    case "ig":
    case "ik":
    case "isch":
      return stem.endsWith("e") ? word : stem
    case "keit":
      return stem.endsWith("lich") ? cutIn(stem, r2, "lich") : cutIn(stem, r2, "ig")
    default:
      return stem.endsWith("er") ? cutIn(stem, r1, "er") : cutIn(stem, r1, "en")
  }
}
