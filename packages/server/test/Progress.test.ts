/** The line of progress of long commands. */
import { afterEach, assert, beforeEach, describe, it, vi } from "@effect/vitest"
import { during, makeProgress } from "../src/command/Progress.ts"

const open = (isTTY: boolean) => {
  const written: Array<string> = []
  const write = (text: string | Uint8Array) => written.push(String(text)) > 0
  return { written, progress: makeProgress({ isTTY, write }) }
}

describe("progress", () => {
  beforeEach(() => void vi.useFakeTimers())
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
