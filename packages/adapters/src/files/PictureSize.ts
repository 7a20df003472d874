/** Reads the width and height of a picture from its header, so that a picture of gigabytes is refused before it is decoded. A pure function. */

export interface PictureSize {
  readonly width: number
  readonly height: number
}

/** Undefined for TIFF, whose header may be anywhere in the file, and for a damaged picture. */
export const pictureSize = (bytes: Uint8Array): PictureSize | undefined => {
  if (bytes.length < 32) return undefined
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  const mark = String.fromCharCode(...bytes.subarray(0, 16))
  if (mark.startsWith("\x89PNG")) return { width: view.getUint32(16), height: view.getUint32(20) }
  if (mark.startsWith("GIF8")) return { width: view.getUint16(6, true), height: view.getUint16(8, true) }
  if (mark.startsWith("BM")) return { width: view.getInt32(18, true), height: Math.abs(view.getInt32(22, true)) }
  if (mark.startsWith("\xff\xd8")) return sizeOfJpeg(view)
  return mark.startsWith("RIFF") && mark.slice(8, 12) === "WEBP" ? sizeOfWebp(view, mark.slice(12, 16)) : undefined
}

/** The size is in the header of the frame, after segments of any length. */
const sizeOfJpeg = (view: DataView): PictureSize | undefined => {
  for (let at = 2; at + 9 < view.byteLength; at += 2 + view.getUint16(at + 2)) {
    if (view.getUint8(at) !== 0xff) return undefined
    const kind = view.getUint8(at + 1)
    const isFrame = kind >= 0xc0 && kind <= 0xcf && kind !== 0xc4 && kind !== 0xc8 && kind !== 0xcc
    if (isFrame) return { width: view.getUint16(at + 7), height: view.getUint16(at + 5) }
  }
  return undefined
}

const sizeOfWebp = (view: DataView, form: string): PictureSize | undefined => {
  if (form === "VP8 ") return { width: view.getUint16(26, true) & 0x3fff, height: view.getUint16(28, true) & 0x3fff }
  if (form === "VP8L") {
    const bits = view.getUint32(21, true)
    return { width: (bits & 0x3fff) + 1, height: ((bits >>> 14) & 0x3fff) + 1 }
  }
  if (form !== "VP8X") return undefined
  const of3 = (at: number) => view.getUint16(at, true) + view.getUint8(at + 2) * 65_536
  return { width: of3(24) + 1, height: of3(27) + 1 }
}
