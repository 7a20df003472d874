/** The MUST sentences of a port, the titles of a suite's cases, and the page `test/contracts.md` that maps the first to the second. */
import { parseSync } from "rolldown/utils"
import { docCommentsIn, sentencesIn } from "./DocComments.ts"
import { everyNode, isNode, type Node } from "./Syntax.ts"

/** A MUST sentence and the member whose comment contains it. */
export interface Promised {
  readonly member: string
  readonly sentence: string
}

export interface TestedPromise extends Promised {
  readonly cases: ReadonlyArray<string>
}

export interface PortOnPage {
  readonly path: string
  readonly suites: ReadonlyArray<string>
  readonly promises: ReadonlyArray<TestedPromise>
}

export const promisedSentences = (source: string): ReadonlyArray<Promised> =>
  docCommentsIn(source).flatMap(({ member, text }) =>
    sentencesIn(text)
      .filter((sentence) => /\bMUST\b/u.test(sentence))
      .map((sentence) => ({ member, sentence }))
  )

/** The title of `test(title, case)`. A title with places to fill in keeps them: `on status ${status}`. */
const callTitle = (source: string, call: Node): ReadonlyArray<string> => {
  const [title, body] = [call["arguments"]].flat()
  if (call.type !== "CallExpression" || !isNode(title) || !isNode(body)) return []
  if (title.type !== "Literal" && title.type !== "TemplateLiteral") return []
  return typeof title["value"] === "string" ? [title["value"]] : [source.slice(title.start + 1, title.end - 1)]
}

export const caseTitles = (source: string): ReadonlyArray<string> => {
  const program: unknown = parseSync("suite.ts", source).program
  return isNode(program) ? everyNode(program).flatMap((node) => callTitle(source, node)) : []
}

const quotedIn = (line: string): ReadonlyArray<string> =>
  Array.from(line.matchAll(/`([^`]+)`/gu), ([, name = ""]) => name)

/** The lines below each heading of this depth, by its text. */
const sectionsIn = (page: string, mark: "##" | "###"): ReadonlyArray<readonly [heading: string, body: string]> =>
  page
    .split(new RegExp(`^${mark} `, "mu"))
    .slice(1)
    .map((section) => [section.split("\n", 1)[0] ?? "", section.slice(section.indexOf("\n") + 1)])

const promisesIn = (member: string, body: string): ReadonlyArray<TestedPromise> =>
  body
    .split(/^> /mu)
    .slice(1)
    .map((block) => {
      const [sentence = "", ...lines] = block.split("\n")
      return { member, sentence, cases: lines.flatMap((line) => (line.startsWith("- ") ? [line.slice(2)] : [])) }
    })

export const readPage = (page: string): ReadonlyArray<PortOnPage> =>
  sectionsIn(page, "##")
    .filter(([heading]) => heading.startsWith("`"))
    .map(([heading, body]) => ({
      path: quotedIn(heading)[0] ?? "",
      suites: quotedIn(body.split("\n").find((line) => line.startsWith("Suites: ")) ?? ""),
      promises: sectionsIn(body, "###").flatMap(([member, lines]) => promisesIn(member, lines))
    }))
