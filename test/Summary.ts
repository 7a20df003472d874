/**
 * The last lines of a test run: which databases and browsers were tested, which tests failed once and passed at the second try, and how many
 * passed, failed and were skipped.
 */
import { writeFileSync } from "node:fs"
import type { Reporter, TestModule } from "vitest/node"

const countBy = <Item>(items: Iterable<Item>, itemKey: (item: Item) => string): Readonly<Record<string, number>> => {
  const counts: Record<string, number> = {}
  for (const item of items) counts[itemKey(item)] = (counts[itemKey(item)] ?? 0) + 1
  return counts
}

export const databaseLines = (
  tested: Readonly<Record<string, number>>,
  url: string | undefined
): ReadonlyArray<string> => {
  const ran = Object.entries(tested).map(([database, tests]) => `${database} (${tests} tests)`)
  return [
    `Databases tested: ${ran.length === 0 ? "none" : ran.join(", ")}`,
    ...(tested["Postgres"] === undefined && !url ? ["Postgres was NOT tested: TEST_DATABASE_URL is not set"] : [])
  ]
}

/** Nothing to say when no test of this run was for a browser. */
export const browserLines = (counts: Readonly<Record<string, number>>): ReadonlyArray<string> => {
  const { Chromium = 0, missing = 0 } = counts
  if (Chromium > 0) return [`Browsers tested: Chromium (${Chromium} tests)`]
  return missing > 0 ? ["Chromium was NOT tested: it is not installed"] : []
}

/** Each of them is a fault, of the test or of what it tests, and is to be mended. */
export const secondTryLines = (names: ReadonlyArray<string>): ReadonlyArray<string> =>
  names.length === 0
    ? []
    : [`Failed once and passed at the second try (${names.length}):`, ...names.map((name) => `  ${name}`)]

export const countLine = (counts: Readonly<Record<string, number>>, brokenFiles: number): string => {
  const { passed = 0, failed = 0, skipped = 0 } = counts
  return `${passed} passed, ${failed + brokenFiles} failed${skipped === 0 ? "" : `, ${skipped} skipped`}`
}

/** A file that could not be loaded has no tests to count; it counts as one that failed. */
const isBroken = (module: TestModule) =>
  module.state() === "failed" && [...module.children.allTests()].every((test) => test.result().state !== "failed")

export default class Summary implements Reporter {
  onTestRunEnd(modules: ReadonlyArray<TestModule>, errors: ReadonlyArray<unknown>): void {
    const tests = modules.flatMap((module) => [...module.children.allTests()])
    const ran = tests.filter((test) => test.result().state !== "skipped" && test.meta().database !== undefined)
    const broken = modules.filter(isBroken).length + errors.length
    const line = countLine(
      countBy(tests, (test) => test.result().state),
      broken
    )
    const databases = databaseLines(
      countBy(ran, (test) => test.meta().database ?? ""),
      process.env["TEST_DATABASE_URL"]
    )
    const browsers = browserLines(
      countBy(
        tests.filter((test) => test.meta().browser !== undefined),
        (test) => test.meta().browser ?? ""
      )
    )
    const secondTries = secondTryLines(
      tests
        .filter((test) => test.result().state === "passed" && (test.diagnostic()?.retryCount ?? 0) > 0)
        .map((test) => `${test.module.relativeModuleId} > ${test.fullName}`)
    )
    const text = [...databases, ...browsers, ...secondTries, line].join("\n")
    const file = process.env["COLLOQUY_TEST_SUMMARY"]
    if (file) writeFileSync(file, `${text}\n`)
    console.log(text)
  }
}
