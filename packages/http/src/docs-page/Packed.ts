/** An answer that is the same for everybody: compressed once, and not sent again to a client that has it. */
import * as Effect from "effect/Effect"
import * as HttpServerRequest from "effect/http/HttpServerRequest"
import * as HttpServerResponse from "effect/http/HttpServerResponse"

const readAll = async (stream: ReadableStream<Uint8Array<ArrayBuffer>>): Promise<Uint8Array<ArrayBuffer>> =>
  new Uint8Array(await new Response(stream).arrayBuffer())

const zip = (bytes: Uint8Array<ArrayBuffer>): Promise<Uint8Array<ArrayBuffer>> =>
  readAll(new Blob([bytes]).stream().pipeThrough(new CompressionStream("gzip")))

const tag = async (bytes: Uint8Array<ArrayBuffer>): Promise<string> => {
  const digest = new Uint8Array(await globalThis.crypto.subtle.digest("SHA-256", bytes))
  return `"${btoa(String.fromCharCode(...digest.subarray(0, 16)))}"`
}

/** Whether a list of tags has this one; a server in between may have marked it as weak. */
const hasTag = (given: string | undefined, etag: string): boolean =>
  given !== undefined && given.split(",").some((each) => each.trim().replace(/^W\//u, "") === etag)

/** Makes an effect that answers each request: with the plain or the compressed bytes, or with 304. */
export const packed = Effect.fnUntraced(function* (whole: HttpServerResponse.HttpServerResponse) {
  const { body } = whole
  if (body._tag !== "Uint8Array") return Effect.succeed(whole)
  const plain = new Uint8Array(body.body)
  const [zipped, etag] = yield* Effect.promise(() => Promise.all([zip(plain), tag(plain)]))
  const headers = { ...whole.headers, "cache-control": "no-cache", etag, vary: "accept-encoding" }
  const options = { headers, contentType: body.contentType }
  const sent = {
    plain: HttpServerResponse.uint8Array(plain, options),
    zipped: HttpServerResponse.uint8Array(zipped, {
      ...options,
      headers: { ...headers, "content-encoding": "gzip" }
    })
  }
  const known = HttpServerResponse.empty({
    status: 304,
    headers: { "cache-control": "no-cache", etag, vary: "accept-encoding" }
  })
  return Effect.map(HttpServerRequest.HttpServerRequest, ({ headers: given, source }) => {
    if (hasTag(given["if-none-match"], etag)) return known
    // Next keeps the compressed body and removes `content-encoding`. It compresses by itself, so it gets plain bytes.
    return !("nextUrl" in source) && /\bgzip\b/u.test(given["accept-encoding"] ?? "") ? sent.zipped : sent.plain
  })
})
