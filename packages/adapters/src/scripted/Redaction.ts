/**
 * Pure: takes keys and personal text out of an exchange with a provider. Keys are known by where they stand (headers, parameters of the
 * address, fields of a body), by their form, and once known are taken out wherever else they stand. Addresses of e-mail are known by their
 * form, names are given by the host. A text that is streamed in small pieces is read as a whole, so that what is cut in two is found as well.
 *
 * Bodies are handled as text with one character for each byte, because the network cuts them anywhere, also inside of a character.
 */

export interface RedactionRules {
  /** Names and other texts that must not be kept: found in any case of letters, and replaced by their number in this list. */
  readonly personal: ReadonlyArray<string>
}

export const hidden = "[redacted]"

/** Headers that say nothing of who asks. Of every other one only the name is kept. */
const plainHeaders = new Set([
  "accept",
  "content-type",
  "anthropic-beta",
  "anthropic-version",
  "openai-beta",
  "retry-after",
  "retry-after-ms",
  "user-agent"
])

/** Not those that count tokens. */
const secretHeader =
  /^(?!.*(?:ratelimit|tokens|token-count)).*(auth|key|token|secret|cookie|password|credential|organization|project|account)/iu
const secretParameter = /key|token|secret|signature|^sig$|auth|password|credential/iu
/** Not `token` alone, which is what models say. */
const secretField =
  /^(authorization|bearer|password|passwd|credentials?)$|api[-_]?key|secret|private[-_]?key|(access|refresh|auth|bearer|id)[-_]?token/iu
/** Also a key of which a vendor shows the ends. It may begin behind an escape of JSON, whose last sign is a letter. */
const secretForm =
  /(?:(?<![a-z\d])|(?<=\\[bfnrt])|(?<=\\u[\da-f]{4}))(?:(?:sk|pk|rk|xai|gsk|pa|hf|r8|jina|ghp)[-_][\w*-]{12,}|AIza[\w*-]{20,}|eyJ[\w-]{8,}\.[\w-]{8,}\.[\w-]+)/giu
/** Nothing begins inside of an escape of JSON, which would be torn apart. A backslash that is escaped itself begins none. */
const outsideOfEscape = String.raw`(?<!(?<!\\)(?:\\\\)*\\(?=[bfnrtu]))(?<!(?<!\\)(?:\\\\)*\\u[\da-f]{0,3})`
/** Letters of Latin, Greek and Cyrillic script are two bytes, or an escape of JSON. Without the bound a long text without blanks takes minutes. */
const mailForm =
  /(?:[\w.+%~-]|[\xc3-\xdf][\x80-\xbf]|\\u0[0-7][\da-f]{2}){1,80}(?:@|%40)[a-z\d](?:[a-z\d-]*[a-z\d])?(?:\.[a-z\d](?:[a-z\d-]*[a-z\d])?)+/u
const mailAddress = new RegExp(outsideOfEscape + mailForm.source, "giu")

/** So long a word is a picture or a sound in base64, in which a short name stands by chance. */
const encoded = /[\w+/-]{64,}/gu

/** Takes one exchange apart after the other and remembers the keys that it has seen. */
export interface Redactor {
  readonly headers: (headers: Headers) => Record<string, string>
  readonly url: (url: string) => string
  /** The pieces of one body; as many come back, with what is cut between two of them replaced in the first. */
  readonly body: (pieces: ReadonlyArray<Uint8Array>) => ReadonlyArray<Uint8Array>
  /** The same for bytes that are no text, a picture for example: of these only the keys are known. */
  readonly bytes: (pieces: ReadonlyArray<Uint8Array>) => ReadonlyArray<Uint8Array>
}

export const makeRedactor = ({ personal }: RedactionRules): Redactor => {
  const secrets = new Set<string>()
  const names = personal
    .flatMap((name, index) =>
      name === "" ? [] : casesOf(name).map((form) => [form, `[personal ${index + 1}]`] as const)
    )
    .toSorted(([one], [other]) => other.length - one.length)

  const learn = (value: string): void => {
    const secret = value.replace(/^(bearer|basic|token|key)\s+/iu, "").trim()
    if (secret.length >= 6) for (const form of writtenForms(secret)) secrets.add(form)
    if (/^basic\s/iu.test(value)) learn(passwordIn(secret))
  }

  const keyEditsOf = (text: string) => [...secrets].flatMap((secret) => placesOf(text, secret, hidden))
  const nameEditsOf = (text: string): ReadonlyArray<Edit> => {
    const found = names.flatMap(([name, placeholder]) => placesOf(text, name, placeholder))
    const media = found.length === 0 ? [] : matchesOf(text, encoded, "")
    return found.filter(({ from, to }) => !media.some((run) => run.from <= from && to <= run.to))
  }
  const editsOf = (text: string): ReadonlyArray<Edit> => [
    ...keyEditsOf(text),
    ...matchesOf(text, secretForm, hidden),
    ...matchesOf(text, mailAddress, "redacted@example.invalid"),
    ...nameEditsOf(text)
  ]
  const plain = (text: string): string => applyEdits([text], editsOf(text)).join("")
  const readable = (text: string): string => fromBytes(plain(toBytes(text)))

  /** Strings of a JSON value, fields that hold keys first. */
  const learnFields = (value: unknown, name = ""): void => {
    if (typeof value === "string" && secretField.test(name)) learn(value)
    else if (Array.isArray(value)) for (const each of value) learnFields(each, name)
    else if (isRecord(value)) for (const key of Object.keys(value)) learnFields(value[key], key)
  }

  return {
    headers: (headers) => {
      const kept: Record<string, string> = {}
      for (const [name, value] of headers) {
        const isPlain = plainHeaders.has(name)
        if (!isPlain && secretHeader.test(name)) for (const secret of secretsIn(name, value)) learn(secret)
        kept[name] = isPlain ? readable(value.replace(/boundary=.*$/u, "boundary=boundary")) : hidden
      }
      return kept
    },
    url: (url) => {
      const address = new URL(url)
      const parameters = [...address.searchParams].map(([name, value]): [string, string] => {
        const isSecret = secretParameter.test(name)
        if (isSecret) learn(value)
        return [name, isSecret ? "redacted" : readable(value)]
      })
      address.search = new URLSearchParams(parameters).toString()
      if (address.password !== "") learn(address.password)
      address.username = ""
      address.password = ""
      address.pathname = address.pathname.split("/").map(readable).join("/")
      return address.href
    },
    body: (pieces) => {
      const texts = pieces.map(latinOf)
      const whole = texts.join("")
      learnFields(parsed(whole))
      for (const [name, value] of formFields(whole)) learnFields(value, name)
      const events = eventsOf(whole)
      for (const { value } of events) learnFields(value)
      const joined = applyEdits(texts, streamEdits(events, editsOf))
      return applyEdits(joined, editsOf(joined.join(""))).map(ofLatin)
    },
    bytes: (pieces) => {
      const texts = pieces.map(latinOf)
      return applyEdits(texts, keyEditsOf(texts.join(""))).map(ofLatin)
    }
  }
}

/** Of cookies the values, without words such as `default`. */
const secretsIn = (header: string, value: string): ReadonlyArray<string> => {
  const pairs = header === "cookie" ? value.split(";") : header === "set-cookie" ? value.split(";", 1) : null
  if (pairs === null) return [value]
  return pairs
    .map((pair) => pair.slice(pair.indexOf("=") + 1).replaceAll('"', ""))
    .filter((secret) => /\d/u.test(secret) || secret.length >= 16)
}

const passwordIn = (base64: string): string => {
  const pair = Buffer.from(base64, "base64").toString("utf8")
  return pair.slice(pair.indexOf(":") + 1)
}

/** Each value as it is and as it is written. */
const addressFields = (body: string) =>
  body.split("&").flatMap((pair) => {
    const written = pair.slice(pair.indexOf("=") + 1)
    return [...new URLSearchParams(pair)].flatMap(([name, value]) => [[name, value] as const, [name, written] as const])
  })

/** Of a form, as an address holds it or in parts; of other bodies nothing that counts. */
const formFields = (body: string): ReadonlyArray<readonly [name: string, value: string]> => [
  ...(/^[\w.%+-]+=[^\s{]*$/u.test(body) ? addressFields(body) : []),
  ...[...body.matchAll(/; name="([^"\r\n]*)"\r\n(?:[^\r\n]+\r\n)*\r\n([^\r\n]*)\r\n/gu)].map(
    ([, name = "", value = ""]) => [name, fromBytes(value)] as const
  )
]

// ------ edits

interface Edit {
  readonly from: number
  readonly to: number
  readonly text: string
}

/** Of edits that overlap the first counts, and of those the longest. A piece keeps its place; an edit stands in the piece where it begins. */
const applyEdits = (pieces: ReadonlyArray<string>, edits: ReadonlyArray<Edit>): ReadonlyArray<string> => {
  const ordered = edits.toSorted((a, b) => a.from - b.from || b.to - a.to)
  const apart: Array<Edit> = []
  for (const edit of ordered) if (edit.from >= (apart.at(-1)?.to ?? 0)) apart.push(edit)
  let start = 0
  return pieces.map((piece) => {
    const end = start + piece.length
    let text = ""
    let place = start
    for (const edit of apart) {
      if (edit.to <= start || edit.from >= end) continue
      if (edit.from > place) text += piece.slice(place - start, edit.from - start)
      if (edit.from >= start) text += edit.text
      place = Math.min(end, edit.to)
    }
    text += piece.slice(place - start)
    start = end
    return text
  })
}

const matchesOf = (text: string, pattern: RegExp, replacement: string): ReadonlyArray<Edit> =>
  [...text.matchAll(pattern)].map((match) => ({
    from: match.index,
    to: match.index + match[0].length,
    text: replacement
  }))

const placesOf = (text: string, searched: string, replacement: string): ReadonlyArray<Edit> =>
  matchesOf(text, new RegExp(outsideOfEscape + escaped(searched), "giu"), replacement)

const escaped = (text: string): string => text.replaceAll(/[.*+?^${}()|[\]\\/]/gu, String.raw`\$&`)

/** As UTF-8, as JSON escapes it, and as an address holds it. */
const writtenForms = (text: string): ReadonlyArray<string> => {
  const inJson = JSON.stringify(text).slice(1, -1)
  const inAscii = inJson.replaceAll(/[^\0-\x7f]/gu, (character) =>
    Array.from(
      { length: character.length },
      (_, index) => `\\u${character.charCodeAt(index).toString(16).padStart(4, "0")}`
    ).join("")
  )
  return [
    ...new Set([
      toBytes(text),
      toBytes(inJson),
      inAscii,
      encodeURIComponent(text),
      encodeURIComponent(text).replaceAll("%20", "+")
    ])
  ]
}

/** Letters of other alphabets than the English one are bytes here, of which no expression knows the case, and some are put together in two ways. */
const casesOf = (name: string): ReadonlyArray<string> => [
  ...new Set(
    [name.normalize("NFC"), name.normalize("NFD")].flatMap((spelled) =>
      [spelled, spelled.toLowerCase(), spelled.toUpperCase()].flatMap(writtenForms)
    )
  )
]

const latinOf = (bytes: Uint8Array): string => Buffer.from(bytes).toString("latin1")
const ofLatin = (text: string): Uint8Array => new Uint8Array(Buffer.from(text, "latin1"))
const toBytes = (text: string): string => Buffer.from(text, "utf8").toString("latin1")
const fromBytes = (bytes: string): string => Buffer.from(bytes, "latin1").toString("utf8")

// ------ streams

interface StreamedEvent {
  /** Where its JSON stands in the body. */
  readonly from: number
  readonly to: number
  readonly value: unknown
}

/** The JSON of server-sent events. */
const eventsOf = (body: string): ReadonlyArray<StreamedEvent> =>
  [...body.matchAll(/^data: ?(.*?)\r?$/gmu)].flatMap((match) => {
    const json = match[1] ?? ""
    const value = parsed(json)
    const from = match.index + match[0].indexOf(json)
    return isRecord(value) ? [{ from, to: from + json.length, value }] : []
  })

/** What several events say one after the other in the same field is one text: what goes over their borders is replaced in the first of them. */
const streamEdits = (
  events: ReadonlyArray<StreamedEvent>,
  editsOf: (text: string) => ReadonlyArray<Edit>
): ReadonlyArray<Edit> => {
  const fields = new Map<string, Array<{ readonly event: number; readonly text: string }>>()
  for (const [event, { value }] of events.entries()) {
    eachText(value, "", (path, text) => {
      const said = fields.get(path) ?? []
      said.push({ event, text: toBytes(text) })
      fields.set(path, said)
    })
  }
  const changed = new Map<number, Map<string, string>>()
  for (const [path, said] of fields) {
    if (said.length < 2) continue
    const before = said.map(({ text }) => text)
    const after = applyEdits(before, editsOf(before.join("")))
    for (const [index, { event }] of said.entries()) {
      if (after[index] === before[index]) continue
      const paths = changed.get(event) ?? new Map<string, string>()
      changed.set(event, paths.set(path, fromBytes(after[index] ?? "")))
    }
  }
  return [...changed].flatMap(([index, paths]) => {
    const event = events[index]
    if (event === undefined) return []
    const text = toBytes(JSON.stringify(withTexts(event.value, "", paths)))
    return [{ from: event.from, to: event.to, text }]
  })
}

const eachText = (value: unknown, path: string, visit: (path: string, text: string) => void): void => {
  if (typeof value === "string") visit(path, value)
  else if (Array.isArray(value)) for (const [index, each] of value.entries()) eachText(each, `${path}/${index}`, visit)
  else if (isRecord(value)) for (const key of Object.keys(value)) eachText(value[key], `${path}/${key}`, visit)
}

const withTexts = (value: unknown, path: string, texts: ReadonlyMap<string, string>): unknown => {
  if (typeof value === "string") return texts.get(path) ?? value
  if (Array.isArray(value)) return value.map((each, index) => withTexts(each, `${path}/${index}`, texts))
  if (!isRecord(value)) return value
  return Object.fromEntries(Object.keys(value).map((key) => [key, withTexts(value[key], `${path}/${key}`, texts)]))
}

/** A body or an event of the wire, from text with a character for each byte. */
const parsed = (bytes: string): unknown => {
  try {
    return JSON.parse(fromBytes(bytes))
  } catch {
    return undefined
  }
}

const isRecord = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null && !Array.isArray(value)
