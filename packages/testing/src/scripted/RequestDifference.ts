/** Describes how a request differs from the recorded one. Both are redacted, so the description contains no key. Pure functions. */
import { fromPiece, type RecordedRequest } from "./CassetteFile.ts"

/** An empty list when the requests match. The host of the URL is ignored, because a test may use another one, and so are headers. */
export const differencesOf = (recorded: RecordedRequest, asked: RecordedRequest): ReadonlyArray<string> => [
  ...differ("the method", recorded.method, asked.method),
  ...differ("the path", pathOf(recorded), pathOf(asked)),
  ...bodyDifferences(recorded.body, asked.body)
]

/** A longer list of differences would not help. */
const mostShown = 8

/** The differences as an indented list. */
export const describeDifferences = (differences: ReadonlyArray<string>): string => {
  const rest = differences.length - mostShown
  return [...differences.slice(0, mostShown), ...(rest > 0 ? [`and ${rest} more`] : [])]
    .map((line) => `  - ${line}`)
    .join("\n")
}

export const nameOf = (request: RecordedRequest): string => `${request.method} ${pathOf(request)}`

const pathOf = ({ url }: RecordedRequest): string => {
  const { pathname, search } = new URL(url)
  return pathname + search
}

const bodyDifferences = (recorded: RecordedRequest["body"], asked: RecordedRequest["body"]): ReadonlyArray<string> => {
  if ("json" in recorded && "json" in asked) return valueDifferences("", recorded.json, asked.json)
  if ("none" in recorded && "none" in asked) return []
  if ("piece" in recorded && "piece" in asked) {
    const [before, now] = [fromPiece(recorded.piece), fromPiece(asked.piece)]
    const same = before.length === now.length && before.every((byte, index) => byte === now[index])
    return same ? [] : [`the body had ${before.length} bytes when it was recorded, and these ${now.length} are others`]
  }
  return [`the body was ${kindOf(recorded)} when it was recorded, and is ${kindOf(asked)} now`]
}

const kindOf = (body: RecordedRequest["body"]): string =>
  "json" in body ? "JSON" : "piece" in body ? "text or bytes" : "empty"

const valueDifferences = (path: string, recorded: unknown, asked: unknown): ReadonlyArray<string> => {
  if (Array.isArray(recorded) && Array.isArray(asked)) {
    const count =
      recorded.length === asked.length
        ? []
        : [`${named(path)} had ${recorded.length} entries when it was recorded, and has ${asked.length} now`]
    const both = Math.min(recorded.length, asked.length)
    return [
      ...count,
      ...Array.from({ length: both }, (_, index) =>
        valueDifferences(`${path}[${index}]`, recorded[index], asked[index])
      ).flat()
    ]
  }
  if (isRecord(recorded) && isRecord(asked)) {
    return [...new Set([...Object.keys(recorded), ...Object.keys(asked)])].flatMap((key) => {
      const inside = path === "" ? key : `${path}.${key}`
      if (!(key in asked)) return [`${named(inside)} is missing; it was ${short(recorded[key])}`]
      if (!(key in recorded)) return [`${named(inside)} is new: ${short(asked[key])}`]
      return valueDifferences(inside, recorded[key], asked[key])
    })
  }
  return differ(named(path), recorded, asked)
}

const differ = (what: string, recorded: unknown, asked: unknown): ReadonlyArray<string> =>
  recorded === asked ? [] : [`${what} was ${short(recorded)} when it was recorded, and is ${short(asked)} now`]

const named = (path: string): string => (path === "" ? "the body" : `\`${path}\``)

const short = (value: unknown): string => {
  const text = JSON.stringify(value) ?? "nothing"
  return text.length > 120 ? `${text.slice(0, 117)}…` : text
}

const isRecord = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null && !Array.isArray(value)
