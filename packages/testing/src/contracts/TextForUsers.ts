/** The text of an error, which contracts look through for what no adapter may put there. */
import type { ModelError } from "@colloquy/core/adapters"
import { assert } from "@effect/vitest"

interface AnyError {
  readonly message: string
}

/** The message and all fields, those of the causes too, whether a copy as JSON would have them or not. */
export const wholeText = (value: unknown, without: ReadonlyArray<string> = []): string => {
  const seen = new Set<unknown>()
  const textIn = (each: unknown): string => {
    if (typeof each !== "object" || each === null) return String(each)
    if (seen.has(each)) return ""
    seen.add(each)
    const names = Object.getOwnPropertyNames(each).filter((name) => name !== "stack" && !without.includes(name))
    const fields = names.map((name) => `${name}: ${textIn(Reflect.get(each, name))}`)
    return [each instanceof Error ? each.message : "", ...fields].join(" ")
  }
  return textIn(value)
}

/** All that users can read of an error. `forOperator` is for operators alone. */
export const textForUsers = (error: ModelError | AnyError | null): string =>
  error === null ? "" : wholeText(error, ["forOperator"])

/** Without these words of the vendor in what users read, and without the host's key anywhere. */
export const expectQuietError = (error: ModelError | AnyError, words: RegExp): void => {
  assert.notMatch(textForUsers(error), words, "The error has text of the vendor.")
  assert.notInclude(wholeText(error), "sk-of-the-host", "The error has the host's key.")
}
