/**
 * Pure: splits Markdown, while it is written, into sentences to be read aloud. Parts that cannot be heard are left out (code blocks,
 * rulers, addresses of links); marks are removed and their words are kept. A sentence is returned as soon as the next one has begun,
 * because only then is its end certain: `3.` may become `3.14`. A cut is never inside a word, a number or an inline mark.
 *
 * Two steps: lines to text (`lineContent`), text to sentences (`Sentences`). Used by `Speech`.
 */
import { cutAll, cutBegun, longestSentence, makeLanguageGuess } from "./Sentences.ts"

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

/** Makes sentences to speak of markdown that comes in pieces. */
export const makeSpokenText = (): SpokenText => {
  const language = makeLanguageGuess()
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
    const content = lineContent(line, isWhole, state)
    if (content === null) {
      look = line.length < shortLine ? 0 : line.length * 2
      return null
    }
    line = ""
    look = 0
    if (content.beginsBlock) endBlock()
    if (paragraph !== "") paragraph += " "
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
const lineContent = (line: string, isWhole: boolean, { fence, isParagraph }: LineState): LineContent | null => {
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

// ------ marks

/** The audible text of a piece of Markdown. */
const plainText = (markdown: string): string =>
  markdown
    // Markers of citations.
    .replace(/\s?\[[dm]\d{1,4}\]/gu, "")
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
    .replace(/[\u{E000}-\u{E0FF}]/gu, (mark) => String.fromCharCode(mark.charCodeAt(0) - 0xe000))
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
const escaped = (mark: string): string => String.fromCharCode(0xe000 + mark.charCodeAt(0))
