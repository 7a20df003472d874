/**
 * Removes keys and personal text from an exchange with a provider. Keys are recognised by their place (headers, parameters of the URL, fields of a
 * body) and by their form; a key that was found once is removed everywhere. E-mail addresses are recognised by their form; the host lists names.
 * A text that is streamed in small pieces is searched as a whole, so that a text split between two pieces is also found. Pure functions.
 *
 * Bodies are treated as text with one character for each byte, because the network splits them anywhere, also inside of a character.
 */

export interface RedactionRules {
  /** Names and other texts that must not be stored. Upper and lower case are ignored; each text is replaced by its number in this list. */
  readonly personal: ReadonlyArray<string>
}

export const hidden = "[redacted]"

/** Headers that contain nothing secret or personal. Of all other headers only the name is stored. */
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

/** Headers that contain the numbers of tokens or rate limits are not secret. */
const secretHeader =
  /^(?!.*(?:ratelimit|tokens|token-count)).*(auth|key|token|secret|cookie|password|credential|organization|project|account)/iu
const secretParameter = /key|token|secret|signature|^sig$|auth|password|credential/iu
/** The name `token` alone is not secret: models stream their text under it. */
const secretField =
  /^(authorization|bearer|password|passwd|credentials?)$|api[-_]?key|secret|private[-_]?key|(access|refresh|auth|bearer|id)[-_]?token/iu
/**
 * Keys by their form. `*` belongs to keys that a vendor shows with asterisks in the middle. A key may follow directly after an escape of JSON,
 * whose last character is a letter or a digit.
 */
const secretForm =
  /(?:(?<![a-z\d])|(?<=\\[bfnrt])|(?<=\\u[\da-f]{4}))(?:(?:sk|pk|rk|xai|gsk|pa|hf|r8|jina|ghp)[-_][\w*-]{12,}|AIza[\w*-]{20,}|eyJ[\w-]{8,}\.[\w-]{8,}\.[\w-]+)/giu
/** A match must not begin inside of a JSON escape, because replacing it would break the escape. An escaped backslash does not begin an escape. */
const outsideOfEscape = String.raw`(?<!(?<!\\)(?:\\\\)*\\(?=[bfnrtu]))(?<!(?<!\\)(?:\\\\)*\\u[\da-f]{0,3})`
/**
 * Non-ASCII letters of Latin, Greek and Cyrillic script are two bytes, or an escape of JSON. The length is limited, because otherwise a long text
 * without spaces takes minutes.
 */
const mailForm =
  /(?:[\w.+%~-]|[\xc3-\xdf][\x80-\xbf]|\\u0[0-7][\da-f]{2}){1,80}(?:@|%40)[a-z\d](?:[a-z\d-]*[a-z\d])?(?:\.[a-z\d](?:[a-z\d-]*[a-z\d])?)+/u
const mailAddress = new RegExp(outsideOfEscape + mailForm.source, "giu")

/** So long a word is an image or audio in base64, which may contain a short name by chance. */
const base64Word = /[\w+/-]{64,}/gu

/** Redacts one exchange after the other, and remembers the keys that it has found. */
export interface Redactor {
  readonly headers: (headers: Headers) => Record<string, string>
  readonly url: (url: string) => string
  /** Redacts the pieces of one body and returns as many pieces. A text that is split between two pieces is replaced in the first one. */
  readonly body: (pieces: ReadonlyArray<Uint8Array>) => ReadonlyArray<Uint8Array>
  /** The same for binary bodies, for example images. Only keys that were found before are removed. */
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
    const media = found.length === 0 ? [] : matchesOf(text, base64Word, "")
    return found.filter(({ from, to }) => !media.some((word) => word.from <= from && to <= word.to))
  }
  const editsOf = (text: string): ReadonlyArray<Edit> => [
    ...keyEditsOf(text),
    ...matchesOf(text, secretForm, hidden),
    ...matchesOf(text, mailAddress, "redacted@example.invalid"),
    ...nameEditsOf(text)
  ]
  const plain = (text: string): string => applyEdits([text], editsOf(text)).join("")
  const readable = (text: string): string => fromBytes(plain(toBytes(text)))

  /** Remembers the values of all fields of a JSON value whose names show that they contain a key. */
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

/** The secret parts of a header: of cookies only the values, and no short words such as `default`. */
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

/** The fields of a form that is encoded like the parameters of a URL, each with its value and with the encoded value. */
const urlEncodedFields = (body: string) =>
  body.split("&").flatMap((pair) => {
    const written = pair.slice(pair.indexOf("=") + 1)
    return [...new URLSearchParams(pair)].flatMap(([name, value]) => [[name, value] as const, [name, written] as const])
  })

/** The fields of a URL-encoded or multipart form. Other bodies have none. */
const formFields = (body: string): ReadonlyArray<readonly [name: string, value: string]> => [
  ...(/^[\w.%+-]+=[^\s{]*$/u.test(body) ? urlEncodedFields(body) : []),
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

/** Of overlapping edits, the one that begins first is applied, or the longest of several. An edit is applied in the piece in which it begins. */
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

/** The forms in which a text can occur: as UTF-8, as a JSON string with or without escapes, and in a URL. */
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

/**
 * A name in its usual spelling, in lower case and in upper case, because a regular expression cannot ignore the case of non-ASCII letters in bytes;
 * and each in both Unicode forms, because a letter with an accent can be one character or two.
 */
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
  /** The position of its JSON in the body. */
  readonly from: number
  readonly to: number
  readonly value: unknown
}

/** The server-sent events of a body whose data is JSON. */
const eventsOf = (body: string): ReadonlyArray<StreamedEvent> =>
  [...body.matchAll(/^data: ?(.*?)\r?$/gmu)].flatMap((match) => {
    const json = match[1] ?? ""
    const value = parsed(json)
    const from = match.index + match[0].indexOf(json)
    return isRecord(value) ? [{ from, to: from + json.length, value }] : []
  })

/** Joins the texts that several events have in the same field. A match that spans several events is replaced in the first of them. */
const streamEdits = (
  events: ReadonlyArray<StreamedEvent>,
  editsOf: (text: string) => ReadonlyArray<Edit>
): ReadonlyArray<Edit> => {
  const fields = new Map<string, Array<{ readonly event: number; readonly text: string }>>()
  for (const [event, { value }] of events.entries()) {
    eachText(value, "", (path, text) => {
      const texts = fields.get(path) ?? []
      texts.push({ event, text: toBytes(text) })
      fields.set(path, texts)
    })
  }
  const changed = new Map<number, Map<string, string>>()
  for (const [path, texts] of fields) {
    if (texts.length < 2) continue
    const before = texts.map(({ text }) => text)
    const after = applyEdits(before, editsOf(before.join("")))
    for (const [index, { event }] of texts.entries()) {
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

/** Parses a body or an event, given as text with one character for each byte. */
const parsed = (bytes: string): unknown => {
  try {
    return JSON.parse(fromBytes(bytes))
  } catch {
    return undefined
  }
}

const isRecord = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null && !Array.isArray(value)
