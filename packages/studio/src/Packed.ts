/** A file that is sent often: compressed once, and not sent again to a browser that has it. For the studio and the guide. */
import { createHash } from "node:crypto"
import { promisify } from "node:util"
import { gzip } from "node:zlib"

export interface Packed {
  readonly type: string
  readonly plain: Buffer<ArrayBuffer>
  /** Null: the format of the file is compressed already. */
  readonly zipped: Buffer<ArrayBuffer> | null
  readonly etag: string
}

const zip = promisify(gzip)

/** The content of the file. A text may be compressed; bytes are sent unchanged. */
export const pack = async (content: string | Uint8Array, type: string): Promise<Packed> => {
  const isText = typeof content === "string"
  // Two overloads: no one of them takes both.
  const plain = isText ? Buffer.from(content) : Buffer.from(content)
  const etag = `"${createHash("sha256").update(plain).digest("base64url").slice(0, 22)}"`
  return { type, plain, etag, zipped: isText ? Buffer.from(await zip(plain, { level: 9, memLevel: 9 })) : null }
}

/** The compressed answer if the request accepts it, otherwise the plain one. */
export const packedResponse = (
  request: Request,
  { etag, plain, type, zipped }: Packed,
  headers: Readonly<Record<string, string>>
): Response => {
  const all = { ...headers, etag, "content-type": type, vary: "accept-encoding" }
  if (request.headers.get("if-none-match") === etag) return new Response(null, { status: 304, headers: all })
  // Next keeps the compressed body and takes away the header that says so; it compresses by itself.
  const takesZip = !("nextUrl" in request) && /\bgzip\b/.test(request.headers.get("accept-encoding") ?? "")
  const body = takesZip && zipped !== null ? zipped : plain
  return new Response(body, {
    headers: {
      ...all,
      "content-length": String(body.byteLength),
      ...(body === zipped ? { "content-encoding": "gzip" } : {})
    }
  })
}
