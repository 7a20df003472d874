/** Which files are accepted as what: by name and content together. */
import {
  acceptedExtensions,
  decideFileType,
  readExtension,
  fileTypeForExtension,
  type UploadPurpose
} from "@colloquy/core/documents"
import { assert, describe, it } from "@effect/vitest"
import * as Result from "effect/Result"

const bytes = (text: string): Uint8Array => Uint8Array.from(text, (character) => character.charCodeAt(0) & 0xff)

/** The extension that was decided, or the tag of the refusal. */
const decide = (name: string, head: Uint8Array | string, purpose: UploadPurpose = "document"): string =>
  Result.match(decideFileType(name, typeof head === "string" ? bytes(head) : head, purpose), {
    onSuccess: ({ extension }) => extension,
    onFailure: (error) => (error._tag === "FileTypeUnsupported" ? error.reason : error._tag)
  })

/** A local header of a zip archive; the data does not matter. */
const entry = (name: string, data = "data"): string =>
  `PK\x03\x04${"\0".repeat(22)}${String.fromCharCode(name.length % 256, name.length >> 8)}\0\0${name}${data}`

const docx = entry("[Content_Types].xml") + entry("_rels/.rels") + entry("word/document.xml")
const pptx = entry("[Content_Types].xml") + entry("ppt/presentation.xml")
const xlsx = entry("xl/workbook.xml")
const ole = `\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1${"\0".repeat(500)}`
const pdf = "%PDF-1.7\n%\xe2\xe3\xcf\xd3\n"
const png = "\x89PNG\r\n\x1a\n\0\0\0\rIHDR"
const jpg = "\xff\xd8\xff\xe0\0\x10JFIF\0"
const utf16 = "\xff\xfet\0e\0a\0"

describe("decideFileType", () => {
  it("knows exactly the types of the specification", () => {
    const documents =
      "pdf doc docx ppt pptx xls xlsx txt csv md markdown json jsonl xml py js ts jsx tsx html css cpp c h java go rs rb php sql " +
      "png jpg jpeg webp gif bmp tiff tif"
    const more = " mp3 wav m4a ogg flac aac mp4 mov avi mkv mpeg mpg webm"
    assert.sameMembers([...acceptedExtensions("document")], documents.split(" "))
    assert.sameMembers([...acceptedExtensions("attachment")], (documents + more).split(" "))
    assert.strictEqual(
      fileTypeForExtension("docx")?.mimeType,
      "application/vnd.openxmlformats-officedocument.wordprocessingml.document"
    )
  })

  const accepted: ReadonlyArray<readonly [string, string, string]> = [
    ["a.pdf", pdf, "pdf"],
    ["A.PDF", `\n\n${pdf}`, "pdf"],
    ["a.docx", docx, "docx"],
    ["a.pptx", pptx, "pptx"],
    ["a.xlsx", xlsx, "xlsx"],
    // The beginning does not tell which of the three it is.
    ["a.xlsx", entry("_rels/.rels"), "xlsx"],
    ["a.doc", ole, "doc"],
    ["a.ppt", ole, "ppt"],
    ["a.xls", ole, "xls"],
    // An encrypted one: its indexing says so.
    ["a.docx", ole, "docx"],
    ["a.jpeg", jpg, "jpeg"],
    ["a.JPG", jpg, "jpg"],
    ["a.tiff", "II*\0\x08\0\0\0", "tiff"],
    ["a.tif", "MM\0*\0\0\0\x08", "tif"],
    ["a.bmp", `BM${"\0".repeat(12)}\x28\0\0\0${"\0".repeat(12)}`, "bmp"],
    ["a.webp", "RIFF\x10\0\0\0WEBPVP8 ", "webp"],
    ["a.gif", "GIF89a\x01\0", "gif"],
    ["notes.txt", "hello", "txt"],
    ["notes.txt", utf16, "txt"],
    ["notes.txt", "t\0e\0a\0 \0a\0n\0d\0", "txt"],
    ["notes.txt", "\0t\0e\0a\0 \0a\0n\0d", "txt"],
    ["notes.txt", "Gr\xfc\xdfe", "txt"],
    ["notes.txt", "\x1b[31mred\x1b[0m\f\t", "txt"],
    ["notes.txt", "BM is a town", "txt"],
    ["notes.txt", "MZ is a mark", "txt"],
    ["a.markdown", "# Tea", "markdown"],
    ["a.ts", "export {}", "ts"],
    ["archive.tar.json", "{}", "json"],
    ["日本語.csv", "a,b", "csv"],
    // What the content certainly is wins.
    ["a.docx", pdf, "pdf"],
    ["a.txt", pdf, "pdf"],
    ["a.jpg", png, "png"],
    ["a.xlsx", docx, "docx"],
    ["report", pdf, "pdf"],
    ["photo", png, "png"],
    // Broken files of a known type are accepted.
    ["a.pdf", "this is no PDF", "pdf"],
    ["a.png", "\0\0\0\0", "png"],
    ["a.docx", "PK\x03\x04", "docx"],
    ["a.xls", "Name;Amount", "xls"]
  ]
  it.each(accepted)("%s is accepted", (name, head, extension) => {
    assert.strictEqual(decide(name, head), extension)
  })

  const refused: ReadonlyArray<readonly [string, string, string]> = [
    ["a.exe", "MZ\x90\0\x03\0", "extension"],
    ["a.zip", entry("a.txt"), "extension"],
    ["a.svg", "<svg/>", "extension"],
    ["a.bin", pdf, "extension"],
    ["README", "hello", "extension"],
    [".pdf", "hello", "extension"],
    ["a.", "hello", "extension"],
    ["a.txt", "MZ\x90\0\x03\0", "content"],
    ["a.txt", "\x7fELF\x02", "content"],
    ["a.txt", entry("a.txt"), "content"],
    ["a.pdf", entry("a.txt"), "content"],
    ["a.txt", ole, "content"],
    ["a.csv", "\x01\x02\0\x03\x04\x05\0\0\0\x06", "content"],
    ["a.ts", `G@\0\x10\0\0\xb0${"\xff".repeat(40)}`, "content"],
    ["a.docx", entry("mimetype", "application/vnd.oasis.opendocument.text"), "content"],
    ["a.doc", "{\\rtf1 Tea}", "content"],
    ["a.txt", "\x1f\x8b\x08\0", "content"],
    ["a.mp3", "ID3\x04", "extension"],
    ["a.png", "OggS\0", "content"]
  ]
  it.each(refused)("%s is refused", (name, head, reason) => {
    assert.strictEqual(decide(name, head), reason)
  })

  const sounding: ReadonlyArray<readonly [string, string, string]> = [
    ["a.mp3", "ID3\x04\0", "mp3"],
    ["a.mp3", "\xff\xfb\x90\x44", "mp3"],
    ["a.aac", "\xff\xf1\x50\x80", "aac"],
    ["a.aac", "ID3\x04\0", "aac"],
    ["a.wav", "RIFF\x10\0\0\0WAVEfmt ", "wav"],
    ["a.ogg", "OggS\0", "ogg"],
    ["a.flac", "fLaC\0", "flac"],
    ["a.m4a", "\0\0\0\x20ftypM4A \0", "m4a"],
    ["a.mp4", "\0\0\0\x20ftypisom\0", "mp4"],
    ["a.mov", "\0\0\0\x14ftypqt  \0", "mov"],
    ["a.mov", "\0\0\0\x08wide", "mov"],
    ["a.avi", "RIFF\x10\0\0\0AVI LIST", "avi"],
    ["a.mkv", "\x1aE\xdf\xa3", "mkv"],
    ["a.webm", "\x1aE\xdf\xa3", "webm"],
    ["a.mpg", "\0\0\x01\xba", "mpg"],
    ["clip", "\0\0\0\x20ftypisom\0", "mp4"],
    ["a.png", png, "png"],
    ["a.mp4", "\0\0\0\x20ftypheic", "content"]
  ]
  it.each(sounding)("%s is accepted with a message", (name, head, extension) => {
    assert.strictEqual(decide(name, head, "attachment"), extension)
  })

  it("refuses sound as a document under any name", () => {
    assert.strictEqual(decide("a.wav", "RIFF\x10\0\0\0WAVEfmt "), "extension")
    assert.strictEqual(decide("a.txt", "RIFF\x10\0\0\0WAVEfmt "), "content")
  })

  it("refuses an empty file, whatever its name", () => {
    assert.strictEqual(decide("a.txt", ""), "FileEmpty")
    assert.strictEqual(decide("a.exe", ""), "FileEmpty")
  })

  it("says what is wrong in a sentence that a person understands", () => {
    const refusalMessage = (name: string, head: string) =>
      Result.getOrThrow(Result.flip(decideFileType(name, bytes(head)))).message
    assert.strictEqual(refusalMessage("a.exe", "MZ"), 'Files like "a.exe" are not supported.')
    assert.strictEqual(
      refusalMessage("a.txt", "\x7fELF"),
      'The content of "a.txt" is not what its name says, and is not supported.'
    )
    assert.strictEqual(refusalMessage("a.txt", ""), 'The file "a.txt" is empty.')
  })

  it("takes text of four bytes a character, which has many zeros, for text where its mark says so", () => {
    assert.strictEqual(decide("a.txt", "\xff\xfe\0\0T\0\0\0e\0\0\0a\0\0\0"), decide("a.txt", "Tea"))
    assert.strictEqual(decide("a.txt", "\0\0\xfe\xff\0\0\0T\0\0\0e\0\0\0a"), decide("a.txt", "Tea"))
  })

  it("takes text of two or four bytes a character for text without a mark, too", () => {
    const wide = (text: string) => Buffer.from(text, "utf16le")
    const spread = (text: string) => Buffer.from(Uint32Array.from(text, (letter) => letter.codePointAt(0) ?? 0).buffer)
    const texts = [
      wide("Это текст. Он о чае."),
      wide("Это текст. Он о чае.").swap16(),
      wide("日本語です。\nお茶。"),
      wide("日本語です。\nお茶。").swap16(),
      spread("Tea, чай, 茶"),
      spread("Tea, чай, 茶").swap32()
    ]
    for (const text of texts) assert.strictEqual(decide("a.txt", text.toString("latin1")), "txt", text.toString("hex"))
    const odd = Uint8Array.from({ length: 400 }, (_, index) => (index * 167) % 256)
    assert.strictEqual(decide("a.txt", Buffer.from(odd).toString("latin1")), "content")
  })

  it("reads the extension behind the last dot of the name alone", () => {
    assert.strictEqual(readExtension("../a.b/c.PDF"), "pdf")
    assert.strictEqual(readExtension("../a.pdf/c"), "")
    assert.strictEqual(readExtension("C:\\x.doc\\y"), "")
    assert.strictEqual(readExtension(".gitignore"), "")
  })
})
