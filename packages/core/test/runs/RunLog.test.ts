/** What readers of a live log share. */
import { assert, describe, it } from "@effect/vitest"
import { RunLog } from "../../src/runs/RunLog.ts"

const logWith = (count: number) => {
  const log = new RunLog<{ readonly sequence: number; readonly _tag: string }>(1)
  for (let index = 0; index < count; index++) log.push((sequence) => ({ _tag: "Said", sequence }))
  return log
}

describe("readers of a live log", () => {
  it("at one place get the same array, until there is more to read", () => {
    const log = logWith(3)
    const first = log.after(1)
    assert.deepStrictEqual(
      first.map(({ sequence }) => sequence),
      [2, 3]
    )
    assert.strictEqual(log.after(1), first)
    log.push((sequence) => ({ _tag: "Said", sequence }))
    assert.lengthOf(log.after(1), 3)
    assert.lengthOf(first, 2)
  })

  it("get what has replaced an event", () => {
    const log = logWith(3)
    assert.lengthOf(log.after(0), 3)
    log.replace({ _tag: "Missed", sequence: 2 })
    assert.deepStrictEqual(
      log.after(0).map(({ _tag }) => _tag),
      ["Said", "Missed", "Said"]
    )
  })

  it("at many places are not remembered all", () => {
    const log = logWith(100)
    const first = log.after(0)
    for (let place = 1; place < 100; place++) log.after(place)
    assert.notStrictEqual(log.after(0), first)
    assert.deepStrictEqual(log.after(0), first)
  })
})
