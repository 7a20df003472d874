/**
 * Sends signed requests to a service with the S3 protocol. After a temporary failure a request is repeated, so every request must be safe to
 * send twice. A refusal because of wrong credentials or a wrong bucket is also `StoreUnavailable`, with the service's error code.
 */
import { StoreUnavailable } from "@colloquy/core"
import { AwsV4Signer } from "aws4fetch"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Redacted from "effect/Redacted"
import * as Schedule from "effect/Schedule"
import * as Schema from "effect/Schema"
import { createHash } from "node:crypto"
import { readErrorCode } from "./S3Xml.ts"

/** The bucket, its address, and the credentials for it. */
export interface S3Options {
  readonly bucket: string
  readonly accessKeyId: string
  readonly secretAccessKey: Redacted.Redacted<string>
  /** The session token of temporary credentials. */
  readonly sessionToken?: Redacted.Redacted<string>
  /** Default `us-east-1`. */
  readonly region?: string
  /** The URL of a service other than Amazon's, for example `https://storage.example.com`. The bucket is then part of the path. */
  readonly endpoint?: string
  /** How long a request may take. Each repetition has the same limit. Default one minute. */
  readonly timeout?: Duration.Input
}

export interface S3Request {
  readonly method: "GET" | "HEAD" | "PUT" | "POST" | "DELETE"
  /** The key of an object; omitted for a request about the bucket. */
  readonly key?: string
  readonly query?: Readonly<Record<string, string>>
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: Uint8Array
  readonly expected: ReadonlyArray<number>
}

export interface S3Response {
  readonly status: number
  readonly headers: Headers
  readonly text: string
}

export interface S3Client {
  /** Sends a request and reads the whole answer, which must be short. */
  readonly send: (operation: string, request: S3Request) => Effect.Effect<S3Response, StoreUnavailable>
  /** Sends a request; the caller reads the body of the answer. */
  readonly open: (operation: string, request: S3Request) => Effect.Effect<Response, StoreUnavailable>
}

/** A failed request. The body of the service's answer is not included. */
class S3Refusal extends Schema.TaggedError<S3Refusal>()("S3Refusal", {
  message: Schema.String,
  isTemporary: Schema.Boolean,
  cause: Schema.optionalKey(Schema.Defect())
}) {}

export const s3Client = (options: S3Options): S3Client => {
  const timeout = Duration.fromInputUnsafe(options.timeout ?? "1 minute")
  const sign = signer(options)

  const attempt = async (request: S3Request, signal: AbortSignal): Promise<Response> => {
    const { headers, url } = await sign(request)
    const response = await fetch(url, {
      method: request.method,
      headers,
      signal,
      ...(request.body === undefined ? {} : { body: requestBody(request.body) })
    })
    if (request.expected.includes(response.status)) return response
    const code = readErrorCode(await response.text())
    throw new S3Refusal({
      message: `The service answered ${response.status} (${code}) to ${request.method}. Check its address, bucket and credentials.`,
      isTemporary: response.status >= 500 || response.status === 429 || response.status === 408
    })
  }

  const withRetries = <A>(
    operation: string,
    run: (signal: AbortSignal) => Promise<A>
  ): Effect.Effect<A, StoreUnavailable> =>
    Effect.tryPromise({
      try: run,
      catch: (cause) =>
        cause instanceof S3Refusal
          ? cause
          : new S3Refusal({ message: "The service cannot be reached.", isTemporary: true, cause })
    }).pipe(
      Effect.timeoutOrElse({
        duration: timeout,
        orElse: () => new S3Refusal({ message: "The service did not answer within the timeout.", isTemporary: false })
      }),
      Effect.retry({
        times: 3,
        schedule: pauses,
        while: ({ isTemporary }) => isTemporary
      }),
      Effect.mapError((cause) => new StoreUnavailable({ operation, cause }))
    )

  return {
    open: (operation, request) => withRetries(operation, (signal) => attempt(request, signal)),
    send: (operation, request) =>
      withRetries(operation, async (signal) => {
        const response = await attempt(request, signal)
        return { status: response.status, headers: response.headers, text: await response.text() }
      })
  }
}

const pauses = Schedule.exponential("100 millis")

/** `fetch` does not accept bytes in memory that is shared between threads, so such bytes are copied. */
const requestBody = (bytes: Uint8Array): Uint8Array<ArrayBuffer> =>
  bytes.buffer instanceof ArrayBuffer
    ? new Uint8Array(bytes.buffer, bytes.byteOffset, bytes.byteLength)
    : Uint8Array.from(bytes)

const signer = (options: S3Options) => {
  const { accessKeyId, bucket, endpoint, region = "us-east-1", secretAccessKey, sessionToken } = options
  const base =
    endpoint === undefined
      ? `https://${bucket}.s3.${region}.amazonaws.com`
      : `${endpoint.replace(/\/+$/u, "")}/${encodeURIComponent(bucket)}`
  return async ({ body, headers, key, method, query }: S3Request) => {
    const url = new URL(key === undefined ? base : `${base}/${key.split("/").map(encodeURIComponent).join("/")}`)
    for (const [name, value] of Object.entries(query ?? {})) url.searchParams.set(name, value)
    const signed = await new AwsV4Signer({
      method,
      url: url.href,
      service: "s3",
      region,
      accessKeyId,
      secretAccessKey: Redacted.value(secretAccessKey),
      ...(sessionToken === undefined ? {} : { sessionToken: Redacted.value(sessionToken) }),
      // The service checks this hash and refuses a damaged body.
      headers: {
        ...headers,
        "x-amz-content-sha256": createHash("sha256")
          .update(body ?? "")
          .digest("hex")
      }
    }).sign()
    return { url: signed.url, headers: signed.headers }
  }
}
