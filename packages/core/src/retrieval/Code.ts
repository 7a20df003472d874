/**
 * Pure: splits source text into definitions, by the form of lines and not by a grammar, so that it works for all languages of the supported
 * files. A definition begins with the comments and decorators directly above it. One pass over the lines.
 */
import { forEachLine } from "./Cutting.ts"
import type { Steps } from "../primitives/Steps.ts"

/** A longer line is judged by its beginning: it is data, or code that was written for machines. */
const longestSignature = 1_000

const modifier =
  /^(?:(?:export|default|public|private|protected|internal|static|final|abstract|async|unsafe|inline|virtual|override|declare|sealed|extern)|pub(?:\([^()]*\))?)\s+/u
const named =
  /^(?:(?:function|class|interface|enum|struct|impl|trait|module|namespace|object|record|package)\b|(?:type|fn|def|func|fun)\s+\S)/u
const sql = /^(?:create|alter|insert\s+into|CREATE|ALTER|INSERT\s+INTO)\s+\w/u
const bound = /^(?:const|let|var)\s+\w/u
const boundValue = /^(?:async\s+)?(?:function\b|\(|class\b|\w+\s*=>)/u
const statement = /^(?:if|for|while|switch|return|else|catch|throw|new|await|yield|case|do)\b/u
const selectorStart = /^[^\s{}@/*#]/u
const commentLine = /^(?:\/\/|\/?\*|#|--|@|"""|\[\[?\w)/u

const withoutModifiers = (line: string): string => {
  let rest = line
  for (let found = modifier.exec(rest); found !== null; found = modifier.exec(rest)) rest = rest.slice(found[0].length)
  return rest
}

/** `const handle = async (request) => {` */
const isBound = (line: string): boolean => {
  const at = line.indexOf("=")
  return at !== -1 && bound.test(line) && boundValue.test(line.slice(at + 1).trimStart())
}

/** `int main(int count, char **words)`: a type, a name, and parameters that no semicolon ends. */
const isTyped = (line: string): boolean => {
  const at = line.indexOf("(")
  if (at === -1 || line.includes(";", at) || statement.test(line)) return false
  const head = line.slice(0, at).trimEnd()
  if (!/^[A-Za-z_][\w<>[\],:*&\s]*$/u.test(head)) return false
  const words = head.split(/\s+/u)
  return words.length > 1 && /^\**\w+$/u.test(words.at(-1) ?? "")
}

/** `render() {` */
const isMethod = (line: string): boolean => {
  if (
    !line.endsWith("{") ||
    !/^\w+\s*\(/u.test(line) ||
    /^(?:if|for|while|switch|return|else|catch|function)\b/u.test(line)
  )
    return false
  const [first, last] = [line.indexOf("("), line.lastIndexOf(")")]
  return last > first && !line.includes(";", first) && !line.includes("=", last)
}

/** `.button:hover {` */
const isCssRule = (line: string): boolean =>
  selectorStart.test(line) && line.search(/[{};]/u) === line.length - 1 && line.endsWith("{")

/** The first lines of a CSS rule whose selector has several lines. */
const isSelector = (line: string): boolean =>
  line.length <= longestSignature && !/^\s/u.test(line) && line.trimEnd().endsWith(",") && !/[{}();=]/u.test(line)

/** The indent of a line that opens a definition. */
const lineIndent = (text: string): number | null => {
  const line = text.slice(0, longestSignature).trimEnd()
  const bare = line.trimStart()
  const head = withoutModifiers(bare)
  const opens =
    named.test(head) || sql.test(head) || isBound(head) || isTyped(head) || isMethod(head) || isCssRule(bare)
  return opens ? line.length - bare.length : null
}

export interface Definition {
  /** The line that opens it; empty for text between definitions. */
  readonly signature: string
  readonly text: string
}

interface Start {
  /** The line that opens the definition, and the first of the lines above that belong to it. */
  readonly line: number
  readonly from: number
  readonly indent: number
}

/** The definitions of the outermost level that has any, and the text before them. Joined, they are the whole text. */
export function* findDefinitions(text: string): Steps<ReadonlyArray<Definition>> {
  const lines: Array<string> = []
  const starts: Array<Start> = []
  /** The first of the comments directly above. */
  let comments: number | null = null
  yield* forEachLine(text, (line, index) => {
    lines.push(line)
    const indent = lineIndent(line)
    if (indent !== null) starts.push({ line: index, from: comments ?? index, indent })
    const belongs = commentLine.test(line.slice(0, longestSignature).trimStart()) || isSelector(line)
    comments = belongs ? (comments ?? index) : null
  })
  const below = starts.filter(({ from }) => from > 0)
  const outermost = below.reduce((least, { indent }) => Math.min(least, indent), Infinity)
  const cuts = below.filter(({ indent }) => indent === outermost).map(({ from }) => from)
  const bounds = [...new Set([0, ...cuts, lines.length])]
  let next = 0
  return bounds.slice(1).map((end, index) => {
    const from = bounds[index] ?? 0
    while ((starts[next]?.line ?? Infinity) < from) next++
    const line = starts[next]?.line ?? Infinity
    return { signature: line < end ? (lines[line] ?? "") : "", text: lines.slice(from, end).join("") }
  })
}
