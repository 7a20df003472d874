/** JSON from outside: read without ever running out of stack, and written in one form for equal values. Used for bodies and form fields. */
import { runSteps, type Steps } from "@colloquy/core/adapters"
import * as Result from "effect/Result"
import { keepOrders } from "./NamesInOrder.ts"

/** Deeper than any real body, and far from what a recursive reader can take. */
export const maximumDepth = 100

/** More than any real body holds, and few enough that a problem of each of them can be listed. */
export const maximumValues = 10_000

export type JsonFault = "malformed" | "too_deep" | "too_many"

export const parseJson = (text: string): Result.Result<unknown, JsonFault> => runSteps(parsingJson(text))

/** In steps of a few milliseconds, except the last one: with the limits below, the platform's parser needs at most 30 ms for 8 MB. */
export function* parsingJson(text: string): Steps<Result.Result<unknown, JsonFault>> {
  const { deepest, most } = yield* measureShape(text)
  if (deepest > maximumDepth) return Result.fail("too_deep")
  if (most > maximumValues) return Result.fail("too_many")
  try {
    const value: unknown = JSON.parse(text)
    keepOrders(text, value)
    return Result.succeed(value)
  } catch {
    return Result.fail("malformed")
  }
}

const quote = 34
const comma = 44
const backslash = 92

/** How many characters outside of strings are looked at between two steps. */
const stride = 200_000

interface Shape {
  readonly deepest: number
  /** Values that stand beside each other, or brackets, whichever are more. */
  readonly most: number
}

/** How deep brackets are nested, how many there are, and how many values. Counted without recursion. */
function* measureShape(text: string): Steps<Shape> {
  let depth = 0
  let deepest = 0
  let brackets = 0
  let values = 1
  let next = stride
  for (let index = 0; index < text.length; index++) {
    if (index > next) {
      next = index + stride
      yield
    }
    switch (text.charCodeAt(index)) {
      case quote: {
        const end = text.indexOf('"', index + 1)
        index = end === -1 || isEscaped(text, end) ? yield* endOfString(text, index) : end
        break
      }
      case comma:
        values++
        break
      case 91:
      case 123:
        brackets++
        if (++depth > deepest) deepest = depth
        break
      case 93:
      case 125:
        depth--
        break
    }
  }
  return { deepest, most: Math.max(values, brackets) }
}

/** The closing quote of the string that opens at `start`. */
function* endOfString(text: string, start: number): Steps<number> {
  let end = text.indexOf('"', start + 1)
  for (let looked = 1; end !== -1 && isEscaped(text, end); looked++) {
    if (looked % stride === 0) yield
    end = text.indexOf('"', end + 1)
  }
  return end === -1 ? text.length : end
}

const isEscaped = (text: string, at: number): boolean => {
  let before = at - 1
  while (text.charCodeAt(before) === backslash) before--
  return (at - before) % 2 === 0
}

/** Whether a value holds more than `most` other values. Counting stops there. */
export const holdsMoreThan = (value: unknown, most: number): boolean => {
  const open: Array<unknown> = [value]
  let left = most
  while (open.length > 0) {
    const next = open.pop()
    if (typeof next !== "object" || next === null) continue
    const inside = Object.values(next)
    left -= inside.length
    if (left < 0) return true
    for (const each of inside) open.push(each)
  }
  return false
}

export const isRecord = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null && !Array.isArray(value)

export const isJsonObject = (text: string): boolean => {
  const parsed = parseJson(text)
  return Result.isSuccess(parsed) && isRecord(parsed.success)
}

/** Equal values give equal text, whatever the order of their keys. Only for values that `parseJson` has let through. */
export const canonicalJson = (value: unknown): string =>
  JSON.stringify(value, (_key, part: unknown) =>
    isRecord(part) ? Object.fromEntries(Object.entries(part).sort(([a], [b]) => (a < b ? -1 : 1))) : part
  )
