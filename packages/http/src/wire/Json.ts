/** JSON from outside: read without ever running out of stack, and written in one form for equal values. Used for bodies and form fields. */
import * as Result from "effect/Result"

/** Deeper than any real body, and far from what a recursive reader can take. */
export const maximumDepth = 100

/** More than any real body holds, and few enough that a problem of each of them can be listed. */
export const maximumValues = 20_000

export type JsonFault = "malformed" | "too_deep" | "too_many"

export const parseJson = (text: string): Result.Result<unknown, JsonFault> => {
  const { deepest, values } = shapeOf(text)
  if (deepest > maximumDepth) return Result.fail("too_deep")
  if (values > maximumValues) return Result.fail("too_many")
  try {
    return Result.succeed(JSON.parse(text))
  } catch {
    return Result.fail("malformed")
  }
}

const quote = 34
const comma = 44
const backslash = 92

/** How deep brackets are nested and how many values there are, counted without recursion. */
const shapeOf = (text: string): { readonly deepest: number; readonly values: number } => {
  let depth = 0
  let deepest = 0
  let values = 1
  for (let index = 0; index < text.length; index++) {
    switch (text.charCodeAt(index)) {
      case quote:
        index = endOfString(text, index)
        break
      case comma:
        values++
        break
      case 91:
      case 123:
        if (++depth > deepest) deepest = depth
        break
      case 93:
      case 125:
        depth--
        break
    }
  }
  return { deepest, values }
}

/** The closing quote of the string that opens at `start`. */
const endOfString = (text: string, start: number): number => {
  let end = text.indexOf('"', start + 1)
  while (end !== -1 && isEscaped(text, end)) end = text.indexOf('"', end + 1)
  return end === -1 ? text.length : end
}

const isEscaped = (text: string, at: number): boolean => {
  let before = at - 1
  while (text.charCodeAt(before) === backslash) before--
  return (at - before) % 2 === 0
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
