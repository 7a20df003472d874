/**
 * Forms with files, as a client sends them. Files of the platform go as the platform's own form; a stream goes as it comes, so that a client
 * never holds a whole file.
 */

/** A file of the platform, or bytes under a name. */
export type FileInput = File | { readonly filename: string; readonly bytes: Blob | ReadableStream<Uint8Array> }

export type FormPart = readonly [name: string, value: string | FileInput]

/** The body and headers of a request with the form. */
export interface SentForm {
  readonly headers: Readonly<Record<string, string>>
  readonly init: { readonly body: FormData | ReadableStream<Uint8Array>; readonly duplex?: "half" }
}

/** The fields of a body as the wire writes them in forms: objects and lists as JSON text. */
export const formFields = (body: object): ReadonlyArray<FormPart> =>
  Object.entries(body).flatMap(([name, value]: [string, unknown]): ReadonlyArray<FormPart> => {
    if (value === undefined || value === null) return []
    return [[name, typeof value === "string" ? value : JSON.stringify(value)]]
  })

export const formBody = (parts: ReadonlyArray<FormPart>): SentForm =>
  parts.some(([, value]) => isStreamed(value)) ? streamed(parts) : { headers: {}, init: { body: platformForm(parts) } }

const isStreamed = (value: string | FileInput): boolean =>
  typeof value === "object" && "bytes" in value && value.bytes instanceof ReadableStream

const platformForm = (parts: ReadonlyArray<FormPart>): FormData => {
  const form = new FormData()
  for (const [name, value] of parts) {
    if (typeof value === "string" || value instanceof File) form.append(name, value)
    else if (value.bytes instanceof Blob) form.append(name, value.bytes, value.filename)
  }
  return form
}

const streamed = (parts: ReadonlyArray<FormPart>): SentForm => {
  const boundary = `colloquy-${globalThis.crypto.randomUUID()}`
  const pieces = formPieces(parts, boundary)
  const body = new ReadableStream<Uint8Array>({
    pull: async (controller) => {
      const { done, value } = await pieces.next()
      if (done === true) controller.close()
      else controller.enqueue(value)
    },
    cancel: async () => void (await pieces.return())
  })
  const headers = { "content-type": `multipart/form-data; boundary=${boundary}` }
  return { headers, init: { body, duplex: "half" } }
}

const encoder = new TextEncoder()

async function* formPieces(parts: ReadonlyArray<FormPart>, boundary: string): AsyncGenerator<Uint8Array, void> {
  for (const [name, value] of parts) {
    const disposition = `--${boundary}\r\nContent-Disposition: form-data; name="${quoted(name)}"`
    if (typeof value === "string") {
      yield encoder.encode(`${disposition}\r\n\r\n${value}\r\n`)
      continue
    }
    const filename = value instanceof File ? value.name : value.filename
    const bytes = value instanceof File ? value : value.bytes
    yield encoder.encode(
      `${disposition}; filename="${quoted(filename)}"\r\nContent-Type: application/octet-stream\r\n\r\n`
    )
    yield* bytes instanceof Blob ? bytes.stream() : bytes
    yield encoder.encode("\r\n")
  }
  yield encoder.encode(`--${boundary}--\r\n`)
}

/** Escapes a name as browsers do. */
const quoted = (name: string): string => name.replaceAll('"', "%22").replaceAll("\r", "%0D").replaceAll("\n", "%0A")
