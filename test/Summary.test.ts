/** The last lines of a run tell the truth, also about what did not run. */
import { assert, describe, it } from "@effect/vitest"
import { browserLines, countLine, databaseLines, secondTryLines } from "./Summary.ts"

describe("the summary of a test run", () => {
  it("counts, and leaves skipped tests out when there are none", () => {
    assert.strictEqual(countLine({ passed: 3 }, 0), "3 passed, 0 failed")
    assert.strictEqual(countLine({ passed: 3, failed: 1, skipped: 2 }, 0), "3 passed, 1 failed, 2 skipped")
  })

  it("names what failed once and passed at the second try", () => {
    assert.deepStrictEqual(secondTryLines([]), [])
    assert.deepStrictEqual(secondTryLines(["a.test.ts > works"]), [
      "Failed once and passed at the second try (1):",
      "  a.test.ts > works"
    ])
  })

  it("counts a file that could not be loaded as a failed test", () => {
    assert.strictEqual(countLine({}, 1), "0 passed, 1 failed")
  })

  it("names the databases with their number of tests", () => {
    const lines = databaseLines({ Postgres: 2, PGlite: 1 }, "postgres://somewhere")
    assert.deepStrictEqual(lines, ["Databases tested: Postgres (2 tests), PGlite (1 tests)"])
  })

  it("says that Postgres was not tested, and why", () => {
    assert.deepStrictEqual(databaseLines({}, undefined), [
      "Databases tested: none",
      "Postgres was NOT tested: TEST_DATABASE_URL is not set"
    ])
  })

  it("tells of a browser only where tests wanted one, and says that there was none", () => {
    assert.deepStrictEqual(browserLines({}), [])
    assert.deepStrictEqual(browserLines({ Chromium: 3 }), ["Browsers tested: Chromium (3 tests)"])
    assert.deepStrictEqual(browserLines({ missing: 1 }), ["Chromium was NOT tested: it is not installed"])
  })
})
