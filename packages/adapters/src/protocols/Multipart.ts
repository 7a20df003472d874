/** Pure: a form with files as the body of a request (`multipart/form-data`), for vendors that take pictures and sound in no other way. */

export type FormPart =
  | { readonly name: string; readonly value: string }
  | { readonly name: string; readonly filename: string; readonly mediaType: string; readonly bytes: Uint8Array }

export interface Multipart {
  readonly contentType: string
  readonly bytes: Uint8Array<ArrayBuffer>
}

/** `boundary` must not stand in any of the parts: a random one does not. */
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

/** As forms of browsers write them. */
const quoted = (name: string): string => name.replaceAll('"', "%22").replaceAll("\r", "%0D").replaceAll("\n", "%0A")
const oneLine = (mediaType: string): string => mediaType.replaceAll(/[\r\n]/gu, " ")
