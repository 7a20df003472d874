/**
 * Opens a WebSocket to a vendor. It is of the package `ws`, because the platform's WebSocket lacks three features: headers, the response of a
 * refused handshake, and `pause`. Used by `SocketLink` and `LiveTranscription`.
 */
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import { VendorSocket } from "./VendorSocket.ts"

export interface SocketSettings {
  /** How long the handshake may take. Default 10 seconds. */
  readonly dialTimeout?: Duration.Input
}

/** Why there is no socket. `status` and `body`: of the vendor's response; null: the vendor was not reached. */
export interface DialFailure {
  readonly status: number | null
  readonly retryAfter: string | null
  readonly body: string
}

/** The largest message of a vendor, in bytes. */
const maxMessage = 16 * 1024 * 1024
const closeTimeout = 5000
const mostOfBody = 4096

/** The socket is paused, so that no message is lost before the caller listens. */
export const dial = (
  url: string,
  headers: { readonly [name: string]: string },
  { dialTimeout = "10 seconds" }: SocketSettings
): Effect.Effect<VendorSocket, DialFailure> =>
  Effect.callback<VendorSocket, DialFailure>((resume) => {
    const options = { headers, perMessageDeflate: false, maxPayload: maxMessage, closeTimeout }
    const socket = new VendorSocket(url, options)
    socket.once("unexpected-response", (request, response) => {
      let body = ""
      response.setEncoding("utf8").on("data", (piece: string) => {
        if (body.length < mostOfBody) body += piece
      })
      response.on("end", () => {
        request.destroy()
        const retryAfter = response.headers["retry-after"] ?? null
        resume(Effect.fail({ status: response.statusCode ?? 0, retryAfter, body }))
      })
    })
    socket.on("error", () => resume(Effect.fail(unreachable)))
    socket.once("open", () => {
      socket.pause()
      resume(Effect.succeed(socket))
    })
    return Effect.sync(() => socket.terminate())
  }).pipe(Effect.timeoutOrElse({ duration: dialTimeout, orElse: () => Effect.fail(unreachable) }))

const unreachable: DialFailure = { status: null, retryAfter: null, body: "" }

export const frameBytes = (data: Buffer | ArrayBuffer | ReadonlyArray<Buffer>): Buffer =>
  Buffer.isBuffer(data) ? data : data instanceof ArrayBuffer ? Buffer.from(data) : Buffer.concat([...data])
