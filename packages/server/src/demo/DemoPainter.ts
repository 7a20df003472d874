/**
 * Draws a picture of the prompt without a network, for a first look before a provider of pictures is configured: its words on colours that
 * are derived from them. A PNG, because a browser would run scripts of an SVG.
 */
import { createHash } from "node:crypto"

const [width, height] = [512, 320]
const [lineLength, mostLines] = [18, 5]

/** The prompt in lines of whole words, as many as fit. */
const wrapLines = (prompt: string): ReadonlyArray<string> => {
  const lines = [""]
  for (const word of prompt.slice(0, 400).split(/\s/u)) {
    const last = `${lines.at(-1)} ${word}`.trim()
    if (last.length <= lineLength) lines[lines.length - 1] = last
    else lines.push(word.slice(0, lineLength))
  }
  return lines.filter((line) => line !== "").slice(0, mostLines)
}

/** XML allows no control characters, and no half of a surrogate pair. */
const escaped = (text: string): string =>
  text
    .toWellFormed()
    .replaceAll(/\p{Cc}/gu, " ")
    .replaceAll(/[<>&]/gu, (letter) => `&#${letter.charCodeAt(0)};`)

/** The same words give the same picture. */
export const draw = async (prompt: string): Promise<Uint8Array<ArrayBuffer>> => {
  const [turn = 0, x = 0, y = 0] = createHash("sha256").update(prompt).digest()
  const shade = (degrees: number, light: number) => `hsl(${turn + degrees}, 45%, ${light}%)`
  const lines = wrapLines(prompt)
  const words = lines.map((line, index) => {
    const at = height / 2 + (index - (lines.length - 1) / 2) * 46
    return `<text x="50%" y="${at}" dy="0.35em">${escaped(line)}</text>`
  })
  const svg = `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}">
    <rect width="100%" height="100%" fill="${shade(0, 30)}"/>
    <circle cx="${x * 2}" cy="${y}" r="${90 + x / 4}" fill="${shade(40, 45)}"/>
    <circle cx="${y * 2}" cy="${x}" r="${40 + y / 4}" fill="${shade(80, 60)}"/>
    <g font-family="sans-serif" font-size="40" text-anchor="middle" fill="#fff">${words.join("")}</g>
  </svg>`
  const { default: sharp } = await import("sharp")
  return new Uint8Array(await sharp(Buffer.from(svg)).png().toBuffer())
}
