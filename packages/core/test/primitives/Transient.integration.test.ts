/** Runs in a process of its own: what other tests leave behind would count too. */
import { assert, describe, it } from "@effect/vitest"
import { setFlagsFromString } from "node:v8"
import { collectGarbage } from "../../../../test/garbage.ts"
import { TransientMap, TransientSet } from "../../src/primitives/Transient.ts"

// Else V8 makes the entries of the last part old from the beginning, because it saw those of the first part live long.
setFlagsFromString("--no-allocation-site-pretenuring")

interface Entries {
  readonly add: (entry: object) => void
  readonly delete: (entry: object) => void
}

const entrySize = 10_000

/**
 * Entries come and go, sixteen at a time. Returns how many stay in memory after collections of young objects only. A full collection at the
 * beginning makes one table an old one.
 */
const countKept = (entries: Entries): number => {
  const waiting: Array<object> = []
  const comeAndGo = (count: number) => {
    for (let n = 0; n < count; n++) {
      const entry = { bytes: new ArrayBuffer(entrySize) }
      waiting.push(entry)
      entries.add(entry)
      const oldest = waiting.length > 16 ? waiting.shift() : undefined
      if (oldest !== undefined) entries.delete(oldest)
    }
  }
  comeAndGo(100)
  collectGarbage()
  const before = process.memoryUsage().arrayBuffers
  comeAndGo(1000)
  for (let n = 0; n < 3; n++) collectGarbage({ type: "minor" })
  return (process.memoryUsage().arrayBuffers - before) / entrySize
}

describe("TransientMap and TransientSet", () => {
  it("hold no entry that has gone, which those of V8 do until a full collection", () => {
    const builtIn = new Set<object>()
    assert.isAbove(countKept({ add: (entry) => builtIn.add(entry), delete: (entry) => builtIn.delete(entry) }), 500)
    const set = new TransientSet<object>()
    assert.isBelow(countKept({ add: (entry) => set.add(entry), delete: (entry) => set.delete(entry) }), 100)
    const map = new TransientMap<object, object>()
    assert.isBelow(countKept({ add: (entry) => map.set(entry, entry), delete: (entry) => map.delete(entry) }), 100)
  })
})
