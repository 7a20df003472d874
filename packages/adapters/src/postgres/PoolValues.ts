/**
 * Converts values for the host's `pg` connections, and results back. The results have the same types as with `@effect/sql-pg` (`int8` is a
 * bigint, `timestamptz` a Date, `json` its value). The parsers are passed with each statement, so the host's own parsers do not matter.
 */
import { Buffer } from "node:buffer"
import { UnreadableValue } from "./PoolFault.ts"
import type { PoolRowTypes } from "./PoolTypes.ts"

type Parse = (text: string) => unknown

const plain: Parse = (text) => text

/** ISO is the server's default `DateStyle`, and the only one that writes the offset from UTC as a number. */
const isoTime = /^(\d{4,}-\d\d-\d\d) (\d\d:\d\d:\d\d)(\.\d+)?([+-]\d\d)(?::?(\d\d))?(?::\d\d)?$/u

const parseTime: Parse = (text) => {
  const parts = isoTime.exec(text)
  if (parts === null)
    throw new UnreadableValue({
      message: "A time is not in ISO style: leave DateStyle of the pool's connections as it is"
    })
  const [, day, time, fraction = "", hours, minutes = "00"] = parts
  return new Date(`${day}T${time}${fraction.slice(0, 4)}${hours}:${minutes}`)
}

const parseBytes: Parse = (text) => {
  if (!text.startsWith("\\x")) {
    throw new UnreadableValue({
      message: "Bytes are not in hexadecimal form: leave bytea_output of the pool's connections as it is"
    })
  }
  return new Uint8Array(Buffer.from(text.slice(2), "hex"))
}

/** Parses arrays of one dimension: elements are separated by commas, and quoted where necessary. */
const parseArray =
  (element: Parse): Parse =>
  (text) =>
    Array.from(text.slice(1, -1).matchAll(/"((?:[^"\\]|\\.)*)"|([^,]+)/gsu), ([, quoted, bare]) => {
      if (quoted !== undefined) return element(quoted.replaceAll(/\\(.)/gsu, "$1"))
      return bare === "NULL" ? null : element(bare ?? "")
    })

const scalars: ReadonlyArray<readonly [oid: number, array: number, parse: Parse]> = [
  [16, 1000, (text) => text === "t"],
  [17, 1001, parseBytes],
  [20, 1016, BigInt],
  [21, 1005, Number],
  [23, 1007, Number],
  [25, 1009, plain],
  [26, 1028, Number],
  [114, 199, JSON.parse],
  [700, 1021, Number],
  [701, 1022, Number],
  [1184, 1185, parseTime],
  [2950, 2951, plain],
  [3802, 3807, JSON.parse]
]

const parsers: ReadonlyMap<number, Parse> = new Map(
  scalars.flatMap(([oid, array, parse]) => [
    [oid, parse],
    [array, parseArray(parse)]
  ])
)

export const rowTypes: PoolRowTypes = { getTypeParser: (oid) => parsers.get(oid) ?? plain }

/** Dates are converted here, because `pg` would write them in the time zone of the process. */
export const toPoolValue = (value: unknown): unknown => (value instanceof Date ? value.toISOString() : value)
