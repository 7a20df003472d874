/**
 * Pure: splits Markdown, while it is written, into sentences to be read aloud. Parts that cannot be heard are left out (code blocks,
 * rulers, addresses of links); marks are removed and their words are kept. A sentence is returned as soon as the next one has begun,
 * because only then is its end certain: `3.` may become `3.14`. A cut is never inside a word, a number or an inline mark.
 *
 * Two steps: lines to text (`contentOf`), text to sentences (`Intl.Segmenter`). Used by `Speech`.
 */

/** A sentence without an end is cut between two words after this number of characters. */
export const longestSentence = 400

/** A longer line whose kind is not decided yet is looked at again when it has doubled. */
const shortLine = 64

/** A longer row of a table is read like any text, while it comes. */
const longestRow = 4_000

export interface SpokenText {
  /** Sentences that `text` completes. */
  readonly feed: (text: string) => ReadonlyArray<string>
  /** The rest when the text is over. */
  readonly end: () => ReadonlyArray<string>
}

export const makeSpokenText = (): SpokenText => {
  const language = makeLanguageOf()
  /** The line that is being written, until it is decided what it is. */
  let line = ""
  /** What it is. From then on it is handed on as it comes, so that a line without an end is not read again for every word. */
  let begun: LineContent | null = null
  /** How long a line is when it is looked at again. */
  let look = 0
  let carriage = ""
  let state: LineState = { fence: null, isParagraph: false }
  /** The text of the block that is being written, as Markdown. */
  let paragraph = ""
  let said: Array<string> = []

  const say = (markdown: string): void => {
    const text = plainText(markdown)
    if (/[\p{L}\p{N}]/u.test(text)) said.push(text)
  }

  const endBlock = (): void => {
    for (const sentence of cutAll(paragraph, language)) say(sentence)
    language.add(paragraph)
    paragraph = ""
  }

  const add = (text: string): void => {
    const isInWord = /^\p{L}+$/u.test(text) && /\p{L}$/u.test(paragraph.slice(-2))
    paragraph += text
    // No sentence ends inside of a word.
    if (isInWord && paragraph.length <= longestSentence) return
    const { rest, sentences } = cutBegun(paragraph, language)
    for (const sentence of sentences) say(sentence)
    paragraph = rest
  }

  const begin = (piece: string, isWhole: boolean): LineContent | null => {
    line += piece
    if (!isWhole && line.length < look) return null
    const content = contentOf(line, isWhole, state)
    if (content === null) {
      look = line.length < shortLine ? 0 : line.length * 2
      return null
    }
    line = ""
    look = 0
    if (content.beginsBlock) endBlock()
    if (content.text !== "" && paragraph !== "") paragraph += " "
    add(content.text)
    return content
  }

  const take = (piece: string, isWhole: boolean): void => {
    if (begun === null) begun = begin(piece, isWhole)
    else if (begun.text !== "") add(piece)
    if (begun === null || !isWhole) return
    if (begun.endsBlock) endBlock()
    state = begun.next
    begun = null
  }

  const flush = (): ReadonlyArray<string> => {
    const sentences = said
    said = []
    return sentences
  }

  return {
    feed: (text) => {
      const all = carriage + text
      // The line break that it begins may come with the next piece.
      carriage = all.endsWith("\r") ? "\r" : ""
      for (const piece of all.slice(0, all.length - carriage.length).split(/(?<=\n)/u)) {
        const isWhole = piece.endsWith("\n")
        take(isWhole ? piece.replace(/\r?\n$/u, "") : piece, isWhole)
      }
      return flush()
    },
    end: () => {
      take("", true)
      endBlock()
      return flush()
    }
  }
}

// ------ lines

interface LineState {
  /** The mark of the code block that contains the line. */
  readonly fence: string | null
  /** The line before was text, so this line may continue it. */
  readonly isParagraph: boolean
}

interface LineContent {
  readonly text: string
  readonly beginsBlock: boolean
  readonly endsBlock: boolean
  readonly next: LineState
}

const silent = (next: LineState): LineContent => ({ text: "", beginsBlock: true, endsBlock: true, next })
const outside: LineState = { fence: null, isParagraph: false }

/** The part of a line that is read aloud. Null: the rest of the line is needed to decide. */
const contentOf = (line: string, isWhole: boolean, { fence, isParagraph }: LineState): LineContent | null => {
  if (fence !== null) {
    if (!isWhole) return null
    const bare = line.trim()
    const closes = bare.startsWith(fence) && Array.from(bare).every((mark) => mark === fence[0])
    return silent(closes ? outside : { fence, isParagraph: false })
  }
  if (!isWhole && mayBecomeMark(line)) return null
  const opened = /^ {0,3}(?:>\s?)*(?:(?:[-*+]|\d{1,9}[.)])\s+)?(`{3,}|~{3,})/u.exec(line)?.[1]
  if (opened !== undefined) return isWhole ? silent({ fence: opened, isParagraph: false }) : null
  if (/^\s*$/u.test(line) || isRuler(line)) return silent(outside)
  if (!isParagraph && /^( {4}|\t)/u.test(line) && !/^\s+([-*+]|\d{1,9}[.)])\s/u.test(line)) return silent(outside)
  if (line.length <= longestRow && line.trimStart().startsWith("|")) return isWhole ? tableRow(line) : null
  const [mark = ""] = marks.exec(line) ?? []
  const isHeading = /#/u.test(mark)
  const number = /(\d{1,9})[.)]\s+$/u.exec(mark)?.[1]
  return {
    text: `${number === undefined ? "" : `${number}, `}${line.slice(mark.length)}`,
    beginsBlock: mark.trim() !== "",
    endsBlock: isHeading,
    next: { fence: null, isParagraph: !isHeading }
  }
}

/** Quotation, heading, bullet with its box, number: each at most once, in this order. */
const marks = /^\s*(?:>\s?)*\s*(?:#{1,6}\s+|[-*+]\s+(?:\[[ xX]\]\s+)?|\d{1,9}[.)]\s+)?/u

/** The beginning of a line that is not decided yet. */
const mayBecomeMark = (line: string): boolean =>
  /^(?:#{0,6}|[-*+](?:\s+(?:\[[ xX]?\]?)?)?|\d{1,9}[.)]?|[-*_=\s]+|(?:(?:[-*+]|\d{1,9}[.)])\s+)?(?:`{1,2}|~{1,2})?)$/u.test(
    line.trim().replace(/^[>\s]+/u, "")
  )

const isRuler = (line: string): boolean => /^ {0,3}([-*_])(?:\s*\1){2,}\s*$/u.test(line) || /^ {0,3}=+\s*$/u.test(line)

const tableRow = (line: string): LineContent => {
  const cells = line
    .trim()
    .replace(/^\||\|$/gu, "")
    .split(/(?<!\\)\|/u)
    .map((cell) => cell.trim())
  const isLine = cells.every((cell) => /^:?-+:?$/u.test(cell))
  const text = isLine ? "" : `${cells.filter((cell) => cell !== "").join(", ")}.`
  return { text, beginsBlock: true, endsBlock: true, next: outside }
}

// ------ sentences

const segmenters = {
  en: new Intl.Segmenter("en", { granularity: "sentence" }),
  de: new Intl.Segmenter("de", { granularity: "sentence" })
}
const wordsOf = new Intl.Segmenter("en", { granularity: "word" })

/** How far the end of a sentence is looked for. What stands behind is looked at when its turn comes, so that no text is read often. */
const reach = 4 * longestSentence
/** Most sentences end within so many characters. */
const nearReach = 200

/** Whole sentences at the beginning of a text that is still being written, and the rest. */
const cutBegun = (
  text: string,
  language: LanguageOf
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

const cutAll = (text: string, language: LanguageOf): ReadonlyArray<string> => {
  const { rest, sentences } = cutBegun(text, language)
  return [...sentences, rest]
}

/** The end of the first sentence, if a letter after it shows that another one has begun. */
const firstEnd = (text: string, language: LanguageOf): number | null => {
  const mark = /\p{Sentence_Terminal}/u.exec(text)
  if (mark === null || !/\p{L}/u.test(text.slice(mark.index + 1))) return null
  const held = inlineMarks(text)
  for (const segment of segmenters[language.of(text)].segment(text)) {
    // The segmenter leaves a bracket that opens at the end of the sentence before it.
    const index = segment.index - (/[「『（【《]{1,9}$/u.exec(endOf(text, segment.index))?.[0].length ?? 0)
    if (index > longestSentence) return null
    if (index === 0 || isInside(held, index)) continue
    const before = endOf(text, index)
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

/** The last characters before a place: enough to tell an abbreviation or a number. */
const endOf = (text: string, index: number): string => text.slice(Math.max(0, index - 50), index)

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

interface LanguageOf {
  /** The text is over: it counts for what follows. */
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

const makeLanguageOf = (): LanguageOf => {
  let lead = 0
  const leadOf = (text: string): number => {
    let sum = 0
    for (const [word] of text.toLowerCase().matchAll(/\p{L}+/gu)) {
      if (german.has(word)) sum++
      if (english.has(word)) sum--
    }
    return sum
  }
  return {
    add: (text) => {
      lead += leadOf(text)
    },
    of: (text) => (lead + leadOf(text) > 0 ? "de" : "en")
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
  for (const { index, isWordLike, segment } of wordsOf.segment(text)) {
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

const isInside = (spans: ReadonlyArray<Span>, place: number): boolean =>
  spans.some(([start, end]) => start < place && place < end)

// ------ marks

/** The audible text of a piece of Markdown. */
const plainText = (markdown: string): string =>
  markdown
    .replace(/!\[([^[\]]*)\](?:\([^()]*\))?/gu, "$1")
    .replace(/\[\^[^[\]]*\]/gu, "")
    .replace(/\[([^[\]]*)\]\((?:[^()]|\([^()]*\))*\)/gu, "$1")
    .replace(/\[([^[\]]*)\]\[[^[\]]*\]/gu, "$1")
    .replace(/<(https?:\/\/[^<>]*)>/gu, "$1")
    .replace(/\bhttps?:\/\/(?:www\.)?([^\s/?#)]*[^\s/?#).,;:!?])(?:[^\s)]*[^\s).,;:!?])?/gu, "$1")
    .replace(/<\/?[a-zA-Z][^<>]*>/gu, " ")
    .replace(/\\([\\`*_{}[\]()#+\-.!|<>~])/gu, (_, mark: string) => escaped(mark))
    .replace(/`+/gu, "")
    .replace(/(?<!\p{N})\*+|\*+(?!\p{N})|~~|(?<![\p{L}\p{N}])_+(?=\S)|(?<=\S)_+(?![\p{L}\p{N}])/gu, "")
    .replace(/&(amp|lt|gt|quot|nbsp|#39);/gu, (_, name: string) => entities.get(name) ?? " ")
    .replace(/[\u{E000}-\u{E0FF}]/gu, (mark) => String.fromCodePoint((mark.codePointAt(0) ?? 0xe020) - 0xe000))
    .replace(/\s+/gu, " ")
    .trim()

const entities = new Map([
  ["amp", "&"],
  ["lt", "<"],
  ["gt", ">"],
  ["quot", '"'],
  ["#39", "'"],
  ["nbsp", " "]
])

/** Replaces escaped marks by characters of a private range, so that they are not read as marks. */
const escaped = (mark: string): string => String.fromCodePoint(0xe000 + (mark.codePointAt(0) ?? 32))
