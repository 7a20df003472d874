/**
 * The order of names in JSON from outside, where it means something: JavaScript puts names of an object that look like whole numbers before
 * all others. A text without such names is not read a second time. Used by `parseJson`.
 */

const orders = new WeakMap<object, ReadonlyArray<string>>()

/** The names of an object from `parseJson` in the order in which they were written; undefined where the object keeps it. */
export const namesInOrder = (record: object): ReadonlyArray<string> | undefined => orders.get(record)

/** `value` is what the text stands for; the text is valid and not nested deeper than a recursive reader can take. */
export const keepOrders = (text: string, value: unknown): void => {
  if (numberedName.test(text)) keep(value, readNames(text.match(token) ?? []))
}

const numberedName = /"(?:\d|\\u003\d){1,10}"\s*:/u

const token = /"(?:[^"\\]|\\.)*"|[{}[\],]|[^\s{}[\],:"]+/gu

/** The names in a JSON text. Equal names of one object count once, as in the parsed object. */
type Names = NamesOfObject | ReadonlyArray<Names> | null
interface NamesOfObject extends ReadonlyMap<string, Names> {}

const keep = (value: unknown, names: Names): void => {
  if (typeof value !== "object" || value === null || names === null) return
  if (Array.isArray(value)) {
    if (isList(names)) for (const [index, each] of value.entries()) keep(each, names[index] ?? null)
    return
  }
  if (isList(names)) return
  const written = [...names.keys()]
  const kept = Object.entries(value)
  if (kept.some(([name], index) => name !== written[index])) orders.set(value, written)
  for (const [name, each] of kept) keep(each, names.get(name) ?? null)
}

const isList = (names: NamesOfObject | ReadonlyArray<Names>): names is ReadonlyArray<Names> => Array.isArray(names)

const readNames = (tokens: ReadonlyArray<string>): Names => {
  let at = 0
  const members = <A>(end: string, read: () => A): ReadonlyArray<A> => {
    const found: Array<A> = []
    while (at < tokens.length && tokens[at] !== end) {
      if (tokens[at] === ",") at++
      else found.push(read())
    }
    at++
    return found
  }
  const value = (): Names => {
    const first = tokens[at++]
    if (first === "[") return members("]", value)
    if (first !== "{") return null
    return new Map(members("}", () => [String(JSON.parse(tokens[at++] ?? "null")), value()] as const))
  }
  return value()
}
