/**
 * The building blocks of the records of the wire. Fields that a client may leave out may also be null: clients with optional fields send
 * nulls for everything that they do not set, and mean "not given".
 */
import * as Schema from "effect/Schema"
import * as SchemaTransformation from "effect/SchemaTransformation"

/** A field of a request that may be absent or null. */
export const maybe = <S extends Schema.Top>(schema: S) => Schema.optionalKey(Schema.NullOr(schema))

/** The same. The description of the API tells the value of an absent field; the handler that reads the field applies the value. */
export const maybeOr = <S extends Schema.Top>(schema: S, value: string | number | boolean) =>
  Schema.optionalKey(Schema.NullOr(schema).annotate({ default: value }))

/** The value of such a field; undefined where it is absent or null. */
export const given = <A>(value: A | null | undefined): A | undefined => value ?? undefined

/** The same for the name of a provider or a model: an empty text, which a form sends for a field left empty, names none. */
export const givenName = (name: string | null | undefined): string | undefined =>
  typeof name === "string" && name.trim() !== "" ? name : undefined

/** A record without the fields that are undefined, as exact optional fields want it. */
export const compact = <A extends object>(record: A): { [K in keyof A]?: Exclude<A[K], undefined> } =>
  // Entries are kept or dropped whole, so every kept one has the type that it had, without undefined.
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion
  Object.fromEntries(Object.entries(record).filter(([, value]) => value !== undefined)) as {
    [K in keyof A]?: Exclude<A[K], undefined>
  }

/** The text form of a UUID, in any case; read in lower case. */
export const Uuid = Schema.String.check(Schema.isGUID({ expected: "a UUID", format: "uuid" })).pipe(
  Schema.decodeTo(
    Schema.String,
    SchemaTransformation.transform({ decode: (id: string) => id.toLowerCase(), encode: (id: string) => id })
  )
)

/** ISO 8601 with `Z`. */
export const Timestamp = Schema.String.annotate({ format: "date-time" })

export const writeTimestamp = (date: Date): string => writeTime(date.getTime())

export const timestampOrNull = (date: Date | null): string | null => (date === null ? null : writeTimestamp(date))

const [second, minute, hour, day] = [1000, 60_000, 3_600_000, 86_400_000]
const padded = (count: number, digits: number): ReadonlyArray<string> =>
  Array.from({ length: count }, (_, n) => String(n).padStart(digits, "0"))
const [twoDigits, threeDigits] = [padded(60, 2), padded(1000, 3)]

/** As `toISOString`, in a fifth of its time: messages of a list are mostly of one day, whose text is kept. */
const writeTime = (() => {
  let known = Number.NaN
  let date = ""
  return (millis: number): string => {
    const begin = Math.floor(millis / day) * day
    if (begin !== known) {
      date = new Date(begin).toISOString().slice(0, -"00:00:00.000Z".length)
      known = begin
    }
    const rest = millis - begin
    const [hours, minutes] = [twoDigits[Math.floor(rest / hour)], twoDigits[Math.floor(rest / minute) % 60]]
    return `${date}${hours}:${minutes}:${twoDigits[Math.floor(rest / second) % 60]}.${threeDigits[rest % second]}Z`
  }
})()

const trueWords = ["true", "1", "yes", "on", "y", "t"]
export const booleanPattern = /^(?:true|false|1|0|yes|no|on|off|y|n|t|f)$/iu

/** What a word that fits `booleanPattern` says. */
export const saysTrue = (word: string): boolean => trueWords.includes(word.toLowerCase())

/** A boolean in a query. */
export const BooleanWord = Schema.String.check(Schema.isPattern(booleanPattern, { expected: "a boolean" })).pipe(
  Schema.decodeTo(
    Schema.Boolean,
    SchemaTransformation.transform({ decode: saysTrue, encode: (value): string => String(value) })
  )
)

/** An integer in a query. */
export const IntegerWord = Schema.String.check(Schema.isPattern(/^[+-]?\d{1,15}$/u, { expected: "an integer" })).pipe(
  Schema.decodeTo(Schema.Int, SchemaTransformation.numberFromString)
)

/** `skip` and `limit` of lists. */
export const page = {
  skip: Schema.optionalKey(IntegerWord.check(Schema.isBetween({ minimum: 0, maximum: 10_000 }))),
  limit: Schema.optionalKey(IntegerWord.check(Schema.isBetween({ minimum: 1, maximum: 200 })))
}

export const readPage = ({ limit = 100, skip = 0 }: { readonly skip?: number; readonly limit?: number }) => ({
  skip,
  limit
})

/** `limit` and `cursor` of lists that may be long and change while they are read. */
export const cursorPage = {
  limit: Schema.optionalKey(IntegerWord.check(Schema.isBetween({ minimum: 1, maximum: 100 }))),
  cursor: Schema.optionalKey(
    IntegerWord.check(Schema.isGreaterThanOrEqualTo(0, { expected: "the next_cursor of the page before" }))
  )
}

/** Fields of queries as the description of the API shows them; the codecs above read them from text. */
export const queryShapes: Readonly<Record<string, Readonly<Record<string, unknown>>>> = {
  skip: { type: "integer", minimum: 0, maximum: 10_000, default: 0 },
  limit: { type: "integer", minimum: 1, maximum: 200, default: 100 },
  after: { type: "integer", minimum: 0 },
  include_messages: { type: "boolean", default: true },
  stream: { type: "boolean", default: false },
  supports_tools: { type: "boolean" },
  min_context: { type: "integer", minimum: 0 },
  max_context: { type: "integer", minimum: 0 },
  page: { type: "integer", minimum: 1, maximum: 100, default: 1 },
  page_size: { type: "integer", minimum: 1, maximum: 100, default: 25 }
}

/** Where memories differ: without a page all of them come. */
export const memoryShapes: typeof queryShapes = {
  ...queryShapes,
  page: { type: "integer", minimum: 1 },
  page_size: { type: "integer", minimum: 1, maximum: 100 }
}

/** Where lists with a cursor differ. */
export const cursorShapes: typeof queryShapes = {
  ...queryShapes,
  limit: { type: "integer", minimum: 1, maximum: 100, default: 20 }
}

/** Where the catalogue differs: its pages may be far larger. */
export const catalogShapes: typeof queryShapes = {
  ...queryShapes,
  skip: { type: "integer", minimum: 0, default: 0 },
  limit: { type: "integer", minimum: 1, maximum: 15_000, default: 100 }
}

/** A time with a day, in the common forms of ISO 8601. */
export const DateTime = Schema.String.annotate({ format: "date-time" }).check(
  Schema.makeFilter((text: string) => isDateTime(text) || "Expected an ISO 8601 date and time")
)

const dateTime = /^\d{4}-\d{2}-\d{2}[Tt ]\d{2}:\d{2}(?::\d{2}(?:\.\d+)?)?(?:[Zz]|[+-]\d{2}:?\d{2})?$/u
const isDateTime = (text: string): boolean =>
  dateTime.test(text) && !Number.isNaN(Date.parse(text.replace(" ", "T"))) && isDay(text.slice(0, 10))

/** The platform makes the 2nd of March of the 30th of February. */
const isDay = (text: string): boolean => new Date(`${text}T00:00:00Z`).toISOString().startsWith(text)

/** A day of a calendar, such as 2026-11-24. */
export const Day = Schema.String.annotate({ format: "date" }).check(
  Schema.makeFilter(
    (text: string) =>
      (/^[12]\d{3}-\d{2}-\d{2}$/u.test(text) && !Number.isNaN(Date.parse(text)) && isDay(text)) ||
      "Expected a day such as 2026-11-24"
  )
)

/** The moment that such a text means; one without a zone is in UTC. */
export const readInstant = (text: string): Date => {
  const spaced = text.replace(" ", "T")
  return new Date(/(?:[Zz]|[+-]\d{2}:?\d{2})$/u.test(spaced) ? spaced : `${spaced}Z`)
}
