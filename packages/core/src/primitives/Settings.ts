/** Settings of which a host gives only what it changes, at every depth, and what is wrong with them. */
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"

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

/** Settings with values that cannot work. All of them are told together. */
export class SettingsUnusable extends Schema.TaggedError<SettingsUnusable>()("SettingsUnusable", {
  /** Whose settings they are: the name of a wing, or `turns`. */
  wing: Schema.String,
  /** What is wrong, and what would be right: a sentence for each. */
  problems: Schema.Array(Schema.String)
}) {
  override get message() {
    return `The settings of "${this.wing}" cannot be used. ${this.problems.join(" ")}`
  }
}

/** What the defaults do not tell about settings. */
export interface SettingRules<Settings> {
  /** Numbers and durations that must be above 0. */
  readonly positive?: ReadonlyArray<keyof Settings>
  /** The words that a setting may have. */
  readonly words?: { readonly [Name in keyof Settings]?: ReadonlyArray<Settings[Name]> }
  /** Settings of which null means something. A value beside null must be of the kind of this sample. */
  readonly orNull?: { readonly [Name in keyof Settings]?: NonNullable<Settings[Name]> }
  /** Settings that the wing checks itself. */
  readonly unchecked?: ReadonlyArray<keyof Settings>
  /** What is wrong although each setting by itself may be right. Called when that is so. */
  readonly problems?: (settings: Settings) => ReadonlyArray<string>
}

/** The defaults with the given values in their place, if each value is of the kind of its default and within the rules. */
export const readSettings = <Settings extends object>(
  wing: string,
  defaults: Settings,
  given: DeepPartial<Settings> | undefined,
  rules: SettingRules<Settings> = {}
): Effect.Effect<Settings, SettingsUnusable> =>
  Effect.suspend(() => {
    const single = checkObject("", { ...defaults, ...rules.orNull }, Object.entries(given ?? {}), rules)
    const settings = withDefaults(defaults, given)
    const problems = single.length > 0 ? single : (rules.problems?.(settings) ?? [])
    return problems.length > 0 ? Effect.fail(new SettingsUnusable({ wing, problems })) : Effect.succeed(settings)
  })

interface NamedRules {
  readonly positive?: ReadonlyArray<PropertyKey>
  readonly words?: object
  readonly orNull?: object
  readonly unchecked?: ReadonlyArray<PropertyKey>
}

type Entries = ReadonlyArray<readonly [name: string, value: unknown]>

const checkObject = (place: string, samples: object, given: Entries, rules: NamedRules = {}): ReadonlyArray<string> => {
  const known = new Map<string, unknown>(Object.entries(samples))
  const words = new Map<string, ReadonlyArray<unknown>>(Object.entries(rules.words ?? {}))
  return given.flatMap(([name, value]) => {
    const path = `${place}${name}`
    if (!known.has(name)) return [`There is no setting \`${path}\`; there are ${[...known.keys()].join(", ")}.`]
    if (value === undefined || rules.unchecked?.includes(name) === true) return []
    const mayBeNull = Object.hasOwn(rules.orNull ?? {}, name)
    if (mayBeNull && value === null) return []
    const sample = known.get(name)
    if (mayBeNull && isPlain(sample) && isPlain(value)) return checkWhole(`${path}.`, sample, value)
    const isPositive = rules.positive?.includes(name) === true
    const found = checkValue(path, sample, value, { isPositive, words: words.get(name) })
    return mayBeNull ? found.map((problem) => problem.replace(" must be ", " must be null or ")) : found
  })
}

/** What stands in the place of null has no defaults, so nothing of it may be left out. */
const checkWhole = (place: string, sample: object, value: object): ReadonlyArray<string> => [
  ...Object.keys(sample).flatMap((name) => (name in value ? [] : [`\`${place}${name}\` is missing.`])),
  ...checkObject(place, sample, Object.entries(value))
]

const checkValue = (
  path: string,
  sample: unknown,
  value: unknown,
  { isPositive, words }: { readonly isPositive: boolean; readonly words: ReadonlyArray<unknown> | undefined }
): ReadonlyArray<string> => {
  const mustBe = (what: string) => [`\`${path}\` must be ${what}, and is ${shown(value)}.`]
  if (words !== undefined) return words.includes(value) ? [] : mustBe(words.map(shown).join(" or "))
  if (typeof sample === "number") {
    const isWhole = Number.isInteger(sample)
    const isRight = typeof value === "number" && (isWhole ? Number.isSafeInteger(value) : Number.isFinite(value))
    if (isRight && (isPositive ? value > 0 : value >= 0)) return []
    return mustBe(`a ${isWhole ? "whole " : ""}number ${isPositive ? "above" : "from"} 0`)
  }
  if (isPlain(sample)) {
    return isPlain(value) ? checkObject(`${path}.`, sample, Object.entries(value)) : mustBe("an object")
  }
  if (sample === null) return []
  if (Number.isNaN(readMillis(sample))) return typeof value === typeof sample ? [] : mustBe(`a ${typeof sample}`)
  const millis = readMillis(value)
  if (millis > 0 || (millis === 0 && !isPositive)) return []
  return mustBe(`a duration ${isPositive ? "above" : "from"} 0, such as "5 seconds"`)
}

/** Not a number: the value is no duration. */
const readMillis = (value: unknown): number =>
  typeof value === "number"
    ? value
    : // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- of any value that is no duration `fromInput` gives none
      Option.match(Duration.fromInput(value as Duration.Input), {
        onNone: () => Number.NaN,
        onSome: Duration.toMillis
      })

const shown = (value: unknown): string =>
  typeof value === "string"
    ? JSON.stringify(value)
    : typeof value === "object" && value !== null
      ? "an object"
      : String(value)
