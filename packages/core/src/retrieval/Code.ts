/**
 * Pure: splits source text into definitions, by the form of lines and not by a grammar, so that it works for all languages of the supported
 * files. A definition begins with the comments and decorators directly above it.
 */
import { linesOf } from "./Cutting.ts"

const modifiers = String.raw`(?:(?:export|default|public|private|protected|internal|static|final|abstract|async|unsafe|inline|virtual|override|declare|sealed|extern|pub(?:\([^)]*\))?)\s+)*`
const named = String.raw`(?:(?:function|class|interface|enum|struct|impl|trait|module|namespace|object|record|package)\b|(?:type|fn|def|func|fun)\s+\S)`
const bound = String.raw`(?:const|let|var)\s+\w+[^=]*=\s*(?:async\s*)?(?:function\b|\(|\w+\s*=>|class\b)`
const sql = String.raw`(?:create|alter|insert\s+into|CREATE|ALTER|INSERT\s+INTO)\s+\w+`
const typed = String.raw`(?!(?:if|for|while|switch|return|else|catch|throw|new|await|yield|case|do)\b)[A-Za-z_][\w<>[\],:*&\s]*\s\**\w+\s*\([^;]*$`
const method = String.raw`(?!(?:if|for|while|switch|return|else|catch|function)\b)\w+\s*\([^;]*\)[^;=]*\{\s*$`
const definition = new RegExp(`^(\\s*)${modifiers}(?:${named}|${bound}|${sql}|${typed}|${method})`, "u")
const cssRule = /^(\s*)[^\s{}@/*#][^{};]*\{\s*$/u
const commentLine = /^\s*(?:\/\/|\/?\*|#|--|@|"""|\[\[?\w)/u

/** The first lines of a CSS rule whose selector has several lines. */
const selector = /^[^\s{}();=][^{}();=]*,\s*$/u

const startOf = (line: string): string | null => (definition.exec(line) ?? cssRule.exec(line))?.[1] ?? null

export interface Definition {
  /** The line that opens it; empty for text between definitions. */
  readonly signature: string
  readonly text: string
}

/** The definitions of the outermost level that has any, and the text before them. Joined, they are the whole text. */
export const definitionsOf = (text: string): ReadonlyArray<Definition> => {
  const lines = linesOf(text)
  const starts = lines.flatMap((line, index) => {
    const indent = startOf(line)
    const start = indent === null ? 0 : startWithComments(lines, index)
    return indent === null || start === 0 ? [] : [{ start, indent: indent.length }]
  })
  const outermost = starts.reduce((least, { indent }) => Math.min(least, indent), Infinity)
  const cuts = starts.filter(({ indent }) => indent === outermost).map(({ start }) => start)
  const bounds = [...new Set([0, ...cuts, lines.length])]
  return bounds.slice(1).map((end, index) => {
    const part = lines.slice(bounds[index], end)
    return { signature: part.find((line) => startOf(line) !== null) ?? "", text: part.join("") }
  })
}

const startWithComments = (lines: ReadonlyArray<string>, start: number): number => {
  let first = start
  const belongs = (line: string) => commentLine.test(line) || selector.test(line)
  while (first > 0 && belongs(lines[first - 1] ?? "")) first--
  return first
}
