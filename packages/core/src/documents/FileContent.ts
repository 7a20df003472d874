/** Pure: determines a file's content from its first bytes, whatever its name is. */

import { detectWideEncoding } from "./WideText.ts"

/** The recognised content. `extensions` begins with the usual one; files with the others are read in the same way. */
export type Content =
  | { readonly _tag: "Known"; readonly extensions: ReadonlyArray<string> }
  /** A container whose beginning does not determine the content: the file's name selects one of these. */
  | { readonly _tag: "Container"; readonly holds: ReadonlyArray<string> }
  /** A type that is not accepted under any name. */
  | { readonly _tag: "Foreign" }
  | { readonly _tag: "Unknown" }

const known = (...extensions: ReadonlyArray<string>): Content => ({ _tag: "Known", extensions })
const foreign: Content = { _tag: "Foreign" }
const unknown: Content = { _tag: "Unknown" }

/** One character per byte. */
const latin1Text = (bytes: Uint8Array): string => {
  let text = ""
  for (const byte of bytes) text += String.fromCharCode(byte)
  return text
}

interface Mark {
  readonly text: string
  readonly content: Content
}

const office = ["docx", "pptx", "xlsx"]

const marks: ReadonlyArray<Mark> = [
  { text: "\x89PNG\r\n\x1a\n", content: known("png") },
  { text: "\xff\xd8\xff", content: known("jpg", "jpeg") },
  { text: "GIF87a", content: known("gif") },
  { text: "GIF89a", content: known("gif") },
  { text: "II*\0", content: known("tiff", "tif") },
  { text: "MM\0*", content: known("tiff", "tif") },
  { text: "fLaC", content: known("flac") },
  { text: "OggS", content: known("ogg") },
  { text: "ID3", content: { _tag: "Container", holds: ["mp3", "aac", "flac"] } },
  { text: "\x1aE\xdf\xa3", content: known("webm", "mkv") },
  { text: "\0\0\x01\xba", content: known("mpeg", "mpg") },
  { text: "\0\0\x01\xb3", content: known("mpeg", "mpg") },
  { text: "\x7fELF", content: foreign },
  { text: "\xcf\xfa\xed\xfe", content: foreign },
  { text: "\xca\xfe\xba\xbe", content: foreign },
  { text: "\x1f\x8b", content: foreign },
  { text: "BZh", content: foreign },
  { text: "\xfd7zXZ\0", content: foreign },
  { text: "7z\xbc\xaf\x27\x1c", content: foreign },
  { text: "Rar!\x1a\x07", content: foreign },
  { text: "{\\rtf", content: foreign },
  { text: "SQLite format 3\0", content: foreign },
  { text: "\0asm", content: foreign },
  // Compound files contain old Office documents, and new ones that are encrypted.
  { text: "\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", content: { _tag: "Container", holds: ["doc", "ppt", "xls", ...office] } }
]

/** `RIFF....XXXX` and `....ftypXXXX`. */
const riff = new Map([
  ["WEBP", known("webp")],
  ["WAVE", known("wav")],
  ["AVI ", known("avi")]
])

const bmpHeaders = new Set([12, 40, 52, 56, 108, 124])

export const recognise = (head: Uint8Array): Content => {
  const start = latin1Text(head.subarray(0, 1024))
  // A PDF may have other bytes before its mark.
  if (start.includes("%PDF-")) return known("pdf")
  const mark = marks.find(({ text }) => start.startsWith(text))
  if (mark !== undefined) return mark.content
  if (start.startsWith("PK\x03\x04")) return recogniseZip(latin1Text(head))
  if (start.startsWith("PK\x05\x06")) return foreign
  if (start.startsWith("RIFF")) return riff.get(start.slice(8, 12)) ?? unknown
  if (start.slice(4, 8) === "ftyp") return recogniseMp4(start.slice(8, 12))
  if (start.startsWith("BM") && bmpHeaders.has(head[14] ?? 0) && head[15] === 0) return known("bmp")
  if (start.startsWith("MZ") && head.includes(0)) return foreign
  return recogniseFrames(head)
}

/** The names of the files inside are not compressed. The first ones may leave the type open; then the file's name decides. */
const recogniseZip = (text: string): Content => {
  if (text.includes("mimetypeapplication/")) return foreign
  for (const [folder, extension] of [
    ["word/", "docx"],
    ["ppt/", "pptx"],
    ["xl/", "xlsx"]
  ] as const) {
    if (entryNames(text).some((name) => name.startsWith(folder))) return known(extension)
  }
  return { _tag: "Container", holds: office }
}

const entryNames = (text: string): ReadonlyArray<string> => {
  const names: Array<string> = []
  for (let at = text.indexOf("PK\x03\x04"); at !== -1; at = text.indexOf("PK\x03\x04", at + 4)) {
    const length = text.charCodeAt(at + 26) + text.charCodeAt(at + 27) * 256
    if (Number.isFinite(length)) names.push(text.slice(at + 30, at + 30 + length).replace(/^\//u, ""))
  }
  return names
}

/** The brand determines sound or QuickTime. Everything else in this container is video, or sound with the name of video. */
const recogniseMp4 = (brand: string): Content => {
  if (/^(M4A|M4B) $/u.test(brand)) return known("m4a", "mp4")
  if (brand === "qt  ") return known("mov", "mp4")
  if (/^(heic|heix|mif1|avif)$/u.test(brand)) return foreign
  return known("mp4", "mov", "m4a")
}

/** MPEG audio without tags begins with a frame: eleven bits set, then the layer, which is 0 for AAC. */
const recogniseFrames = (head: Uint8Array): Content => {
  const [first = 0, second = 0] = head
  if (first !== 0xff || (second & 0xe0) !== 0xe0) return unknown
  // FE FF and FF FE are byte order marks of UTF-16.
  if (second === 0xfe) return unknown
  return (second & 0xf6) === 0xf0 ? known("aac", "mp3") : known("mp3", "aac")
}

/** A text has no NUL except those of UTF-16 or UTF-32, and few other control characters. */
export const looksLikeText = (head: Uint8Array): boolean => {
  if ((head[0] === 0xff && head[1] === 0xfe) || (head[0] === 0xfe && head[1] === 0xff)) return true
  if (head[0] === 0 && head[1] === 0 && head[2] === 0xfe && head[3] === 0xff) return true
  let controls = 0
  let zeros = 0
  for (const byte of head) {
    if (byte === 0) zeros++
    else if (byte < 9 || (byte > 13 && byte < 32 && byte !== 27)) controls++
  }
  return (zeros === 0 && controls <= head.length * 0.05) || detectWideEncoding(head) !== null
}
