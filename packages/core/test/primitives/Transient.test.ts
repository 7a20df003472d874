import { assert, describe, it } from "@effect/vitest"
import { TransientMap, TransientSet } from "../../src/primitives/Transient.ts"

describe("TransientMap and TransientSet", () => {
  it("keep the order of a Map, whatever is deleted meanwhile", () => {
    const map = new TransientMap<number, string>()
    for (let n = 0; n < 200; n++) map.set(n, String(n))
    for (let n = 0; n < 200; n++) if (n % 40 !== 3) assert.isTrue(map.delete(n))
    assert.isFalse(map.delete(0))
    map.set(43, "again")
    assert.deepStrictEqual(
      [...map],
      [
        [3, "3"],
        [43, "again"],
        [83, "83"],
        [123, "123"],
        [163, "163"]
      ]
    )
    assert.deepStrictEqual([map.size, map.get(83), map.get(84), map.has(123)], [5, "83", undefined, true])
  })

  it("let entries be deleted while they are read", () => {
    const set = new TransientSet<number>()
    for (let n = 0; n < 100; n++) set.add(n)
    for (const value of set) if (value !== 50) set.delete(value)
    assert.deepStrictEqual([...set], [50])
  })
})
