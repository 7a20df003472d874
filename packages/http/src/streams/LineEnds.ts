/**
 * Characters that JSON leaves as they are, and that some readers take for the end of a line: Python's `splitlines` and the `iter_lines` of its
 * HTTP clients do. Everything that goes out as server-sent events is escaped here. They stand inside of JSON strings only.
 */
const lineEnds = /[\u0085\u2028\u2029]/u
const everyLineEnd = /[\u0085\u2028\u2029]/gu
const escapeCharacter = (character: string): string => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`

export const withoutLineEnds = (text: string): string =>
  lineEnds.test(text) ? text.replaceAll(everyLineEnd, escapeCharacter) : text
