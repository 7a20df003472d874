// Changes the pure rooms a little, one place at a time, and runs their tests: a change that no test notices is a survivor.
// `npm run mutation` takes every place, `npm run mutation -- 40` about so many of them, spread evenly, `-- 40 FairTurns` those of one file.
import { spawn } from "node:child_process"
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { parseAst } from "rolldown/parseAst"
import { childNodes, isNode, type Node } from "../test/rules/Syntax.ts"
import { root } from "./Workspace.ts"

/** Sources, each with the tests that are to notice its changes. */
const rooms: Readonly<Record<string, ReadonlyArray<string>>> = {
  "packages/core/src/access/FairTurns.ts": ["packages/core/test/access/FairQueue.test.ts"],
  "packages/core/src/access/CrossSite.ts": ["packages/core/test/access/CrossSite.test.ts"],
  "packages/core/src/answers/Distribution.ts": ["packages/core/test/answers/Distribution.test.ts"],
  "packages/core/src/prompts/ContextWindow.ts": ["packages/core/test/prompts/ContextWindow.test.ts"],
  "packages/core/src/memory/Extraction.ts": ["packages/core/test/memory/Extraction.test.ts"],
  "packages/core/src/retrieval/Ranking.ts": ["packages/core/test/retrieval/Ranking.test.ts"],
  "packages/core/src/turns/Places.ts": ["packages/core/test/turns/Places.test.ts"],
  "packages/core/src/turns/StepRecorder.ts": [
    "packages/core/test/turns/TurnParts.test.ts",
    "packages/core/test/turns/HostileProvider.test.ts",
    "packages/core/test/turns/FirstConversation.test.ts",
    "packages/core/test/turns/Deltas.test.ts",
    "packages/core/test/turns/Continuation.test.ts",
    "packages/core/test/turns/Failures.test.ts",
    "packages/core/test/turns/Following.test.ts",
    "packages/core/test/turns/HostedTools.test.ts",
    "packages/core/test/turns/ProviderChoice.test.ts",
    "packages/core/test/turns/ToolRoundTrips.test.ts"
  ],
  "packages/core/src/voice/SpokenText.ts": ["packages/core/test/voice/SpokenText.test.ts"],
  "packages/core/src/web-search/Sources.ts": ["packages/core/test/web-search/Sources.test.ts"],
  "packages/http/src/bodies/LiftedMedia.ts": ["packages/http/test/LiftedMedia.test.ts"],
  "packages/http/src/wire/Json.ts": ["packages/http/test/Json.test.ts"]
}

interface Mutant {
  readonly file: string
  readonly start: number
  readonly end: number
  readonly text: string
  readonly told: string
}

const everyNode = (node: Node): ReadonlyArray<Node> =>
  // Types are gone when the program runs.
  node.type.startsWith("TS") ? [] : [node, ...childNodes(node).flatMap(everyNode)]

const otherOperators: Readonly<Record<string, string>> = {
  "===": "!==",
  "!==": "===",
  "<": "<=",
  "<=": "<",
  ">": ">=",
  ">=": ">",
  "+": "-",
  "-": "+",
  "*": "/",
  "/": "*",
  "&&": "||",
  "||": "&&"
}

/** What stands in the place of a node; null: nothing does. */
const nodeReplacement = (node: Node, source: string): Pick<Mutant, "start" | "end" | "text"> | null => {
  const { end, left, operator, right, start, value } = node
  if (typeof operator === "string" && isNode(left) && isNode(right) && operator in otherOperators) {
    const between = source.slice(left.end, right.start)
    return { start: left.end, end: right.start, text: between.replace(operator, otherOperators[operator] ?? "") }
  }
  if (node.type === "Literal" && typeof value === "number") return { start, end, text: String(value + 1) }
  if (node.type === "Literal" && typeof value === "boolean") return { start, end, text: String(!value) }
  const { expression, test } = node
  if (node.type === "ConditionalExpression" && isNode(test))
    return { start: test.start, end: test.end, text: `!(${source.slice(test.start, test.end)})` }
  return node.type === "ExpressionStatement" && isNode(expression) && expression.type === "CallExpression"
    ? { start, end, text: "" }
    : null
}

const mutantsIn = (file: string): ReadonlyArray<Mutant> => {
  const source = readFileSync(join(root, file), "utf8")
  const statements: ReadonlyArray<unknown> = parseAst(source, { lang: "ts" }).body
  return statements
    .filter(isNode)
    .filter(({ type }) => type !== "ImportDeclaration")
    .flatMap(everyNode)
    .flatMap((node) => {
      const change = nodeReplacement(node, source)
      if (change === null) return []
      const line = source.slice(0, change.start).split("\n").length
      const told = `${file}:${line} ${source.slice(change.start, change.end).trim()} → ${change.text.trim() || "nothing"}`
      return [{ file, told, ...change }]
    })
}

/** Whether a test fails. A program that never ends counts too. Its tests run in a thread, so that nothing of it is left when it is ended. */
const isNoticed = ({ end, file, start, text }: Mutant): Promise<boolean> => {
  const tests = rooms[file] ?? []
  const env = { ...process.env, MUTANT: [join(root, file), start, end, text].join("\n") }
  const vitest = join(root, "node_modules/vitest/vitest.mjs")
  const args = [vitest, "run", "--config", "scripts/mutation.config.ts", "--root", root, ...tests]
  const child = spawn(process.execPath, args, {
    cwd: root,
    env,
    stdio: "ignore",
    timeout: 60_000,
    killSignal: "SIGKILL"
  })
  return new Promise((resolve) => {
    child.on("close", (code) => resolve(code !== 0))
  })
}

const [most = "", only = ""] = process.argv.slice(2)
const all = Object.keys(rooms)
  .filter((file) => file.includes(only))
  .flatMap(mutantsIn)
const step = most === "" ? 1 : Math.max(1, all.length / Number(most))
const chosen = Array.from({ length: Math.floor(all.length / step) }, (_, at) => all[Math.floor(at * step)]).filter(
  (mutant) => mutant !== undefined
)
const survivors: Array<string> = []
const waiting = [...chosen]
const work = async () => {
  for (let mutant = waiting.shift(); mutant !== undefined; mutant = waiting.shift()) {
    if (await isNoticed(mutant)) continue
    survivors.push(mutant.told)
    console.log(`survived: ${mutant.told}`)
  }
}
await Promise.all([work(), work()])
const noticed = chosen.length - survivors.length
console.log(
  `${noticed} of ${chosen.length} changes were noticed (${Math.round((100 * noticed) / chosen.length)} %); ${all.length} are possible.`
)
