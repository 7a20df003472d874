import { assert, describe, it } from "@effect/vitest"
import { RecentlyUsed } from "../../src/primitives/RecentlyUsed.ts"

const held = (memory: RecentlyUsed<number>, keys: string) =>
  keys
    .split("")
    .filter((key) => memory.get(key) !== undefined)
    .join("")

describe("RecentlyUsed", () => {
  it("lets go what was used longest ago when it is full", () => {
    const memory = new RecentlyUsed<number>(30)
    for (const key of "abc") memory.set(key, 1, 10)
    memory.get("a")
    memory.set("d", 1, 10)
    assert.strictEqual(held(memory, "abcd"), "acd")
    memory.set("e", 1, 15)
    assert.strictEqual(held(memory, "acde"), "de")
  })

  it("counts an entry that is replaced or deleted no longer", () => {
    const memory = new RecentlyUsed<number>(30)
    memory.set("a", 1, 25)
    memory.set("a", 2, 10)
    memory.set("b", 1, 20)
    assert.strictEqual(held(memory, "ab"), "ab")
    assert.strictEqual(memory.get("a"), 2)
    memory.delete("a")
    memory.delete("a")
    memory.set("c", 1, 10)
    assert.strictEqual(held(memory, "abc"), "bc")
  })

  it("keeps nothing that is larger than all may be", () => {
    const memory = new RecentlyUsed<number>(30)
    memory.set("a", 1, 31)
    assert.isUndefined(memory.get("a"))
    const none = new RecentlyUsed<number>(0)
    none.set("a", 1, 1)
    assert.isUndefined(none.get("a"))
  })
})
