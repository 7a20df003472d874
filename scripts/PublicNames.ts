// Every public name of every sub-path with its comment and its type, read by the compiler. It looks at the sources, so nothing must be built before.
import { basename, join } from "node:path"
import { readFileSync } from "node:fs"
import type { ClassDeclaration, Node, SourceFile } from "typescript/unstable/ast"
import {
  isArrowFunction,
  isClassDeclaration,
  isConstructorDeclaration,
  isFunctionDeclaration,
  isFunctionExpression,
  isGetAccessorDeclaration,
  isInterfaceDeclaration,
  isMethodDeclaration,
  isMethodSignatureDeclaration,
  isPropertyDeclaration,
  isPropertySignatureDeclaration,
  isTypeAliasDeclaration,
  isVariableDeclaration
} from "typescript/unstable/ast/is"
import { API, NodeBuilderFlags, type Project, type Symbol as Name, SymbolFlags } from "typescript/unstable/sync"
import { packages, root } from "./Workspace.ts"

export interface PublicMember {
  readonly name: string
  readonly type: string
  readonly isOptional: boolean
  readonly text: string
}

export interface PublicName {
  /** `Kernel.layer` for a name of a namespace. */
  readonly name: string
  /** Its comment. Empty: it has none. */
  readonly text: string
  /** Its declaration, without the code that does the work. */
  readonly code: string
  /** The properties of an interface, with those that it inherits. */
  readonly members: ReadonlyArray<PublicMember>
  readonly file: string
}

export interface PublicEntry {
  /** `@colloquy/core/answers` */
  readonly name: string
  readonly text: string
  readonly names: ReadonlyArray<PublicName>
}

/** The most lines of one declaration. */
const longest = 60

/** The longest type that is written in full, in characters. */
const longestType = 1_000

/** Types are written in full, with the names that they have outside of their file. */
const whole = NodeBuilderFlags.NoTruncation | NodeBuilderFlags.UseAliasDefinedOutsideCurrentScope

const shortened = (code: string): string => {
  const lines = code.split("\n")
  return lines.length <= longest ? code : [...lines.slice(0, longest), "// …"].join("\n")
}

const unindented = (code: string): string => {
  const [, ...rest] = code.split("\n")
  const indent = Math.min(...rest.filter((line) => line.trim() !== "").map((line) => line.search(/\S/u)))
  return Number.isFinite(indent) && indent > 0 ? code.replaceAll(`\n${" ".repeat(indent)}`, "\n") : code
}

/** The comment at the top of a file, which tells what the file is for. */
const fileText = (file: string): string => {
  const [, comment = ""] =
    /^(?:#!.*\n)?\/\*\*([\s\S]*?)\*\/\s*\n(?=import|export \*|export \{|export type \{|\n)/u.exec(
      readFileSync(file, "utf8")
    ) ?? []
  return comment.replaceAll(/\n? *\* ?/gu, "\n").trim()
}

const reader = ({ checker, program }: Project) => {
  const sourceFile = (node: Node): SourceFile => node.getSourceFile()
  const sourceText = (node: Node, end = node.end): string =>
    sourceFile(node)
      .text.slice(node.getStart(sourceFile(node)), end)
      .trim()
  const typeText = (node: Node): string => {
    const type = checker.getTypeAtLocation(node)
    if (type === undefined) return "unknown"
    const text = checker.typeToString(type, undefined, whole)
    return text.length <= longestType ? text : checker.typeToString(type)
  }

  const memberCode = (member: ClassDeclaration["members"][number]): string => {
    const file = sourceFile(member)
    const begin = member.getStart(file, true)
    const upTo = (end: number) => file.text.slice(begin, end).trim()
    if (isPropertyDeclaration(member)) {
      if (member.initializer === undefined) return upTo(member.end)
      const end = member.type === undefined ? member.name.end : member.type.end
      return member.type === undefined ? `${upTo(end)}: ${typeText(member)}` : upTo(end)
    }
    const hasBody = isMethodDeclaration(member) || isGetAccessorDeclaration(member) || isConstructorDeclaration(member)
    return hasBody && member.body !== undefined ? upTo(member.body.getStart(file)) : upTo(member.end)
  }

  const classCode = (node: ClassDeclaration): string => {
    const [first] = node.members
    if (first === undefined) return sourceText(node)
    const head = sourceText(node, sourceFile(node).text.lastIndexOf("{", first.getStart(sourceFile(node), true)) + 1)
    const members = node.members.filter((each) => !/^\s*(?:private|#)/u.test(sourceText(each)))
    return `${head}\n${members.map((each) => `  ${memberCode(each)}`).join("\n")}\n}`
  }

  const declarationCode = (node: Node): string => {
    if (isClassDeclaration(node)) return classCode(node)
    if (isFunctionDeclaration(node)) return sourceText(node, node.body?.getStart(sourceFile(node)))
    if (!isVariableDeclaration(node)) return sourceText(node)
    const { initializer, type } = node
    const name = sourceText(node.name)
    if (type !== undefined) return `const ${name}: ${sourceText(type)}`
    const isFunction = initializer !== undefined && (isArrowFunction(initializer) || isFunctionExpression(initializer))
    if (!isFunction && initializer !== undefined && /^(?:Schema|Context)\./u.test(sourceText(initializer)))
      return `const ${sourceText(node)}`
    return `const ${name}: ${typeText(node.name)}`
  }

  const publicMembers = (declarations: ReadonlyArray<Node>, symbol: Name): ReadonlyArray<PublicMember> => {
    if (!declarations.some((node) => isInterfaceDeclaration(node) || isTypeAliasDeclaration(node))) return []
    return checker.getPropertiesOfType(checker.getDeclaredTypeOfSymbol(symbol)).flatMap((property) => {
      const node = property.declarations[0]?.resolve()
      if (node === undefined || !(isPropertySignatureDeclaration(node) || isMethodSignatureDeclaration(node))) return []
      const type =
        isPropertySignatureDeclaration(node) && node.type !== undefined ? sourceText(node.type) : typeText(node)
      return [
        {
          name: property.name,
          type,
          isOptional: (property.flags & SymbolFlags.Optional) !== 0,
          text: checker.getDocumentationCommentOfSymbol(property)
        }
      ]
    })
  }

  const named = (name: string, alias: Name): ReadonlyArray<PublicName> => {
    const symbol = (alias.flags & SymbolFlags.Alias) === 0 ? alias : checker.getAliasedSymbol(alias)
    const declarations = symbol.declarations.flatMap((handle) => handle.resolve() ?? [])
    const file = declarations[0] === undefined ? "" : sourceFile(declarations[0]).fileName
    // A library's own name that an entry passes on is documented there.
    if (file.includes("/node_modules/")) return []
    const isSpace = (symbol.flags & SymbolFlags.ValueModule) !== 0
    const isOfFile = isSpace || basename(file, ".ts").toLowerCase() === name.toLowerCase()
    const own = checker.getDocumentationCommentOfSymbol(symbol)
    const text = own === "" ? checker.getDocumentationCommentOfSymbol(alias) : own
    const inside = isSpace
      ? checker.getExportsOfModule(symbol).flatMap((each) => named(`${name}.${each.name}`, each))
      : []
    return [
      {
        name,
        text: text === "" && isOfFile ? fileText(file) : text,
        code: isSpace ? "" : declarations.map((node) => shortened(unindented(declarationCode(node)))).join("\n\n"),
        members: publicMembers(declarations, symbol),
        file: file.slice(root.length + 1)
      },
      ...inside
    ]
  }

  return (source: string): ReadonlyArray<PublicName> => {
    const file = program.getSourceFile(source)
    const entry = file === undefined ? undefined : checker.getSymbolAtLocation(file)
    return entry === undefined ? [] : checker.getExportsOfModule(entry).flatMap((each) => named(each.name, each))
  }
}

export const readPublicNames = (): ReadonlyArray<PublicEntry> => {
  const api = new API({ cwd: root })
  try {
    const project = api
      .updateSnapshot({ openProjects: [join(root, "tsconfig.json")] })
      .getProject(join(root, "tsconfig.json"))
    if (project === undefined) throw new Error("tsconfig.json opens no project.")
    const read = reader(project)
    return packages.flatMap(({ entries }) =>
      entries.map(({ name, source }) => {
        const names = read(source)
        const text = fileText(source)
        return { name, text: text === "" ? (names[0]?.text ?? "") : text, names }
      })
    )
  } finally {
    api.close()
  }
}
