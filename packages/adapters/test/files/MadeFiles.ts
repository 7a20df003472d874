/** Real files, made byte by byte, so that each test says what is in them: zip archives, Office old and new, PDF. */
import { CFB, utils, write } from "@e965/xlsx"
import { deflateRawSync } from "node:zlib"

export const utf8 = (text: string): Uint8Array => new TextEncoder().encode(text)

interface ZipPart {
  readonly name: string
  readonly data: Uint8Array | string
  /** What the directory says that it unpacks to; default: the truth. */
  readonly claimed?: number
  readonly flags?: number
  readonly isStored?: boolean
}

const crcTable = Uint32Array.from({ length: 256 }, (_, index) => {
  let value = index
  for (let bit = 0; bit < 8; bit++) value = value & 1 ? (value >>> 1) ^ 0xedb88320 : value >>> 1
  return value
})

const crc32 = (data: Uint8Array): number => {
  let crc = 0xffffffff
  for (const byte of data) crc = (crcTable[(crc ^ byte) & 0xff] ?? 0) ^ (crc >>> 8)
  return (crc ^ 0xffffffff) >>> 0
}

export const zip = (parts: ReadonlyArray<ZipPart>): Uint8Array => {
  const bodies: Array<Buffer> = []
  const directory: Array<Buffer> = []
  let offset = 0
  for (const { claimed, data, flags = 0, isStored = false, name } of parts) {
    const bytes = typeof data === "string" ? utf8(data) : data
    const packed = isStored ? bytes : deflateRawSync(bytes)
    const fields = Buffer.alloc(26)
    fields.writeUInt16LE(20, 0)
    fields.writeUInt16LE(flags, 2)
    fields.writeUInt16LE(isStored ? 0 : 8, 4)
    fields.writeUInt32LE(crc32(bytes), 10)
    fields.writeUInt32LE(packed.length, 14)
    fields.writeUInt32LE(claimed ?? bytes.length, 18)
    fields.writeUInt16LE(Buffer.byteLength(name), 22)
    const place = Buffer.alloc(14)
    place.writeUInt32LE(offset, 10)
    const body = Buffer.concat([Buffer.from("PK\x03\x04"), fields, Buffer.from(name), packed])
    directory.push(Buffer.concat([Buffer.from("PK\x01\x02\x14\0"), fields, place, Buffer.from(name)]))
    bodies.push(body)
    offset += body.length
  }
  const list = Buffer.concat(directory)
  const end = Buffer.alloc(22)
  end.write("PK\x05\x06", "latin1")
  end.writeUInt16LE(parts.length, 8)
  end.writeUInt16LE(parts.length, 10)
  end.writeUInt32LE(list.length, 12)
  end.writeUInt32LE(offset, 16)
  return Uint8Array.from(Buffer.concat([...bodies, list, end]))
}

type Relations = ReadonlyArray<readonly [id: string, type: string, target: string]>

const relations = (name: string, list: Relations): ZipPart => ({
  name,
  data: `<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships">${list
    .map(([id, type, target]) => `<Relationship Id="${id}" Type="http://x/${type}" Target="${target}"/>`)
    .join("")}</Relationships>`
})

const contentTypes = (kind: string): ZipPart => ({
  name: "[Content_Types].xml",
  data: `<Types><Override ContentType="application/vnd.openxmlformats-officedocument.${kind}.main+xml"/></Types>`
})

/** The body of a Word document, and parts beside it. */
export const docx = (body: string, more: Readonly<Record<string, string>> = {}): Uint8Array =>
  zip([
    contentTypes("wordprocessingml.document"),
    relations("_rels/.rels", [["rId1", "officeDocument", "word/document.xml"]]),
    relations(
      "word/_rels/document.xml.rels",
      Object.keys(more).map((name, index) => [`rId${index}`, name, `${name}.xml`] as const)
    ),
    { name: "word/document.xml", data: `<w:document xmlns:w="w" xmlns:mc="mc"><w:body>${body}</w:body></w:document>` },
    ...Object.entries(more).map(([name, data]) => ({ name: `word/${name}.xml`, data }))
  ])

export const paragraph = (text: string, properties = ""): string =>
  `<w:p><w:pPr>${properties}</w:pPr><w:r><w:t>${text}</w:t></w:r></w:p>`

interface Slide {
  readonly xml: string
  readonly notes?: string
}

/** Slides in the order in which they are shown; their files are named the other way round. */
export const pptx = (slides: ReadonlyArray<Slide>): Uint8Array => {
  const fileNumber = (index: number) => slides.length - index
  const shape = "xmlns:a='a' xmlns:p='p' xmlns:r='r'"
  return zip([
    contentTypes("presentationml.presentation"),
    relations("_rels/.rels", [["rId1", "officeDocument", "/ppt/presentation.xml"]]),
    relations(
      "ppt/_rels/presentation.xml.rels",
      slides.map((_, index) => [`r${index}`, "slide", `slides/slide${fileNumber(index)}.xml`] as const)
    ),
    {
      name: "ppt/presentation.xml",
      data: `<p:presentation ${shape}><p:sldIdLst>${slides.map((_, index) => `<p:sldId id="${256 + index}" r:id="r${index}"/>`).join("")}</p:sldIdLst></p:presentation>`
    },
    ...slides.flatMap(({ notes, xml }, index) => [
      { name: `ppt/slides/slide${fileNumber(index)}.xml`, data: `<p:sld ${shape}>${xml}</p:sld>` },
      ...(notes === undefined
        ? []
        : [
            relations(`ppt/slides/_rels/slide${fileNumber(index)}.xml.rels`, [
              ["n", "notesSlide", `../notes/n${index}.xml`]
            ]),
            { name: `ppt/notes/n${index}.xml`, data: `<p:notes ${shape}>${notes}</p:notes>` }
          ])
    ])
  ])
}

export const shape = (text: string, placeholder = ""): string =>
  `<p:sp><p:nvPr>${placeholder === "" ? "" : `<p:ph type="${placeholder}"/>`}</p:nvPr><a:p><a:r><a:t>${text}</a:t></a:r></a:p></p:sp>`

/** Rows of a sheet as XML, and parts beside the workbook. */
export const xlsx = (
  sheets: Readonly<Record<string, string>>,
  more: Readonly<Record<string, string>> = {},
  workbook = ""
): Uint8Array => {
  const names = Object.keys(sheets)
  return zip([
    contentTypes("spreadsheetml.sheet"),
    relations("_rels/.rels", [["rId1", "officeDocument", "xl/workbook.xml"]]),
    relations("xl/_rels/workbook.xml.rels", [
      ...names.map((_, index) => [`s${index}`, "worksheet", `worksheets/sheet${index}.xml`] as const),
      ...Object.keys(more).map((name) => [name, name, `${name}.xml`] as const)
    ]),
    {
      name: "xl/workbook.xml",
      data: `<x:workbook xmlns:x="x" xmlns:r="r">${workbook}<x:sheets>${names
        .map((name, index) => `<x:sheet name="${name}" sheetId="${index + 1}" r:id="s${index}"/>`)
        .join("")}</x:sheets></x:workbook>`
    },
    ...Object.values(sheets).map((data, index) => ({
      name: `xl/worksheets/sheet${index}.xml`,
      data: `<worksheet><sheetData>${data}</sheetData></worksheet>`
    })),
    ...Object.entries(more).map(([name, data]) => ({ name: `xl/${name}.xml`, data }))
  ])
}

interface PdfText {
  readonly text: string
  readonly x: number
  readonly y: number
  readonly size?: number
  /** `F2` is the first object of `more`. */
  readonly font?: "F1" | "F2"
  /** How it is turned and stretched; upright without. */
  readonly matrix?: string
}

const helvetica = "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>"

/** A font that the file names and does not bring, with codes of one of Adobe's tables. */
export const namedFont = (encoding: string, ordering: string): string =>
  `<< /Type /Font /Subtype /Type0 /BaseFont /Anything /Encoding /${encoding} /DescendantFonts [<< /Type /Font /Subtype /CIDFontType0
    /BaseFont /Anything /CIDSystemInfo << /Registry (Adobe) /Ordering (${ordering}) /Supplement 2 >> /DW 1000
    /FontDescriptor << /Type /FontDescriptor /FontName /Anything /Flags 4 /FontBBox [0 0 1000 1000] /ItalicAngle 0 /Ascent 880
    /Descent -120 /CapHeight 700 /StemV 80 >> >>] >>`

/**
 * Pages of 612 by 792 points. `extra` goes into the trailer, `resources` to those of each page; `more` are objects behind the others. Texts are
 * in the codes of the font.
 */
export const pdf = (
  pages: ReadonlyArray<ReadonlyArray<PdfText>>,
  extra = "",
  resources = "",
  more: ReadonlyArray<string> = [],
  font = helvetica
): Uint8Array => {
  const objects: Array<string> = [
    "<< /Type /Catalog /Pages 2 0 R >>",
    `<< /Type /Pages /Count ${pages.length} /Kids [${pages.map((_, index) => `${4 + index * 2} 0 R`).join(" ")}] >>`,
    font
  ]
  for (const [index, texts] of pages.entries()) {
    const content = texts
      .map(
        ({ font: name = "F1", matrix = "1 0 0 1", size = 11, text, x, y }) =>
          `BT /${name} ${size} Tf ${matrix} ${x} ${y} Tm (${text}) Tj ET`
      )
      .join("\n")
    objects.push(
      `<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Resources << /Font << /F1 3 0 R /F2 ${4 + pages.length * 2} 0 R >> ${resources} >> /Contents ${5 + index * 2} 0 R >>`,
      `<< /Length ${content.length} >>\nstream\n${content}\nendstream`
    )
  }
  objects.push(...more)
  let file = "%PDF-1.4\n%\xe2\xe3\xcf\xd3\n"
  const places: Array<number> = []
  for (const [index, object] of objects.entries()) {
    places.push(file.length)
    file += `${index + 1} 0 obj\n${object}\nendobj\n`
  }
  const table = places.map((place) => `${String(place).padStart(10, "0")} 00000 n \n`).join("")
  const trailer = `trailer\n<< /Size ${objects.length + 1} /Root 1 0 R ${extra} >>\nstartxref\n${file.length}\n%%EOF\n`
  return Uint8Array.from(
    Buffer.from(`${file}xref\n0 ${objects.length + 1}\n0000000000 65535 f \n${table}${trailer}`, "latin1")
  )
}

/** A workbook of Excel 97 to 2003. */
export const xls = (sheets: Readonly<Record<string, ReadonlyArray<ReadonlyArray<unknown>>>>): Uint8Array => {
  const book = utils.book_new()
  for (const [name, rows] of Object.entries(sheets))
    utils.book_append_sheet(book, utils.aoa_to_sheet(rows.map((row) => [...row])), name)
  return Uint8Array.from(write(book, { type: "buffer", bookType: "biff8" }) as Buffer)
}

/** The file with a stream of another program inside, as an embedded object is stored. */
export const withEmbedded = (file: Uint8Array, stream: string): Uint8Array => {
  const container = CFB.read(Buffer.from(file), { type: "buffer" })
  CFB.utils.cfb_add(container, `/MBD00000001/${stream}`, Buffer.alloc(5_000))
  return Uint8Array.from(CFB.write(container, { type: "buffer" }) as Buffer)
}

export const compoundFile = (streams: Readonly<Record<string, Uint8Array>>): Uint8Array => {
  const file = CFB.utils.cfb_new()
  for (const [name, content] of Object.entries(streams)) CFB.utils.cfb_add(file, `/${name}`, content)
  return Uint8Array.from(CFB.write(file, { type: "buffer" }) as Buffer)
}

/** A document of Word 97 to 2003: a header, one piece of text, and the table that says where it is. */
export const doc = (text: string, flags = 0x0200): Uint8Array => {
  const main = Buffer.alloc(8192)
  main.writeUInt16LE(0xa5ec, 0)
  main.writeUInt16LE(0xc1, 2)
  main.writeUInt16LE(flags, 0x0a)
  main.writeUInt32LE(0x800, 0x18)
  main.writeUInt32LE(text.length, 0x4c)
  main.write(text, 0x800, "utf16le")
  const table = Buffer.alloc(4096)
  table.writeUInt8(2, 0)
  table.writeUInt32LE(16, 1)
  table.writeUInt32LE(text.length, 9)
  table.writeUInt32LE(0x800, 15)
  return compoundFile({ WordDocument: main, "1Table": table })
}

const record = (type: number, content: Buffer | ReadonlyArray<Buffer>, instance = 0): Buffer => {
  const isContainer = !Buffer.isBuffer(content)
  const body = isContainer ? Buffer.concat([...content]) : content
  const head = Buffer.alloc(8)
  head.writeUInt16LE((instance << 4) | (isContainer ? 15 : 0), 0)
  head.writeUInt16LE(type, 2)
  head.writeUInt32LE(body.length, 4)
  return Buffer.concat([head, body])
}

const numbers = (...values: ReadonlyArray<number>): Buffer => Buffer.from(Uint32Array.from(values).buffer)

interface OldSlide {
  readonly title: string
  readonly box: string
  readonly notes?: string
}

/** A presentation of PowerPoint 97 to 2003: titles in the list of slides, text boxes in the slides. */
export const ppt = (slides: ReadonlyArray<OldSlide>, token = 0xe391c05f): Uint8Array => {
  const wide = (text: string) => record(0x0fa0, Buffer.from(text, "utf16le"))
  const narrow = (text: string) => record(0x0fa8, Buffer.from(text, "latin1"))
  const pages = slides.map(({ box }) => record(0x03ee, [record(0x040c, [narrow(box)])]))
  const notes = slides.map(({ notes: said = "" }, index) =>
    record(0x03f0, [record(0x03f1, numbers(256 + index, 0)), record(0x040c, [wide(said)])])
  )
  const slideList = slides.flatMap(({ title }, index) => [
    record(0x03f3, numbers(2 + index, 0, 0, 256 + index, 0)),
    wide(title)
  ])
  const notesList = slides.map((_, index) => record(0x03f3, numbers(100 + index, 0, 0, 512 + index, 0)))
  const root = record(0x03e8, [record(0x0ff0, slideList, 0), record(0x0ff0, notesList, 2)])
  const parts = [root, ...pages, ...notes]
  const places: Array<number> = []
  let at = 0
  for (const part of parts) {
    places.push(at)
    at += part.length
  }
  const count = slides.length
  const directory = record(
    0x1772,
    numbers(
      ((1 + count) << 20) | 1,
      ...places.slice(0, 1 + count),
      ((count << 20) | 100) >>> 0,
      ...places.slice(1 + count)
    )
  )
  const edit = record(0x0ff5, numbers(0, 0, 0, at, 1, 0, 0))
  const user = record(0x0ff6, numbers(20, token, at + directory.length, 0, 0))
  return compoundFile({
    "PowerPoint Document": Buffer.concat([...parts, directory, edit, Buffer.alloc(4096)]),
    "Current User": user
  })
}

/** Forms that call forms, ten times each, ten levels deep. */
export const endlessPdf = (): Uint8Array => {
  const levels = 10
  const form = (level: number) => {
    const content = level === levels - 1 ? "BT /F1 9 Tf (x) Tj ET" : `/X${level + 1} Do `.repeat(10)
    return `<< /Type /XObject /Subtype /Form /BBox [0 0 9 9] /Resources << /Font << /F1 3 0 R >> /XObject << /X${level + 1} ${7 + level} 0 R >> >> /Length ${content.length} >>\nstream\n${content}\nendstream`
  }
  return pdf(
    [[{ text: "a) Tj ET /X0 Do BT (b", x: 72, y: 720 }]],
    "",
    "/XObject << /X0 6 0 R >>",
    Array.from({ length: levels }, (_, level) => form(level))
  )
}
