/**
 * Pure: the language of a document, detected once, when it is indexed, and stored with it. The language determines the stop words and the
 * stemming. A text in any other language has English stems, which do no harm to words of other languages, and no stop words. A text of a few
 * words shows no language: it has that of the texts around it, or else English.
 */
import { englishStem } from "./stems/English.ts"
import { regularForm } from "./stems/EnglishForms.ts"
import { frenchStem } from "./stems/French.ts"
import { germanStem } from "./stems/German.ts"
import { spanishStem } from "./stems/Spanish.ts"

/** The languages whose words are brought to their stems. */
export const languages = ["en", "de", "fr", "es", "other"] as const
export type Language = (typeof languages)[number]

interface Grammar {
  readonly stem: (word: string) => string
  readonly stopWords: ReadonlySet<string>
}

const grammar = (stem: Grammar["stem"], stopWords: string): Grammar => ({
  stem,
  stopWords: new Set(stopWords.trim().split(/\s+/u))
})

const english = (word: string): string => englishStem(regularForm(word))

const grammars: Readonly<Record<Language, Grammar>> = {
  en: grammar(
    english,
    `a an the of to in on for and or is are was were be been did do does what when where who which how why her his their she he they it
     its with at by from as that this i you we my your me our him us them has have had would will can could not about`
  ),
  de: grammar(
    germanStem,
    `der die das den dem des ein eine einen einem einer eines und oder aber ist sind war waren sein bin bist wird werden wurde wurden hat
     haben hatte hatten ich du er sie es wir ihr mich dich sich uns euch ihm ihn ihnen mein dein unser euer nicht kein keine auch nur
     noch wie was wer wo wann warum welche welcher welches in im an am auf aus bei beim mit nach von vom zu zum zur für über unter vor
     durch um als dass wenn weil so`
  ),
  fr: grammar(
    frenchStem,
    `le la les l un une des du de d et ou mais est sont était étaient être été a ont avait avaient avoir je tu il elle on nous vous ils
     elles me te se lui leur y en ce cet cette ces mon ma mes ton ta tes son sa ses notre nos votre vos leurs ne pas n que qu qui quoi
     dont où quand comment pourquoi quel quelle quels quelles dans sur sous par pour avec sans au aux chez si s c j m t`
  ),
  es: grammar(
    spanishStem,
    `el la los las un una unos unas de del y e o u pero es son era eran ser sido fue fueron está están estaba ha han había haber hay yo
     tú él ella nosotros ellos ellas me te se nos le les lo su sus mi mis tu tus no que qué quién cuál cuáles cuándo cuando dónde donde
     cómo como por para con sin en a al sobre entre si muy más este esta estos estas ese esa eso`
  ),
  // A log is of no language, and has English words: their forms must be those of English texts, or a word of the question counts as rare in
  // each. Words of other languages are hardly changed.
  other: { stem: english, stopWords: new Set() }
}

export const isStopWord = (word: string, language: Language): boolean => grammars[language].stopWords.has(word)

/** A cache of stems, because words are repeated often and a look-up is faster than stemming. */
const remembered = new Map<Language, Map<string, string>>()
const mostRemembered = 50_000

export const stemWord = (word: string, language: Language): string => {
  const known = remembered.get(language) ?? new Map<string, string>()
  const found = known.get(word)
  if (found !== undefined) return found
  if (known.size >= mostRemembered) known.clear()
  const stem = grammars[language].stem(word)
  remembered.set(language, known.set(word, stem))
  return stem
}

/** True for a stop word of any language. */
export const isStopWordSomewhere = (word: string): boolean =>
  languages.some((language) => grammars[language].stopWords.has(word))

/** The number of characters that the detection reads. */
const sample = 20_000
/** A language is detected when this share of the words are its stop words, and more than those of any other language. */
const share = 0.12
/** One stop word proves nothing: "war" and "hat" are German ones, "son" is a French one. */
const fewest = 2
/** A text of fewer words may have no stop words in any language. */
const shortest = 40

/** What English joins to a word ("Ada's", "don't") would count as French words of one letter. */
const joined = /(?<=\p{L})[’'](?:s|t|d|m|re|ve|ll)\b/gu

const splitWords = (text: string): ReadonlyArray<string> =>
  text
    .slice(0, sample)
    .toLowerCase()
    .replaceAll(joined, "")
    .match(/[\p{L}\p{M}]+/gu) ?? []

/** By the stop words in the text: they are the most frequent words of each language, and few are shared. */
export const detectLanguage = (text: string): Language => detected(splitWords(text))

/** The language of a text among others, the nearest first: what was said with it, the thread, the assistant's instructions. */
export const languageAmong = (text: string, around: ReadonlyArray<string>): Language => {
  const words = splitWords(text)
  const own = detected(words)
  if (own !== "other" || words.length >= shortest) return own
  for (const other of around) {
    const language = detectLanguage(other)
    if (language !== "other") return language
  }
  return "en"
}

const detected = (words: ReadonlyArray<string>): Language => {
  const counts = languages.map((language) => {
    const found = words.filter((word) => grammars[language].stopWords.has(word))
    return { language, found: found.length, different: new Set(found).size }
  })
  const [best, second] = counts.toSorted((a, b) => b.found - a.found)
  if (best === undefined || second === undefined) return "other"
  // A log may have one letter in every line that is a word elsewhere.
  const isClear = best.found > second.found && best.found >= words.length * share && best.different >= fewest
  return isClear ? best.language : "other"
}
