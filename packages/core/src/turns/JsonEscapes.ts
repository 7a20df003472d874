/**
 * JSON for parts that look for words in it. A program may write `\u00fc` for `ü`: who parses the text reads the same, but a part that looks
 * for the word would not find it.
 */
import * as Result from "effect/Result"

/** The same JSON, in which characters stand as themselves where JSON permits it. */
export const withoutEscapes = (json: string): string =>
  json.replaceAll(/\\(?:u[\da-fA-F]{4}|[\\/])/gu, (escape) => {
    const character = String(JSON.parse(`"${escape}"`))
    return /[^\p{Cc}\p{Cs}"\\]/u.test(character) ? character : escape
  })

export const isJson = (text: string): boolean => Result.isSuccess(Result.try((): unknown => JSON.parse(text)))
