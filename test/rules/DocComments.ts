/** The doc comments of a source file with the members that they document, read from its syntax. Nothing is executed. */
import { parseSync } from "rolldown/utils"
import { childNodes, isNode, type Node } from "./Syntax.ts"

export interface DocComment {
  /** The names of the declarations around the member, and its own: `RunStore.begin`. The comment of a whole file has the name `module`. */
  readonly member: string
  readonly line: number
  /** Without the marks of the comment. Lines of a paragraph are joined; list items and paragraphs are lines of their own. */
  readonly text: string
}

const declaredName = (node: Node): string | undefined => {
  const declared = [node["declaration"], node["declarations"]].flat().find(isNode)
  if (declared !== undefined) return declaredName(declared)
  const name = node["id"] ?? node["key"]
  if (!isNode(name)) return undefined
  const text = name["name"] ?? name["value"]
  return typeof text === "string" ? text : undefined
}

/** The outermost node that begins after the comment, with the names on the way to it. */
const memberAt = (node: Node, offset: number, names: ReadonlyArray<string>): string => {
  const name = declaredName(node)
  const own = name === undefined || names.at(-1) === name ? names : [...names, name]
  if (node.start >= offset) return own.join(".")
  const next = childNodes(node)
    .filter(({ end }) => end > offset)
    .toSorted((a, b) => a.start - b.start)
    .at(0)
  return next === undefined ? own.join(".") : memberAt(next, offset, own)
}

const commentText = (comment: string): string =>
  comment
    .replace(/^\*/u, "")
    .split("\n")
    .map((line) => line.replace(/^\s*\*?/u, "").trim())
    .join("\n")
    .replace(/\n(?!\n|[-|*] )(?=\S)/gu, (_, at: number) => (at === 0 ? "" : " "))
    .replace(/[^\S\n]+/gu, " ")
    .trim()

/** The comment that opens a file documents the file: an import, another comment or a blank line follows it. */
const opensFile = (source: string, start: number, end: number): boolean =>
  source.slice(0, start).trim() === "" && /^\s*(?:\n\s*\n|import\b|\/\*|\/\/)/u.test(source.slice(end))

export const docCommentsIn = (source: string): ReadonlyArray<DocComment> => {
  const { comments, program } = parseSync("source.ts", source)
  const top: unknown = program
  if (!isNode(top)) return []
  return comments
    .filter(({ type, value }) => type === "Block" && value.startsWith("*"))
    .map(({ end, start, value }) => ({
      member: opensFile(source, start, end) ? "module" : memberAt({ ...top, start: 0 }, end, []),
      line: source.slice(0, start).split("\n").length,
      text: commentText(value)
    }))
}

/** The sentences of a comment. An item of a list begins a sentence. */
export const sentencesIn = (text: string): ReadonlyArray<string> =>
  text
    .split("\n")
    .flatMap((line) =>
      line
        .trim()
        .replace(/^[-*] /u, "")
        .split(/(?<=[.!?]) (?=[A-Z`"(])/u)
    )
    .filter((sentence) => sentence !== "")
