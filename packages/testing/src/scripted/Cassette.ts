/**
 * Records requests to a real provider once, and replays the answers in tests with the same driver. A cassette is a `fetch` for the settings of any
 * provider. `record` sends the requests and writes a file without keys and personal text; `replay` answers from the file, in the same pieces as the
 * network delivered, and sends nothing. An unrecorded request gets the status 400, and closing the cassette reports how it differs.
 */
import * as Schema from "effect/Schema"
import { mkdir, readFile, writeFile } from "node:fs/promises"
import { dirname } from "node:path"
import {
  decodeCassette,
  encodeCassette,
  fromPiece,
  type RecordedAnswer,
  type RecordedExchange,
  type RecordedRequest,
  toPiece
} from "./CassetteFile.ts"
import { hidden, makeRedactor, type Redactor } from "./Redaction.ts"
import { describeDifferences, differencesOf, nameOf } from "./RequestDifference.ts"

export interface CassetteOptions {
  /** Names and other texts that must not be stored. Replaying needs the same list, because requests are compared without these texts. */
  readonly personal?: ReadonlyArray<string>
}

export interface RecordOptions extends CassetteOptions {
  /** Replaces the platform's `fetch`. */
  readonly fetch?: typeof globalThis.fetch
}

/** The requests of the test differ from the recorded ones. */
export class CassetteMismatch extends Schema.TaggedError<CassetteMismatch>()("CassetteMismatch", {
  file: Schema.String,
  problems: Schema.Array(Schema.String)
}) {
  override get message() {
    return `The requests differ from the cassette ${this.file}. Change them back, or record it again:\n${this.problems.join("\n")}`
  }
}

export interface Cassette {
  /** Passed to the settings of a provider: `openai({ apiKey, fetch: cassette.fetch })`. */
  readonly fetch: typeof globalThis.fetch
  /** After recording, writes the file. After replaying, rejects with `CassetteMismatch` unless exactly the recorded requests were sent. */
  readonly close: () => Promise<void>
  readonly [Symbol.asyncDispose]: () => Promise<void>
}

/** An exchange before its redaction. All exchanges are redacted together at the end, because a later one may show that a text is a key. */
interface RawExchange {
  readonly request: Request
  readonly body: Uint8Array
  readonly status: number
  readonly headers: Headers
  readonly pieces: ReadonlyArray<Uint8Array>
  readonly ending: RecordedAnswer["ending"]
}

/** Sends requests to the provider, and writes the file when the cassette is closed. Answers that were read to their end are stored completely. */
export const record = (file: string, options: RecordOptions = {}): Promise<Cassette> => {
  const { fetch = globalThis.fetch, personal = [] } = options
  const exchanges: Array<Promise<RawExchange>> = []
  const copies: Array<Copy> = []
  const recordingFetch: typeof globalThis.fetch = async (input, init) => {
    const request = new Request(input, init)
    const sent = { request, body: new Uint8Array(await request.clone().arrayBuffer()) }
    const exchange = Promise.withResolvers<RawExchange>()
    exchanges.push(exchange.promise)
    const response = await fetch(request.clone()).catch((error: unknown) => {
      const ending = request.signal.aborted ? "left" : "broken"
      exchange.resolve({ ...sent, status: 0, headers: new Headers(), pieces: [], ending })
      throw error
    })
    const headers = namedHeaders(response.headers)
    const copy = copyOf(response, (end) => exchange.resolve({ ...sent, status: response.status, headers, ...end }))
    copies.push(copy)
    request.signal.addEventListener("abort", copy.stop)
    return new Response(copy.body, { status: response.status, headers })
  }
  const close = once(async () => {
    for (const { stop } of copies) stop()
    const all = await Promise.all(exchanges)
    const redactor = makeRedactor({ personal })
    // The first pass only collects the keys of all exchanges.
    for (const each of all) redacted(redactor, each)
    await mkdir(dirname(file), { recursive: true })
    await writeFile(file, encodeCassette(all.map((each) => redacted(redactor, each))))
  })
  return Promise.resolve({ fetch: recordingFetch, close, [Symbol.asyncDispose]: close })
}

const redacted = (redactor: Redactor, raw: RawExchange): RecordedExchange => {
  const { body, ending, headers, pieces, request, status } = raw
  const recorded = requestOf(redactor, request, body)
  const redact = isText(headers.get("content-type"), pieces) ? redactor.body : redactor.bytes
  const shown = redactor.headers(headers)
  return { request: recorded, answer: { status, headers: shown, pieces: redact(pieces).map(toPiece), ending } }
}

/** Whether a body is text: by its content type, or because its bytes are valid UTF-8, perhaps without the last bytes of a character. */
const isText = (contentType: string | null, pieces: ReadonlyArray<Uint8Array>): boolean => {
  if (/^text\/|json|xml|event-stream/iu.test(contentType ?? "")) return true
  try {
    new TextDecoder("utf-8", { fatal: true }).decode(Buffer.concat(pieces), { stream: true })
    return true
  } catch {
    return false
  }
}

/** Answers from the file: each request gets the first matching exchange that has not been used yet. */
export const replay = async (file: string, options: CassetteOptions = {}): Promise<Cassette> => {
  const { exchanges } = decodeCassette(JSON.parse(await readFile(file, "utf8")))
  const personal = options.personal ?? []
  const redactor = makeRedactor({ personal })
  const unused = [...exchanges]
  const problems = new Set<string>()
  const answer: typeof globalThis.fetch = async (input, init) => {
    const request = new Request(input, init)
    const body = new Uint8Array(await request.arrayBuffer())
    const asked = requestOf(redactor, request, body)
    // The key of a replay may be any text, also one that happens to occur in the body, where it must not be redacted.
    const withoutKeys = requestOf(makeRedactor({ personal }), request, body, new Headers())
    const index = unused.findIndex((each) =>
      [asked, withoutKeys].some((form) => differencesOf(each.request, form).length === 0)
    )
    const [found] = index === -1 ? [] : unused.splice(index, 1)
    if (found !== undefined) return responseOf(found.answer, request.signal)
    const problem = problemOf(asked, unused)
    problems.add(problem)
    return Response.json({ error: { type: "cassette_mismatch", message: problem } }, { status: 400 })
  }
  const close = once(async () => {
    const left = unused.map(({ request }) => `The recorded request ${nameOf(request)} was not sent.`)
    const all = [...problems, ...left]
    if (all.length > 0) throw new CassetteMismatch({ file, problems: all })
  })
  return { fetch: answer, close, [Symbol.asyncDispose]: close }
}

const problemOf = (asked: RecordedRequest, unused: ReadonlyArray<RecordedExchange>): string => {
  const alike = unused
    .map(({ request }) => differencesOf(request, asked))
    .reduce<ReadonlyArray<string> | null>(
      (least, each) => (least === null || each.length < least.length ? each : least),
      null
    )
  return alike === null
    ? `${nameOf(asked)} was sent, but all recorded requests have been used.`
    : `${nameOf(asked)} was sent, and differs from the recorded request:\n${describeDifferences(alike)}`
}

/** The headers are redacted first, because the keys found in them are then removed from the URL and the body. */
const requestOf = (
  redactor: Redactor,
  request: Request,
  bytes: Uint8Array,
  sentHeaders = namedHeaders(request.headers)
): RecordedRequest => {
  const headers = redactor.headers(sentHeaders)
  const url = redactor.url(request.url)
  const [body = new Uint8Array()] = redactor.body([withoutBoundary(request.headers.get("content-type"), bytes)])
  return { method: request.method, url, headers, body: bodyOf(body) }
}

const bodyOf = (bytes: Uint8Array): RecordedRequest["body"] => {
  if (bytes.length === 0) return { none: true }
  try {
    return { json: JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(bytes)) }
  } catch {
    return { piece: toPiece(bytes) }
  }
}

/** Replaces the boundary of a form, which is random, so that equal forms have equal bytes. */
const withoutBoundary = (contentType: string | null, bytes: Uint8Array): Uint8Array => {
  const boundary = /boundary="?([^";]+)/u.exec(contentType ?? "")?.[1]
  if (boundary === undefined) return bytes
  return Buffer.from(Buffer.from(bytes).toString("latin1").replaceAll(boundary, "boundary"), "latin1")
}

/** Removes headers about the connection and the transfer of the body: they would not be true for a replayed answer. */
const namedHeaders = (headers: Headers): Headers => {
  const kept = new Headers(headers)
  for (const name of ["content-length", "content-encoding", "transfer-encoding", "connection", "date"])
    kept.delete(name)
  return kept
}

interface Copy {
  /** The body for the driver. */
  readonly body: ReadableStream<Uint8Array> | null
  /** Ends the recording of this body. Only the pieces that have arrived so far are stored. */
  readonly stop: () => void
}

/** Passes a body on to the driver and keeps its pieces. `onEnd` may be called several times; only the first call counts. */
const copyOf = (response: Response, onEnd: (end: Pick<RawExchange, "pieces" | "ending">) => void): Copy => {
  const pieces: Array<Uint8Array> = []
  const end = (ending: RecordedAnswer["ending"]) => onEnd({ pieces: [...pieces], ending })
  const reader = response.body?.getReader()
  if (reader === undefined) {
    end("whole")
    return { body: null, stop: () => {} }
  }
  const body = new ReadableStream<Uint8Array>({
    pull: async (controller) => {
      try {
        const { value } = await reader.read()
        if (value === undefined) {
          end("whole")
          return controller.close()
        }
        pieces.push(value)
        controller.enqueue(value)
      } catch (error) {
        end("broken")
        controller.error(error)
      }
    },
    cancel: async (reason) => {
      end("left")
      await reader.cancel(reason)
    }
  })
  return { body, stop: () => end("left") }
}

const broken = () => new TypeError("The connection broke here when it was recorded.")

const responseOf = async (answer: RecordedAnswer, signal: AbortSignal): Promise<Response> => {
  const { ending, headers, pieces, status } = answer
  if (status === 0 && ending === "left") return rejectOnAbort(signal)
  if (status === 0) throw broken()
  const left = pieces.map(fromPiece)
  const body = new ReadableStream<Uint8Array>({
    pull: (controller) => {
      const next = left.shift()
      if (next !== undefined) return controller.enqueue(next)
      if (ending === "broken") return controller.error(broken())
      controller.close()
    }
  })
  const shown = Object.entries(headers).filter(([, value]) => value !== hidden)
  const hasBody = ![204, 205, 304].includes(status)
  return new Response(hasBody ? body : null, { status, headers: shown })
}

/** The driver aborted the recorded request before there was an answer. So the replay waits until the driver aborts again. */
const rejectOnAbort = (signal: AbortSignal): Promise<never> =>
  new Promise((_, reject) => {
    const onAbort = () => reject(signal.reason)
    if (signal.aborted) onAbort()
    else signal.addEventListener("abort", onAbort)
  })

const once = (effect: () => Promise<void>): (() => Promise<void>) => {
  let ended: Promise<void> | undefined
  return () => (ended ??= effect())
}
