import { assert, describe, it } from "@effect/vitest"
import { deadAmong, type Missing, stillMissing } from "../../src/postgres/Presence.ts"

describe("processes without a lock", () => {
  const look = (before: Missing, now: number, ...found: ReadonlyArray<number>) => stillMissing(before, found, now)

  it("are dead when they were missing at each look for 1.5 seconds", () => {
    const first = look(new Map(), 1000, 7, 8)
    assert.deepStrictEqual(deadAmong(first, 1000), [])
    const second = look(first, 2000, 7, 9)
    assert.deepStrictEqual(deadAmong(second, 2000), [])
    const third = look(second, 2500, 7, 8, 9)
    assert.deepStrictEqual(deadAmong(third, 2500), [7])
  })

  it("live when they were seen with their lock in between", () => {
    const gone = look(look(new Map(), 1000, 7), 2000)
    assert.deepStrictEqual([...gone], [])
    assert.deepStrictEqual(deadAmong(look(gone, 3000, 7), 3000), [])
  })
})
