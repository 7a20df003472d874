/**
 * JSON for parts that look for words in it. A program may write `\u00fc` for `ü`: who parses the text reads the same, but a part that looks
 * for the word would not find it.
 */

/** The same JSON, in which characters stand as themselves where JSON permits it. */
export const withoutEscapes = (json: string): string =>
  json.replaceAll(/\\(?:u([\da-f]{4})|.)/giu, (escape, code: string | undefined) => {
    if (escape === "\\/") return "/"
    const character = code === undefined ? "" : String.fromCharCode(Number.parseInt(code, 16))
    return /[^\p{Cc}\p{Cs}"\\]/u.test(character) ? character : escape
  })

export const isJson = (text: string): boolean => {
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}
