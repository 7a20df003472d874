/** Files that are broken, protected or made to do harm: each ends with a sentence that a person understands, and the process lives. */
import { fileTypeForExtension, TextExtractor } from "@colloquy/core/documents"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Stream from "effect/Stream"
import { deflateSync } from "node:zlib"
import { FileExtractor } from "../../src/files/index.ts"
import {
  compoundFile,
  doc,
  docx,
  endlessPdf,
  paragraph,
  pdf,
  ppt,
  pptx,
  shape,
  utf8,
  xls,
  xlsx,
  zip
} from "./MadeFiles.ts"

const extract = (extension: string, bytes: Uint8Array) =>
  Effect.flatMap(TextExtractor, (extractor) => {
    const type = fileTypeForExtension(extension)
    assert.isDefined(type)
    return extractor.extract({ type, size: bytes.length, bytes: Stream.make(bytes) })
  })

const tea = Effect.map(extract("txt", utf8("tea")), ([section]) => assert.strictEqual(section?.text, "tea"))

/** The file is refused, and the next one is read. */
const refused = (extension: string, bytes: Uint8Array, options: FileExtractor.FileExtractorOptions = {}) =>
  Effect.gen(function* () {
    const error = yield* Effect.flip(extract(extension, bytes))
    yield* tea
    return `${error.reason}: ${error.message}`
  }).pipe(Effect.provide(FileExtractor.layer(options)))

const workbook = (rows: string) => xlsx({ Sheet: rows })
const row = `<row>${"<c><v>1</v></c>".repeat(1000)}</row>`
const nested = "<w:x>".repeat(100_000)
const entities = '<!DOCTYPE x [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;&a;&a;">]>'
const protectedPdf = pdf(
  [[{ text: "secret", x: 72, y: 720 }]],
  `/Encrypt << /Filter /Standard /V 1 /R 2 /P -4 /O <${"11".repeat(32)}> /U <${"22".repeat(32)}> >> /ID [<${"33".repeat(16)}> <${"33".repeat(16)}>]`
)

const wordParts = (
  document: string,
  fields: { readonly claimed?: number; readonly flags?: number; readonly isStored?: boolean } = {}
) =>
  zip([
    { name: "_rels/.rels", data: `<R><Relationship Id="r" Type="x/officeDocument" Target="d.xml"/></R>` },
    { name: "d.xml", data: document, ...fields }
  ])

/** A workbook whose cells all have one text. */
const sharedWorkbook = (text: string, cells: number) =>
  zip([
    { name: "_rels/.rels", data: `<R><Relationship Id="r" Type="x/officeDocument" Target="w.xml"/></R>` },
    {
      name: "_rels/w.xml.rels",
      data: `<R><Relationship Id="s" Type="x/worksheet" Target="s.xml"/><Relationship Id="t" Type="x/sharedStrings" Target="t.xml"/></R>`
    },
    { name: "w.xml", data: `<workbook><sheets><sheet name="S" id="s"/></sheets></workbook>` },
    { name: "t.xml", data: `<sst><si><t>${text}</t></si></sst>` },
    { name: "s.xml", data: `<d>${`<row>${'<c t="s"><v>0</v></c>'.repeat(10)}</row>`.repeat(cells / 10)}</d>` }
  ])

const password = "encrypted: The file is protected by a password. Remove the protection and upload it again."
const damaged = (kind: string) =>
  `damaged: The file cannot be read: it is damaged, incomplete, or not ${kind.startsWith("E") ? "an" : "a"} ${kind}.`

const cases: ReadonlyArray<readonly [string, string, () => Uint8Array, string]> = [
  [
    "a zip bomb that says how large it is",
    "docx",
    () => wordParts("<x/>", { claimed: 900_000_000 }),
    "too_large: The file is too large to be read: it unpacks to more than 128 MB."
  ],
  [
    "a zip bomb that lies about its size",
    "docx",
    () => wordParts(" ".repeat(20_000_000), { claimed: 100 }),
    "too_large: The file is too large to be read: it unpacks to more than it says."
  ],
  [
    "a part that is not packed and lies about its size",
    "docx",
    () => wordParts(`<x>${" ".repeat(1000)}</x>`, { claimed: 100, isStored: true }),
    "too_large: The file is too large to be read: it unpacks to more than it says."
  ],
  [
    "an archive of very many parts",
    "xlsx",
    () => zip(Array.from({ length: 20_001 }, (_, index) => ({ name: `${index}`, data: "" }))),
    "too_large: The file is too large to be read: it holds 20001 parts."
  ],
  [
    "a small document with very much text",
    "docx",
    () => docx(paragraph("tea ".repeat(4_500_000))),
    "too_large: The file is too large to be read: it holds more than 100 times as much text as it has bytes."
  ],
  [
    "a small workbook of which every cell refers to one long text",
    "xlsx",
    () => sharedWorkbook("tea ".repeat(250_000), 100_000),
    "too_large: The file is too large to be read: it holds more than 100 times as much text as it has bytes."
  ],
  [
    "a small presentation that unpacks to very much",
    "pptx",
    () => pptx(Array.from({ length: 40 }, () => ({ xml: `${shape("tea", "title")}${"<a:x/>".repeat(200_000)}` }))),
    "too_large: The file is too large to be read: it unpacks to more than 200 times its size."
  ],
  [
    "an XML bomb",
    "docx",
    () => wordParts(`${entities}<d>&b;</d>`),
    "damaged: The file declares XML entities of its own, which a Word document never does."
  ],
  [
    "elements inside elements",
    "docx",
    () => docx(nested),
    "damaged: The elements of the file are nested too deeply. Save the file in a simpler form."
  ],
  [
    "a page of elements inside elements",
    "html",
    () => utf8("<div>".repeat(2_000_000)),
    "damaged: The elements of the page are nested too deeply. Save the page in a simpler form."
  ],
  [
    "a million cells",
    "xlsx",
    () => workbook(row.repeat(1000)),
    "too_large: The file is too large to be read: it has more than 500,000 cells."
  ],
  [
    "a cell beyond the widest sheet",
    "xlsx",
    () => workbook('<row r="1"><c r="ZZZ1"><v>1</v></c></row>'),
    damaged("Excel workbook")
  ],
  ["an encrypted part", "docx", () => wordParts("<x/>", { flags: 1 }), password],
  ["an encrypted new document", "docx", () => compoundFile({ EncryptedPackage: new Uint8Array(5000) }), password],
  ["an encrypted old document", "doc", () => doc("secret\r", 0x0300), password],
  ["an encrypted old presentation", "ppt", () => ppt([{ title: "a", box: "b" }], 0xf3d1c4df), password],
  ["an encrypted PDF", "pdf", () => protectedPdf, password],
  [
    "a PDF that was cut",
    "pdf",
    () => pdf(Array.from({ length: 20 }, () => [{ text: "tea", x: 72, y: 720 }])).subarray(0, 4000),
    "damaged: The PDF file is incomplete: its end is missing. Upload it again."
  ],
  ["a PDF that is none", "pdf", () => utf8("%PDF-1.7 nothing %%EOF"), damaged("PDF file")],
  [
    "a document that was cut",
    "docx",
    () => docx(paragraph("tea".repeat(1000))).subarray(0, 600),
    damaged("Word document")
  ],
  ["text under the name of a workbook", "xls", () => utf8("Name;Price"), damaged("Excel workbook")],
  [
    "an archive of something else",
    "pptx",
    () => zip([{ name: "a.txt", data: "tea" }]),
    damaged("PowerPoint presentation")
  ],
  [
    "a compound file of something else",
    "doc",
    () => compoundFile({ Something: new Uint8Array(5000) }),
    "damaged: The file is damaged, or its content is of another type than its name says. Check the file and upload it again."
  ],
  [
    "binary data under the name of a text",
    "txt",
    () => Uint8Array.from({ length: 1000 }, (_, index) => (index * 7) % 256),
    "unsupported: The file contains no readable text: it looks like binary data."
  ]
]

describe("a hostile file", () => {
  it.live.each(cases)("%s", ([, extension, make, sentence]) =>
    Effect.gen(function* () {
      assert.strictEqual(yield* refused(extension, make()), sentence)
    })
  )

  it.live("two cells a million rows and sixteen thousand columns apart are two cells", () =>
    Effect.gen(function* () {
      const file = workbook(
        '<row r="1"><c r="A1"><v>1</v></c></row><row r="1048576"><c r="XFD1048576"><v>2</v></c></row>'
      )
      const [section] = yield* extract("xlsx", file)
      assert.isTrue(section?.text.startsWith("1\n"))
      assert.isTrue(section?.text.endsWith("| 2"))
    }).pipe(Effect.provide(FileExtractor.layer()))
  )

  it.live("a PDF that never ends is stopped at the deadline", () =>
    Effect.gen(function* () {
      const error = yield* Effect.flip(extract("pdf", endlessPdf()))
      assert.strictEqual(
        `${error.reason}: ${error.message}`,
        "too_slow: The file could not be read within 2 seconds. Split it, or save it in a simpler form."
      )
      // The next file has its turn, whether this machine reads it within two seconds or not.
      const next = yield* Effect.result(tea)
      if (next._tag === "Failure") assert.strictEqual(next.failure.reason, "too_slow")
    }).pipe(Effect.provide(FileExtractor.layer({ deadline: "2 seconds" })))
  )

  it.live("a PDF that unpacks to more than fits is stopped before the process is", () =>
    Effect.gen(function* () {
      const packed = deflateSync(Buffer.alloc(400_000_000, " "))
      const stream = `<< /Type /XObject /Subtype /Form /BBox [0 0 9 9] /Filter /FlateDecode /Length ${packed.length} >>\nstream\n${packed.toString("latin1")}\nendstream`
      const file = pdf([[{ text: "a) Tj ET /X0 Do BT (b", x: 72, y: 720 }]], "", "/XObject << /X0 6 0 R >>", [stream])
      assert.strictEqual(
        yield* refused("pdf", file, { growth: 200 }),
        "too_large: The file is too large to be read: it needs more memory than one file may take."
      )
    })
  )

  it.live("who asked may go away, and the next file is read at once", () =>
    Effect.gen(function* () {
      const reading = yield* Effect.forkChild(extract("pdf", endlessPdf()), { startImmediately: true })
      const next = yield* Effect.forkChild(tea, { startImmediately: true })
      yield* Fiber.interrupt(reading)
      yield* Fiber.join(next)
    }).pipe(Effect.provide(FileExtractor.layer({ deadline: "1 minute" })))
  )

  it.live(
    "files with damaged bytes end as text or as a sentence",
    () =>
      Effect.gen(function* () {
        const files = {
          docx: docx(paragraph("tea")),
          pptx: pptx([{ xml: shape("tea", "title"), notes: shape("said") }]),
          xlsx: workbook('<row><c t="str"><v>tea</v></c></row>'),
          pdf: pdf([[{ text: "tea", x: 72, y: 720 }]]),
          doc: doc("tea\r"),
          xls: xls({ Tea: [["tea"]] }),
          ppt: ppt([{ title: "tea", box: "cup", notes: "said" }])
        }
        for (const [extension, file] of Object.entries(files)) {
          for (let seed = 1; seed <= 4; seed++) {
            const broken = Uint8Array.from(file)
            // The same places in every run.
            for (let index = 0; index < 20; index++)
              broken[(seed * 7919 + index * 104_729) % file.length] = (seed * 31 + index) % 256
            const answer = yield* Effect.result(extract(extension, broken))
            if (answer._tag === "Failure") assert.strictEqual(answer.failure._tag, "ExtractionFailed")
          }
        }
        yield* tea
      }).pipe(Effect.provide(FileExtractor.layer())),
    600_000
  )
})
