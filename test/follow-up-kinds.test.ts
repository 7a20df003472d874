/**
 * Every kind of follow-up: either its worker says what waits for it (`lost`), so that the sweep finds lost work, or a comment beside it says
 * why no record can wait.
 */
import { assert, describe, it } from "@effect/vitest"
import { globSync, readFileSync } from "node:fs"
import { join } from "node:path"

const root = join(import.meta.dirname, "..")

/** The workers in a text, each from the line before its call to the end of the call. */
const workersIn = (text: string): ReadonlyArray<string> =>
  text.split("\n").flatMap((line, at, lines) => {
    if (!/typedWorker\(\{/u.test(line)) return []
    const indent = /^ */u.exec(line)?.[0].length ?? 0
    const rest = lines.slice(at + 1)
    const isWhole = line.includes("})")
    const end = isWhole ? 0 : rest.findIndex((each) => each.startsWith(`${" ".repeat(indent)}})`)) + 1
    return [[lines[at - 1] ?? "", line, ...rest.slice(0, end)].join("\n")]
  })

describe("kinds of follow-ups", () => {
  const sources = globSync("packages/*/src/**/*.ts", { cwd: root }).filter((path) => !path.endsWith("FollowUps.ts"))
  const workers = sources.flatMap((path) =>
    workersIn(readFileSync(join(root, path), "utf8")).map((text) => ({ path, text }))
  )

  it("are all found", () => assert.isAtLeast(workers.length, 12))

  it("say what waits for them, or why nothing can", () => {
    const silent = workers.filter(({ text }) => !/\blost\b/u.test(text) && !text.includes("No record waits: "))
    assert.deepStrictEqual(
      silent.map(({ path, text }) => `${path}: ${text.slice(0, 120)}`),
      []
    )
  })
})
