/**
 * Sends requests to all providers over HTTP: one request, its streamed answer in limited memory, and every failure as a `ModelError`. A protocol
 * defines the call and three plain functions (start, step, end); everything that touches the network is in this file.
 *
 * Requests go through the narrow port `Exchange`, and each network read is one pull of the stream. `effect/http` is not used: it would add a span
 * of its own, send trace headers to the vendor and add two stream stages to every read, while `ChatModel` already has the span and the retries.
 *
 * A hostile or broken provider can only cause an error: answers and single events have a size limit, text must be UTF-8, the content type must
 * be the expected one, and redirects are not followed, because they could send the key to another host.
 */
import type { ChatEvent } from "@colloquy/core/adapters"
import { callbackLimitedTo, ModelError, operatorDetail, errorSentence, pullStream } from "@colloquy/core/adapters"
import * as Arr from "effect/Array"
import * as Cause from "effect/Cause"
import * as Clock from "effect/Clock"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import type * as Pull from "effect/Pull"
import * as Redacted from "effect/Redacted"
import * as Scope from "effect/Scope"
import type * as Stream from "effect/Stream"
import { type ApiKey, hidden } from "./ApiKey.ts"
import { type Exchange, type Read, type Send, sendByFetch } from "./Exchange.ts"
import { type Fault, retryHeaders, sentenceIn, sentenceInEvent } from "./Fault.ts"
import { sendByNode } from "./NodeRequest.ts"
import type { Multipart } from "./Multipart.ts"
import { RepeatedChunk, type TextChunk } from "./RepeatedChunk.ts"
import { makeSseReader } from "./Sse.ts"
import { parseJson, wellFormedJson } from "./Wire.ts"

export interface TransportSettings {
  /** Replaces the platform's HTTP client (the one behind `fetch` on Node.js, `fetch` elsewhere), for example to use a proxy or client certificates. */
  readonly fetch?: typeof globalThis.fetch
  /** How long the head of the response may take, including the connection. A local server may have to load the model. Default: 2 minutes. */
  readonly headTimeout?: Duration.Input
  /** How long the body of a response that is not streamed may take, for example a list of models or an error. Default: 30 seconds. */
  readonly bodyTimeout?: Duration.Input
  /** The largest event of a stream, in UTF-16 units. An image inside an answer is one event. Default: 32 Mi. */
  readonly maxEventCharacters?: number
  /** The largest answer, in bytes. It also limits the memory in which a protocol collects an answer. Default: 64 MiB. */
  readonly maxAnswerBytes?: number
}

/** One request. Headers that contain a key are in `secrets`; their values are revealed only when the request is sent. */
export interface Call {
  readonly provider: string
  readonly model: string
  readonly url: string
  readonly headers: { readonly [name: string]: string }
  readonly secrets: { readonly [name: string]: Redacted.Redacted<string> }
  /** The JSON text or the form of a POST; null for a GET. */
  readonly body: string | Multipart | null
  /** True: the request is never sent a second time, because what it orders costs money. */
  readonly isOnce?: boolean
}

/** How to read a vendor's errors. */
export interface ErrorDialect {
  readonly requestIdHeader: string
  /** Reads the parsed body of an error response; the body is undefined if it was not JSON. */
  readonly fault: (status: number, body: unknown) => Fault
}

/** How to read a vendor's streamed answer. `State` belongs to one answer and is changed in place; otherwise these functions are pure. */
export interface StreamDialect<State> extends ErrorDialect {
  readonly start: () => State
  /** Reads one parsed event and adds the kernel's events to `events`. Reading stops when it returns a fault or `end`. */
  readonly step: (state: State, chunk: unknown, events: Array<ChatEvent>) => Fault | "end" | undefined
  /** Called with a chunk after `step`: whether similar chunks with another text can be read without being parsed (see `RepeatedChunk`). Absent: no. */
  readonly toTextChunk?: (state: State, chunk: unknown) => TextChunk | null
  /** Called at the end of the answer; `marked` is true after an end mark. Adds the last events, and `Finished` if the answer is complete. */
  readonly end: (state: State, events: Array<ChatEvent>, marked: boolean) => void
}

export const bearer = (key: ApiKey | null | undefined): Call["secrets"] =>
  key ? { authorization: Redacted.make(`Bearer ${Redacted.value(hidden(key))}`) } : {}

/** Sends the call when the stream is run, and closes the connection if the consumer stops before the end. */
export const streamAnswer = <State>(
  makeCall: () => Call,
  dialect: StreamDialect<State>,
  settings: TransportSettings
): Stream.Stream<ChatEvent, ModelError> =>
  pullStream((scope) =>
    Effect.suspend(() => {
      const call = makeCall()
      const { model, provider } = call
      // The call is not kept: its body may be large, and an answer may take minutes.
      const telling = withSentences(dialect, makeCall)
      return Effect.map(open(call, dialect, settings, scope), (answer) =>
        pullEvents(answer, { model, provider }, telling, settings)
      )
    })
  )

/** Faults inside of an answer get the sentence of the provider. The call is made again for it, because the sentence may quote it. */
const withSentences = <State>(dialect: StreamDialect<State>, makeCall: () => Call): StreamDialect<State> => ({
  ...dialect,
  step: (state, event, events) => {
    const stop = dialect.step(state, event, events)
    const sentence = typeof stop === "object" ? sentenceInEvent(event) : ""
    return typeof stop !== "object" || sentence === ""
      ? stop
      : { ...stop, forOperator: sentenceForOperator(makeCall(), sentence) }
  }
})

/** Sends the call and parses the JSON body of the response. */
export const fetchJson = (
  call: Call,
  dialect: ErrorDialect,
  settings: TransportSettings
): Effect.Effect<unknown, ModelError> => Effect.map(fetchPaced(call, dialect, settings), ({ body }) => body)

/** Like `fetchJson`; also returns the pause that the provider asks for before the next request, or null. */
export const fetchPaced = Effect.fnUntraced(function* (call: Call, dialect: ErrorDialect, settings: TransportSettings) {
  const answer = yield* open(call, dialect, settings, yield* Effect.scope)
  const body = yield* Effect.mapError(readJson(answer, settings), (fault) =>
    modelError(call, fault, readRequestId(answer, dialect))
  )
  const headers = { get: (name: string) => answer.exchange.header(name) }
  const { retryAfterMillis = null } = retryHeaders(headers, yield* Clock.currentTimeMillis)
  return { body, retryAfterMillis }
}, Effect.scoped)

/**
 * The bytes of a file as they arrive. Its content type must begin with one of `types` (`video/`), be unspecific, or be missing. A connection
 * without new bytes for `bodyTimeout` counts as broken. The caller must limit the number of bytes.
 */
export const streamBytes = (
  call: Call,
  types: ReadonlyArray<string>,
  dialect: ErrorDialect,
  settings: TransportSettings
): Stream.Stream<Uint8Array, ModelError> =>
  pullStream((scope) =>
    Effect.flatMap(open(call, dialect, settings, scope), (answer) => {
      const fail = (fault: Fault) => Effect.fail(modelError(call, fault, readRequestId(answer, dialect)))
      const type = answer.exchange.header("content-type")?.split(";")[0]?.trim().toLowerCase() ?? ""
      if (type !== "" && type !== "application/octet-stream" && !types.some((each) => type.startsWith(each)))
        return fail({ reason: "malformed", code: "unexpected_content_type", shouldRetry: false })
      return Effect.succeed(pullBytes(answer, settings, fail))
    })
  )

type BytePull = Pull.Pull<Arr.NonEmptyReadonlyArray<Uint8Array>, ModelError>

const pullBytes = ({ exchange }: OpenResponse, settings: TransportSettings, fail: Fail): BytePull =>
  Effect.callback<Read>((resume) => exchange.read((next) => resume(Effect.succeed(next)))).pipe(
    Effect.timeoutOrElse({
      duration: settings.bodyTimeout ?? "30 seconds",
      orElse: (): Effect.Effect<Read> => Effect.succeed("broken")
    }),
    Effect.flatMap((next): BytePull => {
      if (next === "end") return Cause.done()
      return next === "broken" ? fail(cutOff) : Effect.succeed([next])
    })
  )

// ------ request

type Target = Pick<Call, "provider" | "model">

const modelError = ({ provider, model }: Target, fault: Fault, requestId: string | null): ModelError =>
  new ModelError({
    ...fault,
    provider,
    model,
    ...(requestId === null ? {} : { requestId: requestId.slice(0, 128) })
  })

/** The error of the connection names the address and says why, such as `connect ECONNREFUSED 127.0.0.1:1`. */
const notReached = (call: Call, error: unknown): ModelError => {
  const origin = URL.parse(call.url)?.origin ?? "The address is not valid"
  return modelError(
    call,
    { reason: "connection", forOperator: sentenceForOperator(call, `${origin}: ${errorSentence(error)}`) },
    null
  )
}

const sentenceForOperator = ({ body, model, secrets }: Call, sentence: string): string => {
  const request = typeof body === "string" ? body.replaceAll(model, "") : ""
  const keys = Object.values(secrets).map((secret) => Redacted.value(secret).replace(/^\w{1,20} /u, ""))
  return operatorDetail(sentence, request, keys)
}

/** A request and its response. */
interface OpenResponse {
  readonly exchange: Exchange
  /** Set after the end mark: reads the rest of the body, which normally is only its end. */
  rest: ReadPiece | null
}

const readRequestId = ({ exchange }: OpenResponse, dialect: ErrorDialect): string | null =>
  exchange.header(dialect.requestIdHeader)

/** Succeeds with a response of status 2xx. It is released when the scope closes. */
const open = (
  call: Call,
  dialect: ErrorDialect,
  settings: TransportSettings,
  scope: Scope.Scope
): Effect.Effect<OpenResponse, ModelError> =>
  Effect.suspend(() => {
    let begun: OpenResponse | null = null
    const releasing = Effect.suspend(() => (begun === null ? Effect.void : release(begun)))
    const sending = send(call, settings, (exchange) => (begun = { exchange, rest: null }))
    return Effect.andThen(
      Scope.addFinalizer(scope, releasing),
      Effect.flatMap(sending, (answer): Effect.Effect<OpenResponse, ModelError> => {
        const status = answer.exchange.status()
        return status >= 200 && status < 300 ? Effect.succeed(answer) : readFailure(answer, call, dialect, settings)
      })
    )
  })

/**
 * A connection can be used again only if the body was read to its end. So after an end mark, the rest of the body is read in the background.
 */
const release = ({ exchange, rest }: OpenResponse): Effect.Effect<unknown> => {
  const releasing = Effect.sync(() => exchange.release())
  return rest === null || exchange.isOver()
    ? releasing
    : Effect.forkDetach(Effect.ensuring(readToEnd(rest), releasing), { startImmediately: true })
}

/** Succeeds when the head of the response has arrived. `begin` is called as soon as the request has been sent. */
const send = (
  call: Call,
  settings: TransportSettings,
  begin: (exchange: Exchange) => OpenResponse
): Effect.Effect<OpenResponse, ModelError> =>
  callbackLimitedTo<OpenResponse, ModelError>(
    settings.headTimeout ?? defaultHeadTimeout,
    (resume) => {
      const { body, isOnce = false, url } = call
      const written = typeof body === "string" ? wellFormedJson(body) : (body?.bytes ?? null)
      const request = { url, headers: callHeaders(call), body: written, isOnce }
      const answer = begin(
        chooseSend(settings)(request, (isAnswered, error) =>
          resume(isAnswered ? Effect.succeed(answer) : Effect.fail(notReached(call, error)))
        )
      )
    },
    () => Effect.fail(modelError(call, { reason: "timeout" }, null))
  )

const defaultHeadTimeout = Duration.minutes(2)

const chooseSend = ({ fetch }: TransportSettings): Send =>
  fetch === undefined && sendByNode !== null ? sendByNode : sendByFetch(fetch ?? globalThis.fetch)

const callHeaders = (call: Call): Record<string, string> => {
  const headers: Record<string, string> = { ...call.headers }
  if (call.body !== null) headers["content-type"] = isForm(call.body) ? call.body.contentType : "application/json"
  for (const [name, value] of Object.entries(call.secrets)) headers[name] = Redacted.value(value)
  return headers
}

const isForm = (body: Call["body"]): body is Multipart => typeof body === "object" && body !== null

/** Fails with the error of a response whose status is not 2xx. A body that is too long, too slow or not JSON is ignored. */
const readFailure = Effect.fnUntraced(function* (
  answer: OpenResponse,
  call: Call,
  dialect: ErrorDialect,
  settings: TransportSettings
): Effect.fn.Return<never, ModelError> {
  const body = yield* Effect.orElseSucceed(readJson(answer, { ...settings, maxAnswerBytes: 65_536 }), () => undefined)
  const { exchange } = answer
  const now = yield* Clock.currentTimeMillis
  const headers = { get: (name: string) => exchange.header(name) }
  const sentence = sentenceIn(body)
  const said = sentence === "" ? {} : { forOperator: sentenceForOperator(call, sentence) }
  const fault = { ...dialect.fault(exchange.status(), body), ...said, ...retryHeaders(headers, now) }
  return yield* modelError(call, fault, readRequestId(answer, dialect))
})

// ------ body

/** The next piece of text, null at the end of the body, or a fault. A fault is a value and not an error of an effect, to save CPU time. */
type Piece = string | null | Fault

type ReadPiece = (take: (piece: Piece) => void) => void

const readPieces = ({ exchange }: OpenResponse, maxBytes: number): ReadPiece => {
  // The decoder keeps the first bytes of a character that is split between two network reads.
  const decoder = new TextDecoder("utf-8", { fatal: true })
  let bytes = 0
  const toPiece = (next: Read): Piece => {
    if (next === "broken") return cutOff
    const value = next === "end" ? undefined : next
    bytes += value?.byteLength ?? 0
    if (bytes > maxBytes) return oversized
    try {
      const text = decoder.decode(value, { stream: value !== undefined })
      return value === undefined ? null : text
    } catch {
      return malformed
    }
  }
  return (take) => exchange.read((next) => take(toPiece(next)))
}

const cutOff: Fault = { reason: "cut_off" }
const oversized: Fault = { reason: "malformed", code: "oversized_answer", shouldRetry: false }
const malformed: Fault = { reason: "malformed", code: "malformed_answer" }

const nextPiece = (read: ReadPiece): Effect.Effect<Piece> =>
  Effect.callback((resume) => read((piece) => resume(Effect.succeed(piece))))

const readJson = Effect.fnUntraced(
  function* (answer: OpenResponse, settings: TransportSettings): Effect.fn.Return<unknown, Fault> {
    const read = nextPiece(readPieces(answer, settings.maxAnswerBytes ?? defaultMaxAnswerBytes))
    const pieces: Array<string> = []
    let piece = yield* read
    while (typeof piece === "string") {
      pieces.push(piece)
      piece = yield* read
    }
    const json = piece === null ? parseJson(pieces.join("")) : undefined
    return json === undefined ? yield* Effect.fail(piece ?? malformed) : json
  },
  (reading, _, { bodyTimeout = "30 seconds" }) =>
    Effect.timeoutOrElse(reading, {
      duration: bodyTimeout,
      orElse: () => Effect.fail<Fault>({ reason: "timeout" })
    })
)

const defaultMaxAnswerBytes = 64 * 1024 * 1024
const defaultMaxEventCharacters = 32 * 1024 * 1024

// ------ stream

type EventPull = Pull.Pull<Arr.NonEmptyReadonlyArray<ChatEvent>, ModelError>

const pullEvents = <State>(
  answer: OpenResponse,
  target: Target,
  dialect: StreamDialect<State>,
  settings: TransportSettings
): EventPull => {
  const requestId = readRequestId(answer, dialect)
  const fail = (fault: Fault) => Effect.fail(modelError(target, fault, requestId))
  const type = answer.exchange.header("content-type")?.split(";")[0]?.trim().toLowerCase()
  if (type === "text/event-stream") return pullSse(answer, dialect, settings, fail)
  // Some gateways return one whole answer in place of a stream, or an error with the status 200.
  if (type === "application/json") return pullWhole(answer, dialect, settings, fail)
  return fail({ reason: "malformed", code: "unexpected_content_type" })
}

type Fail = (fault: Fault) => Effect.Effect<never, ModelError>

/** Each pull does one network read. */
const pullSse = <State>(
  answer: OpenResponse,
  dialect: StreamDialect<State>,
  settings: TransportSettings,
  fail: Fail
): EventPull => {
  const read = readPieces(answer, settings.maxAnswerBytes ?? defaultMaxAnswerBytes)
  const readPiece = makeEventReader(dialect, settings.maxEventCharacters ?? defaultMaxEventCharacters)
  let stop: Stop
  const pull: EventPull = Effect.suspend(() => {
    if (stop === undefined) return next
    return stop === "end" ? Cause.done() : fail(stop)
  })
  const takePiece = (piece: Piece): EventPull => {
    const events: Array<ChatEvent> = []
    stop = catchExceptions(() => readPiece(piece, events))
    if (stop === "end") answer.rest = read
    // Events before a fault are emitted first; the next pull fails.
    if (Arr.isArrayNonEmpty(events)) return Effect.succeed(events)
    // The piece was a comment or a part of an event. It gives no event, but shows that the provider is still working.
    return stop === undefined ? keepAlive : pull
  }
  const next = Effect.flatMap(nextPiece(read), takePiece)
  return pull
}

const keepAlive: EventPull = Effect.succeed([{ _tag: "KeepAlive" }])

type Stop = Fault | "end" | undefined

/** A JSON value with very deep nesting overflows the stack of any function that walks it. Such an answer counts as malformed. */
const catchExceptions = (read: () => Stop): Stop => {
  try {
    return read()
  } catch {
    return malformed
  }
}

/** Returns a plain function that reads the pieces of a body, adds the kernel's events, and returns when to stop. */
const makeEventReader = <State>(dialect: StreamDialect<State>, maxEventCharacters: number) => {
  const state = dialect.start()
  const sse = makeSseReader(maxEventCharacters)
  const repeated = new RepeatedChunk((chunk) => dialect.toTextChunk?.(state, chunk) ?? null)
  const take = (chunks: ReadonlyArray<string>, events: Array<ChatEvent>): Stop => {
    for (const data of chunks) {
      if (data === "" || repeated.take(data, events)) continue
      const chunk = data === endMark ? undefined : parseJson(data)
      const stop = data === endMark ? "end" : chunk === undefined ? malformed : dialect.step(state, chunk, events)
      if (stop === "end") dialect.end(state, events, true)
      if (stop !== undefined) return stop
      repeated.learn(data, chunk)
    }
    return undefined
  }
  return (piece: Piece, events: Array<ChatEvent>): Stop => {
    if (typeof piece === "string") {
      const chunks = sse.feed(piece)
      return chunks === null ? oversized : take(chunks, events)
    }
    if (piece !== null && piece !== cutOff) return piece
    // The body may end inside of an event; an incomplete event is ignored.
    const whole = piece === null ? sse.end().filter((data) => data === endMark || parseJson(data) !== undefined) : []
    const stop = take(whole, events)
    if (stop !== undefined) return stop
    dialect.end(state, events, false)
    // A connection that broke after the answer was complete is not a failure.
    return piece === null || events.at(-1)?._tag === "Finished" ? "end" : piece
  }
}

/** The end mark of OpenAI's chat protocol. Other protocols never send it, and it is not JSON. */
const endMark = "[DONE]"

/** Reads the rest of a body for at most a second, in case the provider never ends it. */
const readToEnd = (read: ReadPiece): Effect.Effect<void> =>
  Effect.callback<void>((resume) => {
    const take = (piece: Piece): void => (typeof piece === "string" ? read(take) : resume(Effect.void))
    read(take)
  }).pipe(Effect.timeoutOrElse({ duration: "1 second", orElse: () => Effect.void }))

/** Reads a whole answer as if it were the only event of a stream. JSON of another kind is no complete answer. */
const pullWhole = <State>(
  answer: OpenResponse,
  dialect: StreamDialect<State>,
  settings: TransportSettings,
  fail: Fail
): EventPull => {
  let isRead = false
  return Effect.suspend(() => {
    if (isRead) return Cause.done()
    isRead = true
    return Effect.matchEffect(readJson(answer, settings), {
      onFailure: fail,
      onSuccess: (json): EventPull => {
        const events: Array<ChatEvent> = []
        const stop = catchExceptions(() => readWhole(json, dialect, events))
        if (typeof stop === "object") return fail(stop)
        return Arr.isArrayNonEmpty(events) ? Effect.succeed(events) : Cause.done()
      }
    })
  })
}

const readWhole = <State>(json: unknown, dialect: StreamDialect<State>, events: Array<ChatEvent>): Stop => {
  const state = dialect.start()
  const stop = dialect.step(state, json, events)
  if (typeof stop !== "object") dialect.end(state, events, events.length > 0)
  return stop
}
