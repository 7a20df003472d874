/** A doc comment stands with the member that it documents: a comment that was moved or copied resembles the one of its own member. */
import { readFileSync } from "node:fs"
import { basename, join } from "node:path"
import { assert, describe, it } from "@effect/vitest"
import { docCommentsIn } from "./rules/DocComments.ts"
import { root, sourceFiles } from "./rules/SourceFile.ts"

/** Shorter comments resemble each other by chance: "Null: not known." */
const leastWords = 6

/** The share of the words of the longer comment that both have. */
const mostShared = 0.6

/** Comments, but not the slashes of an address in a text. */
const comment = /\/\*[\s\S]*?\*\/|(?<![:"'`\w])\/\/[^\n]*/gu

/** What comments name of other projects. */
const foreignNames = [
  "ControlFileData",
  "HttpAgent",
  "NoSuchBucket",
  "PortalSuspended",
  "RetryInfo",
  "onToolCall",
  "useChat"
]

const common = new Set(
  "a all an and are as at be by for from has have if in is it its no not of on one or than that the their them then they this to was when which with".split(
    " "
  )
)

const uncommonWords = (text: string): ReadonlySet<string> =>
  new Set((text.toLowerCase().match(/[\p{L}\p{N}_]+/gu) ?? []).filter((word) => !common.has(word)))

const sharedPart = (a: ReadonlySet<string>, b: ReadonlySet<string>): number =>
  Math.min(a.size, b.size) < leastWords ? 0 : [...a].filter((word) => b.has(word)).length / Math.max(a.size, b.size)

const similarPairs = <A>(all: ReadonlyArray<A>, readText: (one: A) => string): ReadonlyArray<readonly [A, A]> => {
  const comments = all.map((one) => ({ one, words: uncommonWords(readText(one)) }))
  return comments.flatMap((a, index) =>
    comments
      .slice(index + 1)
      .filter((b) => sharedPart(a.words, b.words) > mostShared)
      .map((b) => [a.one, b.one] as const)
  )
}

/** Pairs of members of one source whose comments are nearly the same. */
const twins = (source: string): ReadonlyArray<string> => {
  if (!hasTwins(source)) return []
  return similarPairs(docCommentsIn(source), ({ text }) => text).map(
    ([a, b]) => `${a.line} ${a.member} and ${b.line} ${b.member}: ${b.text}`
  )
}

/** Looks at comments without the syntax around them, because the syntax of a thousand files takes seconds to read. */
const hasTwins = (source: string): boolean =>
  similarPairs(source.match(/\/\*\*[\s\S]*?\*\//gu) ?? [], (text) => text).length > 0

describe("documentation", () => {
  it("of a member that carries the text of another one is found, also after the text was worded anew", () => {
    const source = `
      /** A port. */
      export interface Store {
        /** MUST delete the thread with its messages, runs and logs in one step; false when there is none. */
        setSummary: () => void
        /** MUST delete the thread with its messages, runs and logs at once; answers false when there is none. */
        remove: () => void
        /** Null: not known. */
        price: null
        /** Null: not known. */
        size: null
      }
    `
    assert.lengthOf(twins(source), 1)
    assert.include(twins(source)[0], "4 Store.setSummary and 6 Store.remove")
  })

  it("of two members of one file never shares most of its words", () => {
    const found = ["packages", "examples", "bench", "scripts", "test"]
      .flatMap(sourceFiles)
      .filter((file) => !/\/(?:node_modules|dist)\//u.test(file))
      .flatMap((file) => twins(readFileSync(join(root, file), "utf8")).map((pair) => `${file}: ${pair}`))
    assert.deepStrictEqual(found, [], "Write for each member what is true of it.")
  })

  it("names functions, types and fields that there are", () => {
    const sources = sourceFiles("packages").filter(
      (file) => file.includes("/src/") && !/\/(?:node_modules|dist)\//u.test(file)
    )
    const texts = sources.map((file) => [file, readFileSync(join(root, file), "utf8")] as const)
    const names = new Set([
      ...texts.flatMap(([, text]) => text.replace(comment, " ").match(/[A-Za-z_$][\w$]*/gu) ?? []),
      ...sources.map((file) => basename(file, ".ts")),
      ...foreignNames
    ])
    const found = texts.flatMap(([file, text]) =>
      (text.match(comment) ?? [])
        .flatMap((each) => [...each.matchAll(/`([A-Za-z_$][\w$]*)(?:\([^`]*\))?`/gu)])
        .map(([, name = ""]) => name)
        .filter((name) => /[a-z][A-Z]/u.test(name) && !names.has(name))
        .map((name) => `${file}: ${name}`)
    )
    assert.deepStrictEqual(
      found,
      [],
      "Name what has its place now, or add the name of another project to `foreignNames`."
    )
  })

  it("cites no specification that its readers do not have", () => {
    const found = sourceFiles("packages")
      .filter((file) => file.includes("/src/") && !/\/(?:node_modules|dist)\//u.test(file))
      .filter((file) =>
        /specification,? parts? \d|beyond the specification/iu.test(readFileSync(join(root, file), "utf8"))
      )
    assert.deepStrictEqual(found, [])
  })
})
