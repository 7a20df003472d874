/** Builds the body of a `multipart/form-data` request, for vendors that accept images and audio only as files of a form. A pure function. */

export type FormPart =
  | { readonly name: string; readonly value: string }
  | { readonly name: string; readonly filename: string; readonly mediaType: string; readonly bytes: Uint8Array }

export interface Multipart {
  readonly contentType: string
  readonly bytes: Uint8Array<ArrayBuffer>
}

export const isMultipart = (body: object): body is Multipart => "contentType" in body && "bytes" in body

/** `boundary` must not occur in any of the parts, which is practically certain for a random one. */
export const multipart = (
  parts: ReadonlyArray<FormPart>,
  boundary = `form-${globalThis.crypto.randomUUID()}`
): Multipart => {
  const pieces = parts.flatMap((part) => [
    text(`--${boundary}\r\ncontent-disposition: form-data; name="${quoted(part.name)}"`),
    ...("bytes" in part
      ? [text(`; filename="${quoted(part.filename)}"\r\ncontent-type: ${oneLine(part.mediaType)}\r\n\r\n`), part.bytes]
      : [text(`\r\n\r\n${part.value}`)]),
    text("\r\n")
  ])
  const bytes = new Uint8Array(Buffer.concat([...pieces, text(`--${boundary}--\r\n`)]))
  return { contentType: `multipart/form-data; boundary=${boundary}`, bytes }
}

const encoder = new TextEncoder()
const text = (written: string): Uint8Array => encoder.encode(written)

/** Escapes a name in the same way as browsers do. */
const quoted = (name: string): string => name.replaceAll('"', "%22").replaceAll("\r", "%0D").replaceAll("\n", "%0A")
const oneLine = (mediaType: string): string => mediaType.replaceAll(/[\r\n]/gu, " ")
