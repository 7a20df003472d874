/**
 * Files of unit tests share a process and its loaded modules, so that these are loaded once and not two hundred times. A file that changes what
 * all of them share (a global, a variable of the environment, the folder of work, a listener of the process) and does not put it back fails here,
 * under its own name, instead of in another file that comes after it.
 */
import { afterAll, assert, beforeAll } from "vitest"

/** What vitest defines in each file, and what the library `sharp` tells its own C code when it is loaded. */
const passing = /^(?:globalThis\.__vi|globalThis\.Symbol\(|process\.env\.VIPSHOME)/

const ownProperties = (object: object): ReadonlyArray<readonly [string, unknown]> =>
  Reflect.ownKeys(object).flatMap((key) => {
    const property = Object.getOwnPropertyDescriptor(object, key)
    // A getter of Node's loads what it names at first use, and is a value from then on.
    return property !== undefined && "value" in property ? [[String(key), property.value] as const] : []
  })

const shared = (): ReadonlyMap<string, unknown> =>
  new Map([
    ...ownProperties(globalThis).map(([key, value]) => [`globalThis.${key}`, value] as const),
    ...ownProperties(console).map(([key, value]) => [`console.${key}`, value] as const),
    ...Object.entries(process.env).map(([key, value]) => [`process.env.${key}`, value] as const),
    ...process.eventNames().map((name) => [`listeners of ${String(name)}`, process.listenerCount(name)] as const),
    ["process.cwd()", process.cwd()]
  ])

const differences = (
  before: ReadonlyMap<string, unknown>,
  after: ReadonlyMap<string, unknown>
): ReadonlyArray<string> =>
  [...new Set([...before.keys(), ...after.keys()])]
    .filter((key) => !passing.test(key))
    .filter((key) => !Object.is(before.get(key), after.get(key)))

let before: ReadonlyMap<string, unknown>

beforeAll(() => {
  before = shared()
})

afterAll(() => {
  assert.deepStrictEqual(differences(before, shared()), [], "left behind by this file for those that come after it")
})
