/**
 * Exchanges with a real provider, recorded once and replayed in tests by the same driver: a `fetch` for the settings of any provider.
 * `record` asks the provider and writes a file without keys and personal text; `replay` answers from the file, piece by piece as the network
 * brought it, and asks nobody. A request that was not recorded is answered with status 400, and closing the cassette tells the difference.
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
  /** Names and other texts that must not be kept. Replaying needs the same list, because requests are compared without them. */
  readonly personal?: ReadonlyArray<string>
}

export interface RecordOptions extends CassetteOptions {
  /** Takes the place of the platform's `fetch`. */
  readonly fetch?: typeof globalThis.fetch
}

/** What was asked is not what was recorded. */
export class CassetteMismatch extends Schema.TaggedError<CassetteMismatch>()("CassetteMismatch", {
  file: Schema.String,
  problems: Schema.Array(Schema.String)
}) {
  override get message() {
    return `The cassette ${this.file} does not fit:\n${this.problems.join("\n")}`
  }
}

export interface Cassette {
  /** For the settings of a provider: `openai({ apiKey, fetch: cassette.fetch })`. */
  readonly fetch: typeof globalThis.fetch
  /** Writes what was recorded; or rejects with `CassetteMismatch` when what was asked is not what the file holds, neither more nor less. */
  readonly close: () => Promise<void>
  readonly [Symbol.asyncDispose]: () => Promise<void>
}

/** What is heard, as it came. It is redacted when all of it is known: a key may be told before it is used. */
interface Heard {
  readonly request: Request
  readonly body: Uint8Array
  readonly status: number
  readonly headers: Headers
  readonly pieces: ReadonlyArray<Uint8Array>
  readonly ending: RecordedAnswer["ending"]
}

/** Asks the provider, and writes the file when it is closed. An answer that is read to its end by then is whole. */
export const record = (file: string, options: RecordOptions = {}): Promise<Cassette> => {
  const { fetch = globalThis.fetch, personal = [] } = options
  const exchanges: Array<Promise<Heard>> = []
  const copies: Array<Copy> = []
  const ask: typeof globalThis.fetch = async (input, init) => {
    const request = new Request(input, init)
    const asked = { request, body: new Uint8Array(await request.clone().arrayBuffer()) }
    const heard = Promise.withResolvers<Heard>()
    exchanges.push(heard.promise)
    const response = await fetch(request.clone()).catch((error: unknown) => {
      const ending = request.signal.aborted ? "left" : "broken"
      heard.resolve({ ...asked, status: 0, headers: new Headers(), pieces: [], ending })
      throw error
    })
    const headers = namedHeaders(response.headers)
    const copy = copyOf(response, (end) => heard.resolve({ ...asked, status: response.status, headers, ...end }))
    copies.push(copy)
    request.signal.addEventListener("abort", copy.leave)
    return new Response(copy.body, { status: response.status, headers })
  }
  const close = once(async () => {
    for (const { leave } of copies) leave()
    const all = await Promise.all(exchanges)
    const redactor = makeRedactor({ personal })
    for (const each of all) redacted(redactor, each)
    await mkdir(dirname(file), { recursive: true })
    await writeFile(file, encodeCassette(all.map((each) => redacted(redactor, each))))
  })
  return Promise.resolve({ fetch: ask, close, [Symbol.asyncDispose]: close })
}

const redacted = (redactor: Redactor, { body, ending, headers, pieces, request, status }: Heard): RecordedExchange => {
  const asked = requestOf(redactor, request, body)
  const shown = redactor.headers(headers)
  const redact = isText(headers.get("content-type"), pieces) ? redactor.body : redactor.bytes
  return { request: asked, answer: { status, headers: shown, pieces: redact(pieces).map(toPiece), ending } }
}

/** By its name, or by its bytes, of which the last ones may be missing. */
const isText = (contentType: string | null, pieces: ReadonlyArray<Uint8Array>): boolean => {
  if (/^text\/|json|xml|event-stream/iu.test(contentType ?? "")) return true
  try {
    new TextDecoder("utf-8", { fatal: true }).decode(Buffer.concat(pieces), { stream: true })
    return true
  } catch {
    return false
  }
}

/** Answers from the file: to each request the first exchange that fits and was not used yet. */
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
    // The key of a replay may be any text, one that stands in the request by chance among them.
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
    const left = unused.map(({ request }) => `Nobody asked for ${nameOf(request)}, which the cassette holds.`)
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
    ? `${nameOf(asked)} was asked, and the cassette holds nothing more.`
    : `${nameOf(asked)} was asked, and differs from what was recorded:\n${describeDifferences(alike)}`
}

/** The headers first: they tell keys. */
const requestOf = (
  redactor: Redactor,
  request: Request,
  bytes: Uint8Array,
  named = namedHeaders(request.headers)
): RecordedRequest => {
  const headers = redactor.headers(named)
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

/** The boundary of a form is another one each time. */
const withoutBoundary = (contentType: string | null, bytes: Uint8Array): Uint8Array => {
  const boundary = /boundary="?([^";]+)/u.exec(contentType ?? "")?.[1]
  if (boundary === undefined) return bytes
  return Buffer.from(Buffer.from(bytes).toString("latin1").replaceAll(boundary, "boundary"), "latin1")
}

/** Those that describe the connection or how the body travelled say nothing, and would not be true of a replayed one. */
const namedHeaders = (headers: Headers): Headers => {
  const kept = new Headers(headers)
  for (const name of ["content-length", "content-encoding", "transfer-encoding", "connection", "date"])
    kept.delete(name)
  return kept
}

interface Copy {
  /** For the driver. */
  readonly body: ReadableStream<Uint8Array> | null
  /** What came by now is all that is kept, unless the body has ended already. */
  readonly leave: () => void
}

const copyOf = (response: Response, heard: (end: Pick<Heard, "pieces" | "ending">) => void): Copy => {
  const pieces: Array<Uint8Array> = []
  const end = (ending: RecordedAnswer["ending"]) => heard({ pieces: [...pieces], ending })
  const reader = response.body?.getReader()
  if (reader === undefined) {
    end("whole")
    return { body: null, leave: () => {} }
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
  return { body, leave: () => end("left") }
}

const broken = () => new TypeError("The connection broke here when it was recorded.")

const responseOf = async (answer: RecordedAnswer, signal: AbortSignal): Promise<Response> => {
  const { ending, headers, pieces, status } = answer
  if (status === 0 && ending === "left") return leftBy(signal)
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

/** Nothing was answered before the driver went away. */
const leftBy = (signal: AbortSignal): Promise<never> =>
  new Promise((_, reject) => {
    const leave = () => reject(signal.reason)
    if (signal.aborted) leave()
    else signal.addEventListener("abort", leave)
  })

const once = (effect: () => Promise<void>): (() => Promise<void>) => {
  let ended: Promise<void> | undefined
  return () => (ended ??= effect())
}
