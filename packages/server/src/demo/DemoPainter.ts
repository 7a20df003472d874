/**
 * Draws a picture of the prompt without a network, for a first look before a provider of pictures is configured: its words in large letters
 * on a colour that is derived from them. A PNG, because a browser would run scripts of an SVG.
 */
import { deflateSync } from "node:zlib"

const [width, height] = [512, 320]
const [columns, rows] = [5, 7]

/** Letters as columns of seven dots, the lowest bit at the top. */
const letters: Readonly<Record<string, string>> = {
  A: "7c1211127c",
  B: "7f49494936",
  C: "3e41414122",
  D: "7f4141413e",
  E: "7f49494941",
  F: "7f09090901",
  G: "3e41415172",
  H: "7f0808087f",
  I: "00417f4100",
  J: "2040413f01",
  K: "7f08142241",
  L: "7f40404040",
  M: "7f020c027f",
  N: "7f0408107f",
  O: "3e4141413e",
  P: "7f09090906",
  Q: "3e4151215e",
  R: "7f09192946",
  S: "2649494932",
  T: "01017f0101",
  U: "3f4040403f",
  V: "1f2040201f",
  W: "3f4038403f",
  X: "6314081463",
  Y: "0304780403",
  Z: "6151494543",
  "0": "3e5149453e",
  "1": "00427f4000",
  "2": "6251494946",
  "3": "2241494936",
  "4": "1814127f10",
  "5": "2745454539",
  "6": "3c4a494930",
  "7": "0171090503",
  "8": "3649494936",
  "9": "0649492e1e",
  ".": "0060600000",
  ",": "0080700000",
  "!": "00005f0000",
  "?": "0201510906",
  "-": "0808080808",
  ":": "0036360000",
  "'": "0000070000"
}

/** The prompt in lines of whole words, as many as fit. */
const linesOf = (prompt: string, perLine: number, most: number): ReadonlyArray<string> => {
  const lines: Array<string> = []
  for (const word of prompt
    .toUpperCase()
    .split(/\s+/u)
    .filter((each) => each !== "")) {
    const short = word.slice(0, perLine)
    const last = lines.at(-1)
    if (last !== undefined && last.length + 1 + short.length <= perLine) lines[lines.length - 1] = `${last} ${short}`
    else lines.push(short)
  }
  return lines.slice(0, most)
}

/** The same words have the same colour. */
const colourOf = (prompt: string): readonly [number, number, number] => {
  let hash = 7
  for (const letter of prompt) hash = (Math.imul(hash, 31) + (letter.codePointAt(0) ?? 0)) >>> 0
  return [40 + (hash % 120), 40 + ((hash >>> 8) % 120), 60 + ((hash >>> 16) % 120)]
}

const dot = 6
const perLine = Math.floor((width - 2 * dot) / (dot * (columns + 1)))
const lineHeight = dot * (rows + 2)

export const draw = (prompt: string): Uint8Array => {
  const [red, green, blue] = colourOf(prompt)
  const stride = 1 + width * 3
  const pixels = Buffer.alloc(stride * height)
  for (let y = 0; y < height; y++) {
    const light = Math.round((40 * y) / height)
    for (let x = 0; x < width; x++) pixels.set([red + light, green + light, blue + light], y * stride + 1 + x * 3)
  }
  const square = (left: number, top: number): void => {
    for (let y = top; y < Math.min(top + dot, height); y++) {
      for (let x = left; x < Math.min(left + dot, width); x++)
        pixels.fill(245, y * stride + 1 + x * 3, y * stride + 4 + x * 3)
    }
  }
  const lines = linesOf(prompt, perLine, Math.floor(height / lineHeight))
  const above = Math.floor((height - lines.length * lineHeight) / 2)
  for (const [number, line] of lines.entries()) {
    const left = Math.floor((width - line.length * dot * (columns + 1)) / 2)
    for (const [place, letter] of Array.from(line).entries()) {
      const dots = Buffer.from(letters[letter] ?? "", "hex")
      for (const [column, bits] of dots.entries()) {
        for (let row = 0; row < rows; row++) {
          if ((bits >> row) & 1)
            square(left + dot * (place * (columns + 1) + column), above + number * lineHeight + dot * row)
        }
      }
    }
  }
  return png(pixels)
}

const png = (pixels: Uint8Array): Uint8Array => {
  const header = Buffer.alloc(13)
  header.writeUInt32BE(width, 0)
  header.writeUInt32BE(height, 4)
  // Eight bits for each of red, green and blue.
  header.set([8, 2, 0, 0, 0], 8)
  const mark = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a])
  return new Uint8Array(
    Buffer.concat([mark, chunk("IHDR", header), chunk("IDAT", deflateSync(pixels)), chunk("IEND", Buffer.alloc(0))])
  )
}

const chunk = (type: string, data: Uint8Array): Buffer => {
  const body = Buffer.concat([Buffer.from(type, "latin1"), data])
  const [length, sum] = [Buffer.alloc(4), Buffer.alloc(4)]
  length.writeUInt32BE(data.length)
  sum.writeUInt32BE(checksum(body))
  return Buffer.concat([length, body, sum])
}

/** CRC-32, as the format requires. */
const checksum = (bytes: Uint8Array): number => {
  let sum = 0xffffffff
  for (const byte of bytes) {
    sum ^= byte
    for (let bit = 0; bit < 8; bit++) sum = sum & 1 ? (sum >>> 1) ^ 0xedb88320 : sum >>> 1
  }
  return (sum ^ 0xffffffff) >>> 0
}
