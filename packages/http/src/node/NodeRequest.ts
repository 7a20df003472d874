/**
 * A request of the service read straight from Node's message: address, headers and body are those that a web request made of the same
 * message would have, so routes cannot tell by which way they were called.
 */
import { callbackLimitedTo } from "@colloquy/core/adapters"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Cookies from "effect/http/Cookies"
import * as Headers from "effect/http/Headers"
import * as HttpIncomingMessage from "effect/http/HttpIncomingMessage"
import { HttpServerError, RequestParseError } from "effect/http/HttpServerError"
import { type HttpServerRequest, MaxBodySize, TypeId } from "effect/http/HttpServerRequest"
import * as Multipart from "effect/http/Multipart"
import * as UrlParams from "effect/http/UrlParams"
import * as Inspectable from "effect/Inspectable"
import * as Option from "effect/Option"
import type * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import type { ServerResponse } from "node:http"
import type { TimedBody } from "../bodies/TimedBody.ts"
import { HttpSettings } from "../HttpSettings.ts"
import { type HostedMessage, requestLine } from "./HostedMessage.ts"
import { hostHeaders } from "./HostHeaders.ts"
import { type BodyFault, NodeBody } from "./NodeBody.ts"

/** The state that a request and its changed copies share. */
interface Exchange {
  readonly message: HostedMessage
  readonly response: ServerResponse
  readonly body: NodeBody
  readonly method: string
  readonly originalUrl: string
}

type Changes = Parameters<HttpServerRequest["modify"]>[0]

const decoder = new TextDecoder()

export class NodeRequest extends Inspectable.Class implements HttpServerRequest, TimedBody {
  readonly [TypeId]: typeof TypeId = TypeId
  readonly [HttpIncomingMessage.TypeId]: typeof HttpIncomingMessage.TypeId = HttpIncomingMessage.TypeId
  readonly url: string
  readonly headers: Headers.Headers
  private readonly exchange: Exchange
  private readonly changes: Changes

  constructor(exchange: Exchange, url: string, headers: Headers.Headers, changes: Changes) {
    super()
    this.exchange = exchange
    this.url = url
    this.headers = headers
    this.changes = changes
  }

  get source(): HostedMessage {
    return this.exchange.message
  }

  /** The response of Node to which the answer is written. */
  get response(): ServerResponse {
    return this.exchange.response
  }

  get method(): string {
    return this.exchange.method
  }

  get originalUrl(): string {
    return this.exchange.originalUrl
  }

  get protocol(): "http" | "https" | undefined {
    return this.changes.protocol
  }

  get remoteAddress(): Option.Option<string> {
    return this.changes.remoteAddress ?? Option.fromUndefinedOr(this.source.socket.remoteAddress)
  }

  get peerAddress(): Option.Option<string> {
    return this.changes.peerAddress ?? this.remoteAddress
  }

  get cookies() {
    return Cookies.parseHeader(this.headers["cookie"] ?? "")
  }

  modify(changes: Changes): NodeRequest {
    const { headers = this.headers, url = this.url } = changes
    return new NodeRequest(this.exchange, url, headers, { ...this.changes, ...changes })
  }

  get arrayBuffer(): Effect.Effect<ArrayBuffer, HttpServerError> {
    return Effect.flatMap(Effect.all([MaxBodySize, HttpSettings]), ([limit, { bodyTimeout }]) =>
      Effect.mapError(this.bytesWithin(limit === undefined ? Infinity : Number(limit), bodyTimeout), (error) =>
        error === "late" ? this.unreadable(error) : error
      )
    )
  }

  bytesWithin(limit: number, time: Duration.Input): Effect.Effect<ArrayBuffer, HttpServerError | "late"> {
    const bytes = callbackLimitedTo<ArrayBuffer, BodyFault | "late">(
      time,
      (resume) => this.exchange.body.whole(limit, resume),
      () => Effect.fail("late")
    )
    return Effect.mapError(bytes, (fault) => (fault === "late" ? fault : this.unreadable(fault)))
  }

  get text(): Effect.Effect<string, HttpServerError> {
    return Effect.map(this.arrayBuffer, (bytes) => decoder.decode(bytes))
  }

  get json(): Effect.Effect<Schema.Json, HttpServerError> {
    return Effect.flatMap(this.text, (text) =>
      Effect.try({ try: (): Schema.Json => JSON.parse(text), catch: (cause) => this.unreadable("malformed", cause) })
    )
  }

  get urlParamsBody(): Effect.Effect<UrlParams.UrlParams, HttpServerError> {
    return Effect.map(this.text, (text) => UrlParams.fromInput(new URLSearchParams(text)))
  }

  get stream(): Stream.Stream<Uint8Array, HttpServerError> {
    return Stream.mapError(this.exchange.body.stream, (fault) => this.unreadable(fault))
  }

  get multipart() {
    return Multipart.toPersisted(this.multipartStream)
  }

  get multipartStream(): Stream.Stream<Multipart.Part, Multipart.MultipartError> {
    const bytes = Stream.mapError(this.stream, (cause) => Multipart.MultipartError.fromReason("InternalError", cause))
    return Stream.pipeThroughChannel(bytes, Multipart.makeChannel(this.headers))
  }

  get upgrade() {
    return this.upgradeWith()
  }

  /** Node gives upgrades to the `upgrade` event of the server, not to request handlers. */
  upgradeWith(): Effect.Effect<never, HttpServerError> {
    const reason = new RequestParseError({ request: this, description: "The connection cannot be upgraded here" })
    return Effect.fail(new HttpServerError({ reason }))
  }

  override toJSON(): unknown {
    const { method, originalUrl } = this
    return HttpIncomingMessage.inspect(this, {
      _id: "HttpServerRequest",
      method,
      url: UrlParams.redactUrl(originalUrl)
    })
  }

  private unreadable(fault: BodyFault | "malformed" | "late", cause: unknown = fault): HttpServerError {
    const reason = fault === "too_large" ? "BodyTooLarge" : "Parse"
    return new HttpServerError({ reason: new RequestParseError({ request: this, reason, cause }) })
  }
}

/** Null: the request line is refused. */
export const nodeRequest = (message: HostedMessage, response: ServerResponse): NodeRequest | null => {
  const line = requestLine(message)
  if (line === null) return null
  const { method, originalUrl } = line
  const exchange = { message, response, body: new NodeBody(message), method, originalUrl }
  return new NodeRequest(exchange, line.url, Headers.fromRecordUnsafe(hostHeaders(message)), unchanged)
}

const unchanged: Changes = {}
