/** What `npm run compare` found, in docs/comparison/results.json, and the tables that the guide and README.md make of it. */
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { root } from "../Workspace.ts"

export const folder = join(root, "docs/comparison")

interface Installed {
  readonly title: string
  readonly versions: Readonly<Record<string, string>>
  readonly packages: number
  readonly megabytes: number
  /** Of the program `object`: a process that asks once. */
  readonly cpuMilliseconds: number
  readonly memoryMegabytes: number
  /** Of the program `express`, in milliseconds: one more answer of a server that has answered many. */
  readonly cpuOfAnAnswer: number
}

interface Found {
  readonly lines: number
  readonly findings: Readonly<Record<string, boolean>>
}

export interface Results {
  readonly date: string
  readonly node: string
  readonly libraries: Readonly<Record<string, Installed>>
  readonly applications: Readonly<Record<string, Readonly<Record<string, Found>>>>
}

const read = (name: string) => readFileSync(join(folder, name), "utf8")

export const readResults = (): Results => JSON.parse(read("results.json"))

/** Lines of a program without empty ones and those that are only a comment. */
export const programLines = (application: string, library: string): number =>
  read(`${application}/${library}.ts`)
    .split("\n")
    .filter((line) => line.trim() !== "" && !line.trim().startsWith("//")).length

/** The applications as the page names them. */
export const titles: Readonly<Record<string, string>> = {
  chat: "chat in the terminal, kept on disk",
  express: "Express, with its sessions",
  pdf: "question to PDF files, with the cited page",
  memory: "memory across conversations",
  gateway: "a company's gateway as the model",
  test: "test with a scripted model and virtual time",
  "use-chat": "route of `useChat`, and what its page loads",
  loop: "agent with a guard and a limit",
  object: "object from text",
  approval: "approval over a restart"
}

/** What was looked for, in the order of the applications. */
const questions: Readonly<Record<string, string>> = {
  "chat.streams": "the answer appears while it is written",
  "chat.survivesRestart": "a new process knows the conversation",
  "chat.keepsQuestionOfKilledProcess": "`kill -9` while the answer is written: the question is in the conversation",
  "express.refusesStrangers": "Express: a request without a session is refused",
  "express.hidesFromOthers": "Express: the session of another user does not see the conversation",
  "express.goesOnAfterReload":
    "Express: a client that left in the middle gets the answer from its beginning, and then the rest",
  "express.keepsAnswerThatNobodyReads": "Express: an answer that nobody reads any more is written to its end and kept",
  "express.keepsBothAtOnce": "Express: a second question during an answer: both questions and both answers are kept",
  "express.survivesRestart": "Express: a new process knows the conversation",
  "express.keepsQuestionOfKilledProcess": "Express: `kill -9` in the middle of an answer: its question is kept",
  "pdf.citesPage": "the answer names the file and the page",
  "memory.remembers": "another conversation in another process knows the fact",
  "gateway.tellsThatItRefused": "the gateway answers 503: the program reads a reason and goes on",
  "test.passes": "20 seconds of waiting take no time",
  "test.scriptsSilence": "the fake model can be silent before it answers",
  "use-chat.streams": "`useChat`: the answer appears while it is written",
  "use-chat.goesOnAfterReload":
    "`useChat`: a page that is loaded again shows the answer from its beginning, and then the rest",
  "use-chat.keepsAnswerThatNobodyReads": "`useChat`: the page was closed: the answer is written to its end and kept",
  "use-chat.hidesFromOthers": "`useChat`: another user does not see the chat",
  "use-chat.survivesRestart": "`useChat`: a new process loads the chat",
  "use-chat.keepsQuestionOfKilledProcess":
    "`useChat`: `kill -9` in the middle of an answer: its question is in the chat",
  "loop.hidesTheKey": "the key does not come out, though it came in two pieces",
  "loop.endsTheLoop": "a model that calls tools for ever is stopped after 4 or 5 calls",
  "loop.endsItWithoutException": "the stop is a result and not an exception",
  "object.processEnds": "the process ends by itself",
  "approval.paysAfterRestart": "another process approves, and the tool runs",
  "approval.paysOnceWhenApprovedTwice": "approved a second time, the tool does not run again",
  "approval.paysOnceWhenKilled": "`kill -9` after the tool ran, then approved again: it does not run again"
}

const row = (cells: ReadonlyArray<string | number>) => `| ${cells.join(" | ")} |`

const table = (head: ReadonlyArray<string>, rows: ReadonlyArray<ReadonlyArray<string | number>>) =>
  [row(head), row(head.map(() => "---")), ...rows.map(row)].join("\n")

/** The tables of docs/comparison.md by the names of their places there. */
export const resultTables = ({ applications, libraries }: Results): Readonly<Record<string, string>> => {
  const names = Object.keys(libraries)
  const head = ["", ...names.map((name) => libraries[name]?.title ?? name)]
  const lines = Object.entries(titles).map(([application, title]) => [
    title,
    ...names.map((name) => `[${applications[application]?.[name]?.lines ?? "–"}](comparison/${application}/${name}.ts)`)
  ])
  const found = Object.entries(questions).map(([place, question]) => {
    const [application = "", finding = ""] = place.split(".")
    return [
      question,
      ...names.map((name) => (applications[application]?.[name]?.findings[finding] === true ? "yes" : "**no**"))
    ]
  })
  const figure = (title: string, of: (library: Installed) => string | number) => [
    title,
    ...Object.values(libraries).map(of)
  ]
  const figures = [
    figure("packages that npm installs", ({ packages }) => packages),
    figure("megabytes on disk", ({ megabytes }) => megabytes),
    figure("CPU of a process that asks once, milliseconds", ({ cpuMilliseconds }) => cpuMilliseconds),
    figure("its memory, megabytes", ({ memoryMegabytes }) => memoryMegabytes),
    figure("CPU of one more answer of the Express program, milliseconds", ({ cpuOfAnAnswer }) => cpuOfAnAnswer),
    figure("versions", ({ versions }) =>
      Object.entries(versions)
        .map(([name, version]) => `${name} ${version}`)
        .join(", ")
    )
  ]
  return { lines: table(head, lines), findings: table(head, found), figures: table(head, figures) }
}

/** Replaces the tables in the text of a page; each stands between two comments. */
export const withTables = (page: string, tables: Readonly<Record<string, string>>): string =>
  Object.entries(tables).reduce(
    (text, [name, content]) =>
      text.replace(
        new RegExp(`(<!-- ${name} -->\n)[\\s\\S]*?(<!-- end of ${name} -->)`, "u"),
        (_, before: string, after: string) => `${before}${content}\n${after}`
      ),
    page
  )

/** The sentence of README.md. */
export const totalsSentence = ({ applications, libraries }: Results): string => {
  const total = (name: string) =>
    Object.keys(titles).reduce((sum, application) => sum + (applications[application]?.[name]?.lines ?? 0), 0)
  const others = Object.entries(libraries).filter(([name]) => name !== "colloquy")
  const list = others.map(([name, { title }]) => `${total(name)} with ${title}`)
  return `${Object.keys(titles).length} small applications take ${total("colloquy")} lines with Colloquy, ${list.slice(0, -1).join(", ")} and ${list.at(-1)}`
}
