/**
 * Reads the parts of a zip archive in memory. The size of a part is checked twice: the declared size before unpacking, and the real size, which
 * may not exceed the declared one, while unpacking. The total of all parts is also limited, because several parts may use the same packed bytes; it
 * counts what the parts declare, because a part that is read twice is unpacked twice.
 */
import { inflateRawSync } from "node:zlib"
import { checkUnpacked, limits } from "./Limits.ts"
import { damaged, encrypted, tooLarge } from "./Refused.ts"

export interface Zip {
  readonly read: (name: string) => Uint8Array | undefined
}

interface Entry {
  readonly isEncrypted: boolean
  readonly method: number
  readonly packed: number
  readonly size: number
  readonly offset: number
}

const marks = { end: 0x06054b50, entry: 0x02014b50, local: 0x04034b50 }

/** `kind` is the name of the document type in the message of a refusal. */
export const openZip = (bytes: Uint8Array, kind: string): Zip => {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  const entries = readDirectory(bytes, view, kind)
  let total = 0
  return {
    read: (name) => {
      const entry = entries.get(name.toLowerCase())
      if (entry === undefined) return undefined
      if (entry.isEncrypted) throw encrypted()
      if (entry.size > limits.zip.part) throw tooLarge("it unpacks to more than 128 MB")
      total += entry.size
      checkUnpacked(total, bytes.length)
      return unpack(packedBytes(bytes, view, entry, kind), entry, kind)
    }
  }
}

const findEnd = (bytes: Uint8Array, view: DataView, kind: string): number => {
  const lowest = Math.max(0, bytes.length - 65_557)
  for (let at = bytes.length - 22; at >= lowest; at--) if (view.getUint32(at, true) === marks.end) return at
  throw damaged(kind)
}

const readDirectory = (bytes: Uint8Array, view: DataView, kind: string): ReadonlyMap<string, Entry> => {
  const end = findEnd(bytes, view, kind)
  const count = view.getUint16(end + 10, true)
  if (count > limits.zip.entries) throw tooLarge(`it holds ${count} parts`)
  const entries = new Map<string, Entry>()
  let at = view.getUint32(end + 16, true)
  for (let index = 0; index < count; index++) {
    if (at + 46 > bytes.length || view.getUint32(at, true) !== marks.entry) throw damaged(kind)
    const nameLength = view.getUint16(at + 28, true)
    const name = new TextDecoder().decode(bytes.subarray(at + 46, at + 46 + nameLength))
    entries.set(partName(name), {
      isEncrypted: (view.getUint16(at + 8, true) & 1) === 1,
      method: view.getUint16(at + 10, true),
      packed: view.getUint32(at + 20, true),
      size: view.getUint32(at + 24, true),
      offset: view.getUint32(at + 42, true)
    })
    at += 46 + nameLength + view.getUint16(at + 30, true) + view.getUint16(at + 32, true)
  }
  return entries
}

/** Case does not matter in the names of parts, and characters may be written with a percent sign. */
const partName = (name: string): string => {
  const plain = name.replaceAll("\\", "/").replace(/^\//u, "").toLowerCase()
  try {
    return decodeURIComponent(plain)
  } catch {
    return plain
  }
}

const packedBytes = (bytes: Uint8Array, view: DataView, { offset, packed }: Entry, kind: string): Uint8Array => {
  if (offset + 30 > bytes.length || view.getUint32(offset, true) !== marks.local) throw damaged(kind)
  const start = offset + 30 + view.getUint16(offset + 26, true) + view.getUint16(offset + 28, true)
  return bytes.subarray(start, start + packed)
}

const unpack = (packed: Uint8Array, { method, size }: Entry, kind: string): Uint8Array => {
  const lying = () => tooLarge("it unpacks to more than it says")
  if (method === 0 && packed.length > size) throw lying()
  if (method === 0) return packed
  if (method !== 8) throw damaged(kind)
  try {
    return inflateRawSync(packed, { maxOutputLength: Math.max(1, size) })
  } catch (error) {
    const code = error instanceof Error && "code" in error ? error.code : undefined
    throw code === "ERR_BUFFER_TOO_LARGE" ? lying() : damaged(kind)
  }
}
