/** What a source file imports and exports, read from its syntax. The rule tests stand on this; nothing is executed. */
import { readFileSync, readdirSync } from "node:fs"
import { dirname, join, relative, resolve, sep } from "node:path"
import { fileURLToPath } from "node:url"
import { parseAst } from "rolldown/parseAst"
import { childNodes, everyNode, isNode, type Node } from "./Syntax.ts"

export const root = dirname(dirname(dirname(fileURLToPath(import.meta.url))))

const nodeText = (node: unknown): string | undefined => {
  if (!isNode(node)) return undefined
  const text = node["value"] ?? node["name"]
  return typeof text === "string" ? text : undefined
}

const parse = (source: string): ReadonlyArray<Node> => {
  const statements: ReadonlyArray<unknown> = parseAst(source, { lang: "ts" }).body
  return statements.filter(isNode)
}

/** Every module that the text names: static, re-exported, dynamic and in types. */
export const importsIn = (source: string): ReadonlyArray<string> => {
  const statements = parse(source)
  // Only dynamic imports and those in types stand inside of statements.
  const nodes = /\bimport\s*\(/u.test(source) ? statements.flatMap(everyNode) : statements
  return nodes.map((node) => nodeText(node["source"])).filter((name) => name !== undefined)
}

/** Every regular expression that is written as a literal, and how many are made while the program runs. */
export const patternsIn = (source: string): { readonly literals: ReadonlyArray<RegExp>; readonly made: number } => {
  const nodes = parse(source).flatMap(everyNode)
  const literals = nodes.flatMap(({ regex }) =>
    typeof regex === "object" && regex !== null && "pattern" in regex && "flags" in regex
      ? [new RegExp(String(regex.pattern), String(regex.flags))]
      : []
  )
  const made = nodes.filter(
    ({ callee, type }) => (type === "NewExpression" || type === "CallExpression") && nodeText(callee) === "RegExp"
  )
  return { literals, made: made.length }
}

const boundNames = (pattern: unknown): ReadonlyArray<string> => {
  if (!isNode(pattern)) return []
  if (pattern.type === "Identifier") return [nodeText(pattern) ?? ""]
  return pattern.type === "Property" ? boundNames(pattern["value"]) : childNodes(pattern).flatMap(boundNames)
}

const declaredNames = (declaration: Node): ReadonlyArray<string> =>
  declaration.type === "VariableDeclaration"
    ? childNodes(declaration).flatMap((declarator) => boundNames(declarator["id"]))
    : boundNames(declaration["id"])

const named = (kind: unknown, name: string | undefined) => (kind === "type" ? `type ${name}` : `${name}`)

const exportedBy = (node: Node, file: string): ReadonlyArray<string> => {
  const target = nodeText(node["source"])
  const names = () =>
    target?.startsWith(".") ? publicNames(resolve(dirname(file), target)) : [`everything of ${target}`]
  if (node.type === "ExportDefaultDeclaration") return ["default"]
  if (node.type === "ExportAllDeclaration") {
    const space = nodeText(node["exported"])
    return space === undefined ? names() : names().map((name) => name.replace(/^(type )?/, `$1${space}.`))
  }
  if (node.type !== "ExportNamedDeclaration") return []
  const { declaration } = node
  if (isNode(declaration)) return declaredNames(declaration).map((name) => named(node["exportKind"], name))
  return childNodes(node)
    .filter(({ type }) => type === "ExportSpecifier")
    .map((specifier) =>
      named(node["exportKind"] === "type" ? "type" : specifier["exportKind"], nodeText(specifier["exported"]))
    )
}

/** The names that a module gives to the world, `type` before those that exist in types only; sorted, each once. */
export const publicNames = (file: string): ReadonlyArray<string> => {
  const names = parse(readFileSync(file, "utf8")).flatMap((node) => exportedBy(node, file))
  return [...new Set(names)].toSorted()
}

/** The TypeScript files below a folder of the repository, as paths from its top with forward slashes. */
export const sourceFiles = (folder: string): ReadonlyArray<string> =>
  readdirSync(join(root, folder), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && entry.name.endsWith(".ts"))
    .map((entry) => relative(root, join(entry.parentPath, entry.name)).split(sep).join("/"))
    .toSorted()
