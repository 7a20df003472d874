/** JSON from outside: read without ever running out of stack, and written in one form for equal values. Used for bodies and form fields. */
import * as Result from "effect/Result"

/** Deeper than any honest body, and far from what a recursive reader can take. */
export const maximumDepth = 100

export type JsonFault = "malformed" | "too_deep"

export const parseJson = (text: string): Result.Result<unknown, JsonFault> => {
  if (depthOf(text) > maximumDepth) return Result.fail("too_deep")
  try {
    return Result.succeed(JSON.parse(text))
  } catch {
    return Result.fail("malformed")
  }
}

const quote = 34
const backslash = 92

/** How deep brackets are nested, counted without recursion. */
const depthOf = (text: string): number => {
  let depth = 0
  let deepest = 0
  for (let index = 0; index < text.length; index++) {
    switch (text.charCodeAt(index)) {
      case quote:
        index = endOfString(text, index)
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
  return deepest
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
