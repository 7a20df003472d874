/**
 * Pure: a text as the terms by which it is found: words in lower case, without stop words, stemmed in the language of their document; for
 * scripts without spaces between words, overlapping pairs of characters. Documents, queries and memories use the same functions.
 */
import { detectLanguage, isStopWord, isStopWordSomewhere, type Language, languages, stemWord } from "./Language.ts"

/** Scripts without spaces between words, and Korean, whose particles are joined to the words. */
const paired =
  /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}ー]/u
const run =
  /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}ー]+|[\p{L}\p{N}][\p{L}\p{M}\p{N}]*/gu
const ascii = /^[\0-\x7f]*$/u
const ideograph = /\p{Script=Han}/u
const possessive = /[’']s\b/giu
const smallBeforeCapital = /\p{Ll}\p{Lu}/u
const bounds = /(?<=\p{Ll})(?=\p{Lu})/u

/** The maximum length of a term in an index; a longer text is data, not a word. */
const longestTerm = 64

/** A search asks for this many terms at most, so that no question holds up the others. */
export const mostTerms = 64

/** How much of a longer question is read, from its beginning and from its end: there it says what it asks for. */
const longestEnd = 4_000
export const beginningAndEnd = (text: string): string =>
  text.length <= 2 * longestEnd ? text : `${text.slice(0, longestEnd)}\n${text.slice(-longestEnd)}`

const wordEnds = (terms: ReadonlyArray<string>): ReadonlyArray<string> =>
  terms.length <= mostTerms ? terms : [...terms.slice(0, mostTerms / 2), ...terms.slice(-mostTerms / 2)]

/** The terms of a text that is stored, in the order of the text. */
export const splitTerms = (text: string, language: Language): ReadonlyArray<string> => {
  const terms: Array<string> = []
  eachWord(text, true, (word, isPair) => {
    if (isPair) terms.push(word)
    else if (!isStopWord(word, language)) terms.push(makeTerm(word, language))
  })
  return terms
}

/**
 * The terms of a question, each once, as they are stored for documents of a language; of a long question the first and the last ones. The
 * stop words of the question's own language are left out too, because those of one language are ordinary words of another.
 */
export const queryTerms = (text: string, language: Language): ReadonlyArray<string> =>
  wordEnds(distinctTerms(questionWords(beginningAndEnd(text)), language, detectLanguage(text)))

/** The terms of a question in each language, because each document is searched in its own language. */
export const termsByLanguage = (query: string): ReadonlyMap<Language, ReadonlyArray<string>> => {
  const [words, asked] = [questionWords(beginningAndEnd(query)), detectLanguage(query)]
  return new Map(languages.map((language) => [language, wordEnds(distinctTerms(words, language, asked))]))
}

/** A sentence for who asked, if the question is longer than a search takes; otherwise null. */
export const noteOnQuery = (text: string): string | null => {
  const asked = detectLanguage(text)
  const isCut = text.length > 2 * longestEnd || distinctTerms(questionWords(text), asked, asked).length > mostTerms
  return isCut
    ? `The query is longer than a search takes: it was searched by ${mostTerms} different words at most, the first and the last ones.`
    : null
}

/** Each word once. */
const questionWords = (text: string): ReadonlyArray<Word> => {
  const words = new Map<string, Word>()
  eachWord(text, false, (word, isPair) => words.set(`${word}${isPair}`, { word, isPair }))
  return [...words.values()]
}

const distinctTerms = (words: ReadonlyArray<Word>, language: Language, asked: Language): ReadonlyArray<string> => {
  const without = (isLeftOut: (word: string) => boolean) => {
    const terms = new Set<string>()
    for (const { isPair, word } of words) {
      if (isPair) terms.add(word)
      else if (!isLeftOut(word)) terms.add(makeTerm(word, language))
    }
    return [...terms]
  }
  if (language !== "other" || asked !== "other") {
    return without((word) => isStopWord(word, language) || isStopWord(word, asked))
  }
  const certain = without(isStopWordSomewhere)
  // "Hat" alone is a word to look for, though it is a stop word in German.
  return certain.length > 0 ? certain : without((word) => isStopWord(word, "en"))
}

const makeTerm = (word: string, language: Language): string => withoutAccents(stemWord(word, language))

interface Word {
  /** In lower case, or a pair of characters of a script without spaces, which is a term already. */
  readonly word: string
  readonly isPair: boolean
}

/** Tells the words of a text in its order, and not as objects: a document has hundreds of thousands. */
const eachWord = (text: string, isStored: boolean, tell: (word: string, isPair: boolean) => void): void => {
  const isPlain = ascii.test(text)
  const normal = isPlain ? withoutPossessives(text) : withoutPossessives(text.normalize("NFKC"))
  for (const [word] of normal.matchAll(run)) {
    if (!isPlain && paired.test(word)) for (const pair of pairs(word, isStored)) tell(pair, true)
    else for (const each of withParts(word)) if (each.length <= longestTerm) tell(each, false)
  }
}

const withoutPossessives = (text: string): string => text.replaceAll(possessive, "")

/** In lower case; a name like parseHttpBody is also found by its parts. */
const withParts = (written: string): ReadonlyArray<string> =>
  smallBeforeCapital.test(written)
    ? [written, ...written.split(bounds)].map((each) => each.toLowerCase())
    : [written.toLowerCase()]

/** Latin letters only, because marks of other scripts are vowels. */
const withoutAccents = (word: string): string =>
  ascii.test(word)
    ? word
    : word
        .normalize("NFD")
        .replaceAll(/(?<=\p{Script=Latin})[\u0300-\u036f]+/gu, "")
        .normalize("NFC")

/** An ideograph may be a whole word, so it is also stored alone; a question with several characters searches the pairs only. */
const pairs = (word: string, isStored: boolean): ReadonlyArray<string> => {
  const characters = Array.from(word)
  if (characters.length < 2) return characters
  const both = characters.slice(1).map((character, index) => `${characters[index]}${character}`)
  return isStored ? [...both, ...characters.filter((character) => ideograph.test(character))] : both
}
