/** Settings of which a host gives only what it changes, at every depth. */

type Whole = ReadonlyArray<unknown> | Date | ((...parameters: never) => unknown)

/** Settings of which any may be left out, on each level. */
export type DeepPartial<Settings> = {
  readonly [Name in keyof Settings]?: Settings[Name] extends Whole
    ? Settings[Name]
    : Settings[Name] extends object
      ? DeepPartial<Settings[Name]>
      : Settings[Name]
}

/** The defaults, with the given values in their place. A value that is undefined changes nothing. */
export const withDefaults = <Settings extends object>(
  defaults: Settings,
  given: DeepPartial<Settings> | undefined
): Settings => Object.assign({}, defaults, changed(defaults, given ?? {}))

const changed = (defaults: object, given: object): object => {
  const known = new Map<string, unknown>(Object.entries(defaults))
  return Object.fromEntries(
    Object.entries(given).flatMap(([name, value]: [string, unknown]) => {
      if (value === undefined) return []
      const usual = known.get(name)
      return [[name, isPlain(value) && isPlain(usual) ? { ...usual, ...changed(usual, value) } : value]]
    })
  )
}

/** An object literal, and no `Duration` or other object of a class. */
const isPlain = (value: unknown): value is object =>
  typeof value === "object" && value !== null && Object.getPrototypeOf(value) === Object.prototype
