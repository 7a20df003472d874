/**
 * Pure: cuts a text that is still being written into sentences (`Intl.Segmenter`, with the abbreviations and dates of English and German). A
 * cut is never inside a word, a number or an inline mark of Markdown. Used by `SpokenText`.
 */

/** A sentence without an end is cut between two words after this number of characters. */
export const longestSentence = 400

const segmenters = {
  en: new Intl.Segmenter("en", { granularity: "sentence" }),
  de: new Intl.Segmenter("de", { granularity: "sentence" })
}
const wordSegmenter = new Intl.Segmenter("en", { granularity: "word" })

/** How far the end of a sentence is looked for. What stands behind is looked at when its turn comes, so that no text is read often. */
const reach = 4 * longestSentence
/** Most sentences end within so many characters. */
const nearReach = 200

/** Whole sentences at the beginning of a text that is still being written, and the rest. */
export const cutBegun = (
  text: string,
  language: LanguageGuess
): { readonly sentences: ReadonlyArray<string>; readonly rest: string } => {
  const sentences: Array<string> = []
  let rest = text
  while (true) {
    const near = rest.slice(0, reach)
    const end =
      (rest.length > nearReach ? firstEnd(rest.slice(0, nearReach), language) : null) ??
      firstEnd(near, language) ??
      (rest.length > longestSentence ? cutOfLong(near) : null)
    if (end === null) return { sentences, rest }
    sentences.push(rest.slice(0, end))
    language.add(rest.slice(0, end))
    rest = rest.slice(end)
  }
}

export const cutAll = (text: string, language: LanguageGuess): ReadonlyArray<string> => {
  const { rest, sentences } = cutBegun(text, language)
  return [...sentences, rest]
}

/** The end of the first sentence, if a letter after it shows that another one has begun. */
const firstEnd = (text: string, language: LanguageGuess): number | null => {
  const mark = /\p{Sentence_Terminal}/u.exec(text)
  if (mark === null || !/\p{L}/u.test(text.slice(mark.index + 1))) return null
  const held = inlineMarks(text)
  for (const segment of segmenters[language.of(text)].segment(text)) {
    // The segmenter leaves a bracket that opens at the end of the sentence before it.
    const index = segment.index - (/[「『（【《]{1,9}$/u.exec(textBefore(text, segment.index))?.[0].length ?? 0)
    if (index > longestSentence) return null
    if (index === 0 || isInside(held, index)) continue
    const before = textBefore(text, index)
    const next = /\p{L}+/u.exec(text.slice(index))
    if (next === null) return null
    if (endsInAbbreviation(before) || isQuoted(before, next[0])) continue
    if (!endsInNumber.test(before)) return index
    // Whether a number with a dot is a day is certain only when the next word is complete.
    if (index + next.index + next[0].length === text.length) return null
    if (language.of(text.slice(0, index)) !== "de" && !months.has(next[0].toLowerCase())) return index
  }
  return null
}

/** The last characters before an index: enough to tell an abbreviation or a number. */
const textBefore = (text: string, index: number): string => text.slice(Math.max(0, index - 50), index)

/** In German, `3.` is also "the third". */
const endsInNumber = /(?:^|[\s(])\d{1,2}\.\s+$/u

const months = new Set(
  `januar jänner februar märz april mai juni juli august september oktober november dezember
   januari februari maart mei augustus januar marts maj august tammikuuta helmikuuta maaliskuuta`.split(/\s+/u)
)

/** Japanese and Chinese speech in brackets goes on behind them: 「行く。」と言った. */
const isQuoted = (before: string, next: string): boolean =>
  /[」』）】〉》]\s*$/u.test(before) && /^\p{Script=Hiragana}/u.test(next)

type Language = keyof typeof segmenters

export interface LanguageGuess {
  /** The text has ended, and counts for the language of what follows. */
  readonly add: (text: string) => void
  /** The language of the answer so far, with this text. */
  readonly of: (text: string) => Language
}

const german = new Set(
  `der die das den dem des und ist sind war ein eine einen einem einer zu zum zur vom von am im bis ab seit nicht mit auf für
   ich wir sie er es wird werden hat haben kommt auch oder als nach bei über heute morgen gestern geboren`.split(/\s+/u)
)
const english = new Set(
  `the a an is are was were of to on at and i you he she it we they for with not have has will my your this that`.split(
    /\s+/u
  )
)

export const makeLanguageGuess = (): LanguageGuess => {
  let lead = 0
  const languageLead = (text: string): number => {
    let sum = 0
    for (const [word] of text.toLowerCase().matchAll(/\p{L}+/gu)) {
      if (german.has(word)) sum++
      if (english.has(word)) sum--
    }
    return sum
  }
  return {
    add: (text) => {
      lead += languageLead(text)
    },
    of: (text) => (lead + languageLead(text) > 0 ? "de" : "en")
  }
}

/** Abbreviations: they end in a dot, but do not end a sentence. */
const endsInAbbreviation = (text: string): boolean =>
  /(?:^|[\s(])(?:\p{L}\.)+\s+$/u.test(text) ||
  abbreviations.has(/(?:^|[\s("„«])([\p{L}-]+)\.\s+$/u.exec(text)?.[1] ?? "")

const abbreviations = new Set(
  `Mr Mrs Ms Dr Prof St Sr Jr No vs etc approx Fig fig cf al Inc Ltd Co Corp Gen Col Lt Sgt Capt Rev Hon Gov Sen Rep
   pp p vol Vol ed eds est dept Dept Ave Blvd Mt viz
   Hr Hrn Fr Nr ca bzw usw ggf inkl exkl evtl Abs Art Kap Bd Std Min Sek Mio Mrd Jh geb gest vgl Vgl Dipl Ing Str Tel Abb Aufl
   Hrsg Jhd lt sog Tab zzgl zzt allg bspw dgl
   Mme Mlle MM env Sra Srta Dra Ud Uds Sig Dott Exmo`.split(/\s+/u)
)

/** A cut between two words, preferably after a comma or a similar mark. */
const cutOfLong = (text: string): number => {
  const held = inlineMarks(text)
  let best = 0
  let clause = 0
  let isNumber = false
  for (const { index, isWordLike, segment } of wordSegmenter.segment(text)) {
    if (index > longestSentence && best > 0) break
    // "12" and ".5" may be two segments of one number.
    const splitsNumber = isNumber && /^[\p{N}.,:]/u.test(segment)
    if (
      index > 0 &&
      !isInside(held, index) &&
      !splitsNumber &&
      (isWordLike !== true || /^\s/u.test(text[index - 1] ?? "") || isDense(segment))
    ) {
      if (!/^[\p{P}]/u.test(segment)) best = index
      if (/[,;:–—]\s$/u.test(text.slice(Math.max(0, index - 2), index))) clause = index
    }
    isNumber = /[\p{N}.,:]$/u.test(segment)
  }
  const cut = clause > longestSentence / 2 ? clause : best
  return cut === 0 ? text.length : cut
}

/** Scripts without spaces between words. */
const isDense = (segment: string): boolean =>
  /^[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}]/u.test(segment)

type Span = readonly [start: number, end: number]

/** Code, links, pictures, addresses and speech in East Asian brackets: no sentence ends inside of them. One that is still open reaches to the end of the text. */
const inlineMarks = (text: string): ReadonlyArray<Span> =>
  [
    ...text.matchAll(
      /`[^`]*(?:`|$)|「[^」]*(?:」|$)|『[^』]*(?:』|$)|（[^）]*(?:）|$)|【[^】]*(?:】|$)|《[^》]*(?:》|$)|!?\[[^\]]*(?:\]\([^)]*(?:\)|$)|\](?!\()|$)|<[a-zA-Z/][^>]*(?:>|$)|\bhttps?:\/\/\S+/gu
    )
  ].map((found): Span => [found.index, found.index + found[0].length])

const isInside = (spans: ReadonlyArray<Span>, index: number): boolean =>
  spans.some(([start, end]) => start < index && index < end)
