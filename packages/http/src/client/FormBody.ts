/**
 * Forms with files, as a client sends them. They are written here, because the platform's own form makes every line break of a text a CRLF. A
 * stream goes as it comes, so that a client never holds a whole file.
 */

/** A file of the platform, or bytes under a name. */
export type FileInput = File | { readonly filename: string; readonly bytes: Blob | ReadableStream<Uint8Array> }

export type FormPart = readonly [name: string, value: string | FileInput]

/** The body and headers of a request with the form. */
export interface SentForm {
  readonly headers: Readonly<Record<string, string>>
  readonly init: { readonly body: Blob | ReadableStream<Uint8Array>; readonly duplex?: "half" }
}

/** The fields of a body as the wire writes them in forms: objects and lists as JSON text. */
export const formFields = (body: object): ReadonlyArray<FormPart> =>
  Object.entries(body).flatMap(([name, value]: [string, unknown]): ReadonlyArray<FormPart> => {
    if (value === undefined || value === null) return []
    return [[name, typeof value === "string" ? value : JSON.stringify(value)]]
  })

type Piece = string | Blob | ReadableStream<Uint8Array>

export const formBody = (parts: ReadonlyArray<FormPart>): SentForm => {
  const boundary = `colloquy-${globalThis.crypto.randomUUID()}`
  const pieces = [...parts.flatMap((part) => partPieces(part, boundary)), `--${boundary}--\r\n`]
  const headers = { "content-type": `multipart/form-data; boundary=${boundary}` }
  return pieces.every(isHeld)
    ? { headers, init: { body: new Blob(pieces) } }
    : { headers, init: { body: streamed(pieces), duplex: "half" } }
}

const isHeld = (piece: Piece): piece is string | Blob => !(piece instanceof ReadableStream)

const partPieces = ([name, value]: FormPart, boundary: string): ReadonlyArray<Piece> => {
  const disposition = `--${boundary}\r\nContent-Disposition: form-data; name="${quoted(name)}"`
  if (typeof value === "string") return [`${disposition}\r\n\r\n${value}\r\n`]
  const [filename, bytes] = value instanceof File ? [value.name, value] : [value.filename, value.bytes]
  return [
    `${disposition}; filename="${quoted(filename)}"\r\nContent-Type: application/octet-stream\r\n\r\n`,
    bytes,
    "\r\n"
  ]
}

const streamed = (parts: ReadonlyArray<Piece>): ReadableStream<Uint8Array> => {
  const pieces = bytesIn(parts)
  return new ReadableStream<Uint8Array>({
    pull: async (controller) => {
      const { done, value } = await pieces.next()
      if (done === true) controller.close()
      else controller.enqueue(value)
    },
    cancel: async () => void (await pieces.return())
  })
}

const encoder = new TextEncoder()

async function* bytesIn(parts: ReadonlyArray<Piece>): AsyncGenerator<Uint8Array, void> {
  for (const part of parts) {
    if (typeof part === "string") yield encoder.encode(part)
    else yield* part instanceof Blob ? part.stream() : part
  }
}

/** Escapes a name as browsers do. */
const quoted = (name: string): string => name.replaceAll(/["\r\n]/gu, encodeURIComponent)
