/**
 * Decodes uncompressed BMP pictures with 8, 24 or 32 bits, which `sharp` does not support. A pure function. It throws a `RangeError` for other
 * kinds of BMP and for damaged files.
 */

export interface Pixels {
  readonly width: number
  readonly height: number
  /** Three bytes (red, green, blue) for each pixel, beginning at the top left. */
  readonly pixels: Uint8Array
}

const refuse = (what: string): never => {
  throw new RangeError(`A BMP ${what} cannot be read.`)
}

export const decodeBmp = (bytes: Uint8Array, mostPixels: number): Pixels => {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  if (view.getUint32(14, true) < 40) refuse("of an old kind")
  const [width, tall] = [view.getInt32(18, true), view.getInt32(22, true)]
  const height = Math.abs(tall)
  const bits = view.getUint16(28, true)
  const compression = view.getUint32(30, true)
  if (width <= 0 || height === 0 || width * height > mostPixels) refuse("of this size")
  // Compression 3 means that masks define the colours. With 32 bits, all known programs write the usual masks, so they are not read.
  if (compression !== 0 && !(compression === 3 && bits === 32)) refuse("that is compressed")
  if (bits !== 8 && bits !== 24 && bits !== 32) refuse(`of ${bits} bits`)
  const first = view.getUint32(10, true)
  const palette = 14 + view.getUint32(14, true)
  const rowLength = Math.ceil((width * bits) / 32) * 4
  if (first + rowLength * height > bytes.length) refuse("that is cut off")
  const pixels = new Uint8Array(width * height * 3)
  for (let y = 0; y < height; y++) {
    // Rows are stored from the bottom to the top, unless the height is negative.
    const row = first + (tall > 0 ? height - 1 - y : y) * rowLength
    for (let x = 0; x < width; x++) {
      const at = bits === 8 ? palette + view.getUint8(row + x) * 4 : row + (x * bits) / 8
      const to = (y * width + x) * 3
      pixels[to] = view.getUint8(at + 2)
      pixels[to + 1] = view.getUint8(at + 1)
      pixels[to + 2] = view.getUint8(at)
    }
  }
  return { width, height, pixels }
}
