/**
 * The way to every provider over HTTP: one request, its streamed answer in bounded memory, and every failure as a `ModelError`.
 * A protocol gives the call and three plain functions (start, step, end); everything that touches the network stands here, once.
 *
 * It asks through the narrow port `Exchange` and makes one pull of a network read. `effect/http` would add its own span, send trace headers
 * to the vendor and put two stream stages on every read, while `ChatModel` has the span and the retries already.
 *
 * What a hostile or broken provider can do ends in an error: the answer has a size limit, an event has one, text must be UTF-8, the
 * content type must be right, and no redirect is followed, because it could carry the key to another host.
 */
import type { ChatEvent } from "@colloquy/core/adapters"
import { callbackLimitedTo, ModelError } from "@colloquy/core/adapters"
import * as Arr from "effect/Array"
import * as Cause from "effect/Cause"
import * as Channel from "effect/Channel"
import * as Clock from "effect/Clock"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import type * as Pull from "effect/Pull"
import * as Redacted from "effect/Redacted"
import * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import { type ApiKey, hidden } from "./ApiKey.ts"
import { type Exchange, type Read, type Send, sendByFetch } from "./Exchange.ts"
import { type Fault, retryHeaders } from "./Fault.ts"
import { sendByNode } from "./NodeRequest.ts"
import type { Multipart } from "./Multipart.ts"
import { RepeatedChunk, type Saying } from "./RepeatedChunk.ts"
import { makeSseReader } from "./Sse.ts"
import { parseJson } from "./Wire.ts"

export interface TransportSettings {
  /** Takes the place of the platform's way (`node:http` on Node, elsewhere `fetch`): for a proxy, for client certificates. */
  readonly fetch?: typeof globalThis.fetch
  /** Until the head of the answer is there, connecting included. A local server may load the model first. Default: 2 minutes. */
  readonly headTimeout?: Duration.Input
  /** For a whole answer that is not streamed: a list of models, an error. Default: 30 seconds. */
  readonly bodyTimeout?: Duration.Input
  /** UTF-16 units of one event; an image that comes inline is one. Default: 32 Mi. */
  readonly maxEventCharacters?: number
  /** Bytes of one whole answer, whatever it is made of. Bounds all that a protocol collects. Default: 64 MiB. */
  readonly maxAnswerBytes?: number
}

/** One request. A header stands in `secrets` when it holds a key, and is revealed at the moment of sending only. */
export interface Call {
  readonly provider: string
  readonly model: string
  readonly url: string
  readonly headers: { readonly [name: string]: string }
  readonly secrets: { readonly [name: string]: Redacted.Redacted<string> }
  /** JSON text or a form to post; null for a GET. */
  readonly body: string | Multipart | null
  /** True: what it asks for is paid for, so it is never sent a second time. */
  readonly isOnce?: boolean
}

/** What a vendor's error looks like. */
export interface ErrorDialect {
  readonly requestIdHeader: string
  /** Reads the parsed body of an error answer; undefined when that was no JSON. */
  readonly fault: (status: number, body: unknown) => Fault
}

/** How a vendor streams an answer. `State` belongs to one answer and is changed in place; apart from that, these functions are pure. */
export interface StreamDialect<State> extends ErrorDialect {
  readonly start: () => State
  /** One parsed event of the wire, its meaning added to `events`. A fault or the end mark stops the reading. */
  readonly step: (state: State, chunk: unknown, events: Array<ChatEvent>) => Fault | "end" | undefined
  /** Of a chunk that was taken: whether another with another text can be taken without being parsed (`RepeatedChunk`). Absent: none can. */
  readonly saying?: (state: State, chunk: unknown) => Saying | null
  /** The answer is over, `marked` when an end mark was seen: adds what was waiting for it, and `Finished` if it was complete. */
  readonly end: (state: State, events: Array<ChatEvent>, marked: boolean) => void
}

export const bearer = (key: ApiKey | null | undefined): Call["secrets"] =>
  key ? { authorization: Redacted.make(`Bearer ${Redacted.value(hidden(key))}`) } : {}

/** Sends the call when the stream is run, and closes the connection when the stream is left early. */
export const streamAnswer = <State>(
  makeCall: () => Call,
  dialect: StreamDialect<State>,
  settings: TransportSettings
): Stream.Stream<ChatEvent, ModelError> =>
  Stream.fromChannel(
    Channel.fromTransform((_, scope) =>
      Effect.suspend(() => {
        const call = makeCall()
        return Effect.map(open(call, dialect, settings, scope), (answer) => pullEvents(answer, call, dialect, settings))
      })
    )
  )

/** A whole JSON answer. */
export const fetchJson = (
  call: Call,
  dialect: ErrorDialect,
  settings: TransportSettings
): Effect.Effect<unknown, ModelError> => Effect.map(fetchPaced(call, dialect, settings), ({ body }) => body)

/** A whole JSON answer, and when the provider wants to be asked again; null: it does not say. */
export const fetchPaced = (
  call: Call,
  dialect: ErrorDialect,
  settings: TransportSettings
): Effect.Effect<{ readonly body: unknown; readonly retryAfterMillis: number | null }, ModelError> =>
  Effect.scoped(
    Effect.gen(function* () {
      const answer = yield* open(call, dialect, settings, yield* Effect.scope)
      const body = yield* Effect.mapError(readJson(answer, settings), (fault) =>
        modelError(call, fault, requestIdOf(answer, dialect))
      )
      const headers = { get: (name: string) => answer.exchange.header(name) }
      const { retryAfterMillis = null } = retryHeaders(headers, yield* Clock.currentTimeMillis)
      return { body, retryAfterMillis }
    })
  )

/**
 * The bytes of a file, as they come: of one of these types (`video/`), or of none in particular. A connection that brings nothing for
 * `bodyTimeout` counts as broken. How many bytes there may be is the reader's affair.
 */
export const streamBytes = (
  call: Call,
  types: ReadonlyArray<string>,
  dialect: ErrorDialect,
  settings: TransportSettings
): Stream.Stream<Uint8Array, ModelError> =>
  Stream.fromChannel(
    Channel.fromTransform((_, scope) =>
      Effect.flatMap(open(call, dialect, settings, scope), (answer) => {
        const fail = (fault: Fault) => Effect.fail(modelError(call, fault, requestIdOf(answer, dialect)))
        const type = answer.exchange.header("content-type")?.split(";")[0]?.trim().toLowerCase() ?? ""
        if (type !== "" && type !== "application/octet-stream" && !types.some((each) => type.startsWith(each)))
          return fail({ reason: "malformed", code: "unexpected_content_type", shouldRetry: false })
        return Effect.succeed(pullBytes(answer, settings, fail))
      })
    )
  )

type BytePull = Pull.Pull<Arr.NonEmptyReadonlyArray<Uint8Array>, ModelError>

const pullBytes = ({ exchange }: Answer, settings: TransportSettings, fail: Fail): BytePull =>
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

type Asked = Pick<Call, "provider" | "model">

const modelError = ({ provider, model }: Asked, fault: Fault, requestId: string | null): ModelError =>
  new ModelError({
    ...fault,
    provider,
    model,
    ...(requestId === null ? {} : { requestId: requestId.slice(0, 128) })
  })

/** A request on its way, and then its answer. */
interface Answer {
  readonly exchange: Exchange
  /** Reads on behind the end mark, where nothing comes but the end of the body. */
  rest: ReadPiece | null
}

const requestIdOf = ({ exchange }: Answer, dialect: ErrorDialect): string | null =>
  exchange.header(dialect.requestIdHeader)

/** Succeeds with an answer of status 2xx, which is left with the scope. */
const open = (
  call: Call,
  dialect: ErrorDialect,
  settings: TransportSettings,
  scope: Scope.Scope
): Effect.Effect<Answer, ModelError> =>
  Effect.suspend(() => {
    let begun: Answer | null = null
    const leaving = Effect.suspend(() => (begun === null ? Effect.void : leave(begun)))
    const asking = ask(call, settings, (exchange) => (begun = { exchange, rest: null }))
    return Effect.andThen(
      Scope.addFinalizer(scope, leaving),
      Effect.flatMap(asking, (answer): Effect.Effect<Answer, ModelError> => {
        const status = answer.exchange.status()
        return status >= 200 && status < 300 ? Effect.succeed(answer) : readFailure(answer, call, dialect, settings)
      })
    )
  })

/**
 * Only a connection whose answer was read to its end can be used again, so one that has seen the end mark is read on in the background
 * after its reader has left.
 */
const leave = ({ exchange, rest }: Answer): Effect.Effect<unknown> => {
  const leaving = Effect.sync(() => exchange.leave())
  return rest === null || exchange.isOver()
    ? leaving
    : Effect.forkDetach(Effect.ensuring(readToEnd(rest), leaving), { startImmediately: true })
}

/** Succeeds when the head is there; `begin` gets the request that is on its way. */
const ask = (
  call: Call,
  settings: TransportSettings,
  begin: (exchange: Exchange) => Answer
): Effect.Effect<Answer, ModelError> =>
  callbackLimitedTo<Answer, ModelError>(
    settings.headTimeout ?? "2 minutes",
    (resume) => {
      const { body, isOnce = false, url } = call
      const request = { url, headers: headersOf(call), body: isForm(body) ? body.bytes : body, isOnce }
      const answer = begin(
        sendOf(settings)(request, (isAnswered) =>
          resume(isAnswered ? Effect.succeed(answer) : Effect.fail(modelError(call, { reason: "connection" }, null)))
        )
      )
    },
    () => Effect.fail(modelError(call, { reason: "timeout" }, null))
  )

const sendOf = ({ fetch }: TransportSettings): Send =>
  fetch === undefined && sendByNode !== null ? sendByNode : sendByFetch(fetch ?? globalThis.fetch)

const headersOf = (call: Call): Record<string, string> => {
  const headers: Record<string, string> = { ...call.headers }
  if (call.body !== null) headers["content-type"] = isForm(call.body) ? call.body.contentType : "application/json"
  for (const [name, value] of Object.entries(call.secrets)) headers[name] = Redacted.value(value)
  return headers
}

const isForm = (body: Call["body"]): body is Multipart => typeof body === "object" && body !== null

/** The error of an answer whose status is not 2xx. A body that is too long, too slow or no JSON counts as none. */
const readFailure = (
  answer: Answer,
  call: Call,
  dialect: ErrorDialect,
  settings: TransportSettings
): Effect.Effect<never, ModelError> =>
  Effect.gen(function* () {
    const body = yield* Effect.orElseSucceed(readJson(answer, { ...settings, maxAnswerBytes: 65_536 }), () => undefined)
    const { exchange } = answer
    const now = yield* Clock.currentTimeMillis
    const headers = { get: (name: string) => exchange.header(name) }
    const fault = { ...dialect.fault(exchange.status(), body), ...retryHeaders(headers, now) }
    return yield* modelError(call, fault, requestIdOf(answer, dialect))
  })

// ------ body

/** The next piece of text, null at the end of the body, or what went wrong. Not an error channel: this runs once per network read. */
type Piece = string | null | Fault

type ReadPiece = (take: (piece: Piece) => void) => void

const readPieces = ({ exchange }: Answer, maxBytes: number): ReadPiece => {
  // A character that the network cut in two waits inside the decoder for its second half.
  const decoder = new TextDecoder("utf-8", { fatal: true })
  let bytes = 0
  const pieceOf = (next: Read): Piece => {
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
  return (take) => exchange.read((next) => take(pieceOf(next)))
}

const cutOff: Fault = { reason: "cut_off" }
const oversized: Fault = { reason: "malformed", code: "oversized_answer", shouldRetry: false }
const malformed: Fault = { reason: "malformed", code: "malformed_answer" }

const nextOf = (read: ReadPiece): Effect.Effect<Piece> =>
  Effect.callback((resume) => read((piece) => resume(Effect.succeed(piece))))

const readJson = (answer: Answer, settings: TransportSettings): Effect.Effect<unknown, Fault> =>
  Effect.gen(function* () {
    const read = nextOf(readPieces(answer, settings.maxAnswerBytes ?? defaultMaxAnswerBytes))
    const pieces: Array<string> = []
    let piece = yield* read
    while (typeof piece === "string") {
      pieces.push(piece)
      piece = yield* read
    }
    const json = piece === null ? parseJson(pieces.join("")) : undefined
    return json === undefined ? yield* Effect.fail(piece ?? malformed) : json
  }).pipe(
    Effect.timeoutOrElse({
      duration: settings.bodyTimeout ?? "30 seconds",
      orElse: () => Effect.fail<Fault>({ reason: "timeout" })
    })
  )

const defaultMaxAnswerBytes = 64 * 1024 * 1024
const defaultMaxEventCharacters = 32 * 1024 * 1024

// ------ stream

type EventPull = Pull.Pull<Arr.NonEmptyReadonlyArray<ChatEvent>, ModelError>

const pullEvents = <State>(
  answer: Answer,
  call: Call,
  dialect: StreamDialect<State>,
  settings: TransportSettings
): EventPull => {
  const requestId = requestIdOf(answer, dialect)
  // Not the call: its body may be large, and an answer may take minutes.
  const asked = { provider: call.provider, model: call.model }
  const fail = (fault: Fault) => Effect.fail(modelError(asked, fault, requestId))
  const type = answer.exchange.header("content-type")?.split(";")[0]?.trim().toLowerCase()
  if (type === "text/event-stream") return pullSse(answer, dialect, settings, fail)
  // Some gateways answer a request for a stream with one whole answer, or with an error and status 200.
  if (type === "application/json") return pullWhole(answer, dialect, settings, fail)
  return fail({ reason: "malformed", code: "unexpected_content_type" })
}

type Fail = (fault: Fault) => Effect.Effect<never, ModelError>

/** One pull is one network read. */
const pullSse = <State>(
  answer: Answer,
  dialect: StreamDialect<State>,
  settings: TransportSettings,
  fail: Fail
): EventPull => {
  const read = readPieces(answer, settings.maxAnswerBytes ?? defaultMaxAnswerBytes)
  const hear = listen(dialect, settings.maxEventCharacters ?? defaultMaxEventCharacters)
  let stop: Stop
  const pull: EventPull = Effect.suspend(() => {
    if (stop === undefined) return next
    return stop === "end" ? Cause.done() : fail(stop)
  })
  const takePiece = (piece: Piece): EventPull => {
    const events: Array<ChatEvent> = []
    stop = survive(() => hear(piece, events))
    if (stop === "end") answer.rest = read
    // What came before a fault is handed over first; the next pull fails.
    if (Arr.isArrayNonEmpty(events)) return Effect.succeed(events)
    // A comment, or a part of something larger: no news, but a sign of life.
    return stop === undefined ? signOfLife : pull
  }
  const next = Effect.flatMap(nextOf(read), takePiece)
  return pull
}

const signOfLife: EventPull = Effect.succeed([{ _tag: "KeepAlive" }])

type Stop = Fault | "end" | undefined

/** A value that is nested deeper than the stack makes any function that walks it throw. */
const survive = (read: () => Stop): Stop => {
  try {
    return read()
  } catch {
    return malformed
  }
}

/** Bytes to events, without effects: takes the pieces one after the other and says when to stop. */
const listen = <State>(dialect: StreamDialect<State>, maxEventCharacters: number) => {
  const state = dialect.start()
  const sse = makeSseReader(maxEventCharacters)
  const repeated = new RepeatedChunk((chunk) => dialect.saying?.(state, chunk) ?? null)
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
    // The end may have cut the last event in two; half an event says nothing.
    const whole = piece === null ? sse.end().filter((data) => data === endMark || parseJson(data) !== undefined) : []
    const stop = take(whole, events)
    if (stop !== undefined) return stop
    dialect.end(state, events, false)
    // A connection that broke after the last word has lost nothing.
    return piece === null || events.at(-1)?._tag === "Finished" ? "end" : piece
  }
}

/** Of the OpenAI family. Nobody else sends it, and it is no JSON. */
const endMark = "[DONE]"

/** A provider that does not end its answer does not hold us. */
const readToEnd = (read: ReadPiece): Effect.Effect<void> =>
  Effect.callback<void>((resume) => {
    const take = (piece: Piece): void => (typeof piece === "string" ? read(take) : resume(Effect.void))
    read(take)
  }).pipe(Effect.timeoutOrElse({ duration: "1 second", orElse: () => Effect.void }))

/** The whole answer is read as if it had been the only event of a stream. */
const pullWhole = <State>(
  answer: Answer,
  dialect: StreamDialect<State>,
  settings: TransportSettings,
  fail: Fail
): EventPull => {
  let heard = false
  return Effect.suspend(() => {
    if (heard) return Cause.done()
    heard = true
    return Effect.matchEffect(readJson(answer, settings), {
      onFailure: fail,
      onSuccess: (json): EventPull => {
        const events: Array<ChatEvent> = []
        const stop = survive(() => readWhole(json, dialect, events))
        if (typeof stop === "object") return fail(stop)
        return Arr.isArrayNonEmpty(events) ? Effect.succeed(events) : Cause.done()
      }
    })
  })
}

const readWhole = <State>(json: unknown, dialect: StreamDialect<State>, events: Array<ChatEvent>): Stop => {
  const state = dialect.start()
  const stop = dialect.step(state, json, events)
  if (typeof stop !== "object") dialect.end(state, events, true)
  return stop
}
