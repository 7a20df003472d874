/** What the command says before and during its work: which Node.js it needs, and how far it is. */
import { afterEach, assert, beforeEach, describe, it, vi } from "@effect/vitest"
import { nodeProblem } from "../src/command/NodeVersion.ts"
import { during, makeProgress } from "../src/command/Progress.ts"

const open = (isTTY: boolean) => {
  const written: Array<string> = []
  const write = (text: string | Uint8Array) => written.push(String(text)) > 0
  return { written, progress: makeProgress({ isTTY, write }) }
}

describe("progress", () => {
  // Other files share the process, and what they have left may set a timeout meanwhile. A progress has an interval.
  beforeEach(() => void vi.useFakeTimers({ toFake: ["setInterval", "clearInterval", "performance"] }))
  afterEach(() => void vi.useRealTimers())

  it("is one line of a terminal that counts seconds and is gone at the end", async () => {
    const { progress, written } = open(true)
    const work = Promise.withResolvers<string>()
    const shown = during(progress, "Migrating", work.promise)
    await vi.advanceTimersByTimeAsync(2_500)
    work.resolve("done")
    assert.strictEqual(await shown, "done")
    const line = (text: string) => `\r\u001b[2K${text}`
    assert.deepStrictEqual(written, ["Migrating…", "Migrating… 1 s", "Migrating… 2 s", ""].map(line))
    assert.strictEqual(vi.getTimerCount(), 0)
  })

  it("is gone after a failure, and was never there without a terminal", async () => {
    const { progress, written } = open(true)
    const failed = await during(progress, "Migrating", Promise.reject(new Error("refused"))).catch(String)
    assert.strictEqual(failed, "Error: refused")
    assert.lengthOf(written, 2)
    const silent = open(false)
    await during(silent.progress, "Migrating", Promise.resolve(1))
    silent.progress.clear()
    assert.deepStrictEqual(silent.written, [])
  })
})

it("says which Node.js is needed where an older one runs", () => {
  assert.deepStrictEqual(["22.19.0", "22.20.1", "24.0.0"].map(nodeProblem), [null, null, null])
  for (const version of ["20.20.2", "22.18.9", "18.0.0"]) {
    assert.strictEqual(nodeProblem(version), `Node.js 22.19 or newer is needed; this is ${version}.`)
  }
})
