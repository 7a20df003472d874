/**
 * What the operator of a server may read of a failure outside: the sentence of a provider or of a connection, without keys and without the
 * conversation. Users do not get it: it stands in the log and in the inspection of a run.
 */

const longest = 300

/** Words that look like keys: by a known prefix, or long and with a digit. */
const keyByPrefix = /\b(?:sk|pk|rk|key|gsk|xai|ghp)[-_][\w\-.*]{4,}|\bAIza[\w-]{6,}|\bBearer +[^ ]+/giu
const longWord = /[\w-]{24,}/gu
const hidden = "[hidden]"

const withoutKeys = (text: string): string =>
  text.replaceAll(keyByPrefix, hidden).replaceAll(longWord, (word) => (/\d/u.test(word) ? hidden : word))

/** Five words of the request that follow each other are a quotation of it. */
const quotedWords = 5

/** `request`: the text that was sent, whose words must not be repeated. `secrets`: the keys that were sent. */
export const operatorDetail = (sentence: string, request = "", secrets: ReadonlyArray<string> = []): string => {
  const line = sentence.slice(0, 8000).replaceAll(/\s+/gu, " ").trim().slice(0, 2000)
  const known = secrets.filter((secret) => secret !== "")
  const keyless = withoutKeys(known.reduce((text, secret) => text.replaceAll(secret, hidden), line))
  const shown = withoutQuotations(keyless, request)
  return shown.length <= longest ? shown : `${shown.slice(0, longest)}…`
}

const quotations = /"[^"]{1,300}"|'[^']{1,300}'|`[^`]{1,300}`/gu

/** The number of characters of the sentence that are compared with the request. Fewer are shown. */
const longestCompared = 400
/** Characters of the request that are searched: as many at its beginning as at its end. */
const longestSearched = 50_000

/** In a request that is too long to be searched, anything in quotation marks may be a quotation of it. */
const withoutQuotations = (whole: string, sent: string): string => {
  const line = whole.slice(0, longestCompared)
  if (sent === "") return line
  const isLong = sent.length > 2 * longestSearched
  const request = isLong ? `${sent.slice(0, longestSearched)}\n${sent.slice(-longestSearched)}` : sent
  const isQuoted = (text: string): boolean => isLong || request.includes(text)
  const unquoted = line.replaceAll(quotations, (quoted) => (isQuoted(quoted.slice(1, -1)) ? "…" : quoted))
  const words = unquoted.split(" ")
  const quoted = new Set<number>()
  for (let at = 0; at + quotedWords <= words.length; at++) {
    if (!request.includes(words.slice(at, at + quotedWords).join(" "))) continue
    for (let word = at; word < at + quotedWords; word++) quoted.add(word)
  }
  const kept = words.map((word, at) => (quoted.has(at) ? "…" : word))
  return kept.filter((word, at) => word !== "…" || kept[at - 1] !== "…").join(" ")
}

/** The sentence of an error with those of its causes, such as `fetch failed: connect ECONNREFUSED 127.0.0.1:1`. */
export const errorSentence = (error: unknown, depth = 0): string => {
  if (!(error instanceof Error)) return typeof error === "string" ? error : ""
  const { cause, message } = error
  const own = message === "" && "code" in error && typeof error.code === "string" ? error.code : message
  const inner = error instanceof AggregateError ? error.errors[0] : cause
  const rest = depth < 3 && inner !== undefined ? errorSentence(inner, depth + 1) : ""
  return [own, rest].filter((part) => part !== "").join(": ")
}
