/**
 * Finds the audio in a vendor's message without parsing the message; the base64 is not decoded. Most messages of a voice session contain audio,
 * and this is several times cheaper than parsing their JSON. A message of any unusual form is left to the JSON parser.
 */

export interface AudioSlice {
  readonly itemId: string
  readonly base64: Uint8Array
}

const deltaKey = Buffer.from('"delta":"')
const itemKey = Buffer.from('"item_id":"')
const quote = 34
const brace = 123
const backslash = 92

/** Null when the message is not an audio delta of this type, or contains nested objects or escapes. `kind` is the type in quotes. */
export const sliceAudioDelta = (message: Buffer, kind: Buffer): AudioSlice | null => {
  const kindAt = message.indexOf(kind)
  if (kindAt < 0 || kindAt > 256 || message.indexOf(brace, 1) >= 0) return null
  const itemAt = message.indexOf(itemKey) + itemKey.length
  const deltaAt = message.indexOf(deltaKey) + deltaKey.length
  if (itemAt < itemKey.length || deltaAt < deltaKey.length) return null
  const itemEnd = message.indexOf(quote, itemAt)
  const deltaEnd = message.indexOf(quote, deltaAt)
  if (itemEnd < 0 || deltaEnd <= deltaAt || message.indexOf(backslash) >= 0) return null
  return { itemId: message.toString("utf8", itemAt, itemEnd), base64: message.subarray(deltaAt, deltaEnd) }
}

/** The number of bytes that the base64 decodes to. */
export const decodedLength = (base64: Uint8Array): number => {
  const { length } = base64
  const padding = base64[length - 1] !== 61 ? 0 : base64[length - 2] === 61 ? 2 : 1
  return Math.floor((length * 3) / 4) - padding
}
