/**
 * JSON for parts that look for words in it. A program may write `\u00fc` for `ü`: who parses the text reads the same, but a part that looks
 * for the word would not find it.
 */
import * as Result from "effect/Result"

/** A character above U+FFFF is written as two escapes, which are one character only together. */
const escapes = /\\(?:u[dD][89abAB][\da-fA-F]{2}\\u[dD][c-fC-F][\da-fA-F]{2}|u[\da-fA-F]{4}|[\\/])/gu

/** The same JSON, in which characters stand as themselves where JSON permits it. Half of a pair stays an escape. */
export const withoutEscapes = (json: string): string =>
  json.replaceAll(escapes, (escape) => {
    const character = String(JSON.parse(`"${escape}"`))
    return /[^\p{Cc}\p{Cs}"\\]/u.test(character) ? character : escape
  })

export const isJson = (text: string): boolean => Result.isSuccess(Result.try((): unknown => JSON.parse(text)))
