/** The text of every type of file, out of files as programs write them. */
import { ExtractionFailed, fileTypeForExtension, ImageReader, TextExtractor } from "@colloquy/core/documents"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import * as Stream from "effect/Stream"
import { FileExtractor } from "../../src/files/index.ts"
import {
  doc,
  docx,
  namedFont,
  paragraph,
  pdf,
  ppt,
  pptx,
  shape,
  utf8,
  withEmbedded,
  xls,
  xlsx,
  zip
} from "./MadeFiles.ts"

const extract = (extension: string, bytes: Uint8Array) =>
  Effect.flatMap(TextExtractor, (extractor) => {
    const type = fileTypeForExtension(extension)
    assert.isDefined(type)
    const half = Math.floor(bytes.length / 2)
    return extractor.extract({
      type,
      size: bytes.length,
      bytes: Stream.make(bytes.subarray(0, half), bytes.subarray(half))
    })
  })

/** What is not null of each section, so that a test reads as the file does. */
const read = (extension: string, bytes: Uint8Array) =>
  Effect.map(extract(extension, bytes), (sections) =>
    sections.map((section) => Object.fromEntries(Object.entries(section).filter(([, value]) => value !== null)))
  ).pipe(Effect.provide(FileExtractor.layer()))

const wide = (text: string) => Buffer.from(text, "utf16le")

const latin1 = (text: string) => Uint8Array.from(text, (character) => character.charCodeAt(0))

describe("Word", () => {
  const styles = `<w:styles xmlns:w="w"><w:style w:styleId="berschrift1"><w:name w:val="heading 1"/></w:style>
    <w:style w:styleId="Titel"><w:name w:val="Title"/></w:style>
    <w:style w:styleId="Eigen"><w:name w:val="Mine"/><w:pPr><w:outlineLvl w:val="1"/></w:pPr></w:style></w:styles>`

  it.live("a document under its headings, with lists, tables, footnotes and comments", () =>
    Effect.gen(function* () {
      const cell = (text: string) => `<w:tc>${paragraph(text)}</w:tc>`
      const body = [
        paragraph("Tea", '<w:pStyle w:val="Titel"/>'),
        paragraph("Before all."),
        paragraph("Kinds", '<w:pStyle w:val="berschrift1"/>'),
        "<w:p><w:r><w:t>Green</w:t></w:r><w:r><w:tab/><w:t>and </w:t></w:r><w:del><w:r><w:delText>white</w:delText></w:r></w:del><w:r><w:t>black &amp; 日本</w:t></w:r></w:p>",
        paragraph("Sencha", '<w:numPr><w:ilvl w:val="0"/></w:numPr>'),
        paragraph("Gyokuro", '<w:numPr><w:ilvl w:val="1"/></w:numPr>'),
        paragraph("Prices", '<w:pStyle w:val="Eigen"/>'),
        `<w:tbl><w:tr>${cell("Name")}${cell("Price")}</w:tr><w:tr>${cell("Sencha")}${cell("5 | 6")}</w:tr></w:tbl>`,
        "<mc:AlternateContent><mc:Choice><w:p><w:r><w:t>In a box</w:t></w:r></w:p></mc:Choice><mc:Fallback><w:p><w:r><w:t>In a box</w:t></w:r></w:p></mc:Fallback></mc:AlternateContent>"
      ].join("")
      const note = (text: string) => `<w:notes xmlns:w="w">${paragraph(text)}</w:notes>`
      const file = docx(body, { styles, footnotes: note("A note."), comments: note("A comment.") })
      assert.deepStrictEqual(yield* read("docx", file), [
        { form: "markdown", heading: "Tea", text: "Tea\n\nBefore all." },
        {
          form: "markdown",
          heading: "Tea > Kinds",
          text: "Kinds\n\nGreen\tand black & 日本\n\n- Sencha\n  - Gyokuro"
        },
        {
          form: "markdown",
          heading: "Tea > Kinds > Prices",
          text: "Prices\n\n| Name | Price |\n| --- | --- |\n| Sencha | 5 \\| 6 |\n\nIn a box"
        },
        { form: "markdown", heading: "Footnotes", text: "A note." },
        { form: "markdown", heading: "Comments", text: "A comment." }
      ])
    })
  )

  it.live("cells over several columns, and nothing of what was moved away or tells how others are read", () =>
    Effect.gen(function* () {
      const cell = (text: string, span = "") => `<w:tc><w:tcPr>${span}</w:tcPr>${paragraph(text)}</w:tc>`
      const run = (text: string) => `<w:r><w:t>${text}</w:t></w:r>`
      const body = [
        `<w:p><w:moveFrom>${run("Moved. ")}</w:moveFrom>${run("Stays. ")}<w:moveTo>${run("Moved.")}</w:moveTo></w:p>`,
        `<w:p><w:r><w:ruby><w:rt>${run("にほん")}</w:rt><w:rubyBase>${run("日本")}</w:rubyBase></w:ruby></w:r></w:p>`,
        `<w:tbl><w:tr>${cell("Both", '<w:gridSpan w:val="2"/>')}${cell("Third")}</w:tr><w:tr>${cell("a")}${cell("b")}${cell("c")}</w:tr></w:tbl>`
      ].join("")
      assert.deepStrictEqual(yield* read("docx", docx(body)), [
        {
          form: "markdown",
          text: "Stays. Moved.\n\n日本\n\n| Both |  | Third |\n| --- | --- | --- |\n| a | b | c |"
        }
      ])
    })
  )

  it.live("text boxes after the paragraph that has them, which keeps its own style", () =>
    Effect.gen(function* () {
      const box = (paragraphs: string) => `<w:r><w:txbxContent>${paragraphs}</w:txbxContent></w:r>`
      const run = (text: string) => `<w:r><w:t>${text}</w:t></w:r>`
      const heading = (level: number) => `<w:pPr><w:outlineLvl w:val="${level}"/></w:pPr>`
      const table = `<w:tbl><w:tr><w:tc>${paragraph("In a cell")}</w:tc></w:tr></w:tbl>`
      const body = [
        `<w:p>${heading(0)}${box(paragraph("In a box") + table)}${run("Chapter")}</w:p>`,
        `<w:p>${run("Before ")}${box(`<w:p>${heading(1)}${run("Title of a box")}</w:p>`)}${run("and after.")}</w:p>`
      ].join("")
      assert.deepStrictEqual(yield* read("docx", docx(body)), [
        { form: "markdown", heading: "Chapter", text: "Chapter\n\nIn a box\n\nIn a cell\n\nBefore and after." },
        { form: "markdown", heading: "Chapter > Title of a box", text: "Title of a box" }
      ])
    })
  )

  it.live("what tracked changes leave, and a paragraph that was taken out of its list", () =>
    Effect.gen(function* () {
      const before = '<w:pPr><w:outlineLvl w:val="0"/><w:numPr><w:ilvl w:val="0"/></w:numPr></w:pPr>'
      const deleted = "<w:del><w:r><w:noBreakHyphen/><w:delText>white</w:delText></w:r></w:del>"
      const body = [
        paragraph("No heading any more", `<w:pPrChange>${before}</w:pPrChange>`),
        paragraph("No item", '<w:numPr><w:ilvl w:val="0"/><w:numId w:val="0"/></w:numPr>'),
        `<w:p><w:r><w:t>Green</w:t></w:r>${deleted}<w:r><w:t> tea</w:t></w:r></w:p>`
      ].join("")
      assert.deepStrictEqual(yield* read("docx", docx(body)), [
        { form: "markdown", text: "No heading any more\n\nNo item\n\nGreen tea" }
      ])
    })
  )

  it.live(
    "parts whose names are written in other letters, or with percent signs, than where they are referred to",
    () =>
      Effect.gen(function* () {
        const file = zip([
          {
            name: "_Rels/.rels",
            data: '<R><Relationship Id="r" Type="x/officeDocument" Target="Word/My%20Text.xml"/></R>'
          },
          { name: "word/my%20text.XML", data: `<w:document xmlns:w="w">${paragraph("Tea")}</w:document>` }
        ])
        assert.deepStrictEqual(yield* read("docx", file), [{ form: "markdown", text: "Tea" }])
      })
  )

  it.live("a document of 1997", () =>
    Effect.gen(function* () {
      const sections = yield* read("doc", doc("Old tea\rGrüße, 日本語\r"))
      assert.deepStrictEqual(sections, [{ form: "prose", text: "Old tea\n\nGrüße, 日本語" }])
    })
  )

  it.live("a new document under an old name, and an old one under a new name", () =>
    Effect.gen(function* () {
      assert.deepStrictEqual(yield* read("doc", docx(paragraph("New"))), [{ form: "markdown", text: "New" }])
      assert.deepStrictEqual(yield* read("docx", doc("Old\r")), [{ form: "prose", text: "Old" }])
    })
  )
})

describe("PowerPoint", () => {
  it.live("slides as they are shown, with tables and notes, without numbers and footers", () =>
    Effect.gen(function* () {
      const table =
        "<a:tbl><a:tr><a:tc><a:p><a:r><a:t>Name</a:t></a:r></a:p></a:tc><a:tc><a:p><a:r><a:t>Price</a:t></a:r></a:p></a:tc></a:tr>" +
        "<a:tr><a:tc><a:p><a:r><a:t>Sencha</a:t></a:r></a:p></a:tc><a:tc><a:p><a:r><a:t>5</a:t></a:r></a:p></a:tc></a:tr></a:tbl>"
      const file = pptx([
        { xml: shape("First", "ctrTitle") + shape("A line") + shape("7", "sldNum") + shape("Footer", "ftr") },
        { xml: shape("Second", "title") + table, notes: shape("Say this") }
      ])
      assert.deepStrictEqual(yield* read("pptx", file), [
        { form: "markdown", slide: 1, heading: "First", text: "First\n\nA line" },
        {
          form: "markdown",
          slide: 2,
          heading: "Second",
          text: "Second\n\n| Name | Price |\n| --- | --- |\n| Sencha | 5 |"
        },
        { form: "prose", slide: 2, heading: "Second > Notes", text: "Say this" }
      ])
    })
  )

  it.live("what stands a second time for old programs is read once", () =>
    Effect.gen(function* () {
      const twice = `<mc:AlternateContent><mc:Choice>${shape("E = mc²")}</mc:Choice><mc:Fallback>${shape("E = mc²")}</mc:Fallback></mc:AlternateContent>`
      const [slide] = yield* read("pptx", pptx([{ xml: shape("Title", "title") + twice }]))
      assert.strictEqual(slide?.["text"], "Title\n\nE = mc²")
    })
  )

  it.live("a table after the number of a slide, which fills no placeholder", () =>
    Effect.gen(function* () {
      const cell = "<a:tc><a:p><a:r><a:t>Sencha</a:t></a:r></a:p></a:tc>"
      const table = `<p:graphicFrame><p:nvPr/><a:tbl><a:tr>${cell}</a:tr></a:tbl></p:graphicFrame>`
      const [slide] = yield* read("pptx", pptx([{ xml: shape("Prices", "title") + shape("7", "sldNum") + table }]))
      assert.strictEqual(slide?.["text"], "Prices\n\nSencha")
    })
  )

  it.live("numbers in an old presentation", () =>
    Effect.gen(function* () {
      const [slide] = yield* read("ppt", ppt([{ title: "Prices", box: "12" }]))
      assert.strictEqual(slide?.["text"], "Prices\n\n12")
    })
  )

  it.live("a presentation of 1997", () =>
    Effect.gen(function* () {
      const file = ppt([
        { title: "Alt 日本", box: "In a box", notes: "Say this" },
        { title: "Second", box: "Second" }
      ])
      assert.deepStrictEqual(yield* read("ppt", file), [
        { form: "prose", slide: 1, heading: "Alt 日本", text: "Alt 日本\n\nIn a box" },
        { form: "prose", slide: 1, heading: "Alt 日本 > Notes", text: "Say this" },
        { form: "prose", slide: 2, heading: "Second", text: "Second" }
      ])
    })
  )
})

describe("Excel", () => {
  it.live("sheets with shared texts, dates, percentages, results of formulas and gaps", () =>
    Effect.gen(function* () {
      const styles = `<styleSheet><numFmts><numFmt numFmtId="164" formatCode="yyyy&quot;d&quot;"/><numFmt numFmtId="165" formatCode="&quot;day&quot; 0"/></numFmts>
        <cellXfs><xf numFmtId="0"/><xf numFmtId="14"/><xf numFmtId="10"/><xf numFmtId="164"/><xf numFmtId="165"/></cellXfs></styleSheet>`
      const sharedStrings =
        "<sst><si><t>Name</t></si><si><r><t>Sen</t></r><r><t>cha</t></r><rPh><t>センチャ</t></rPh></si></sst>"
      const rows = `<row r="3"><c r="A3" t="s"><v>0</v></c><c r="B3" t="inlineStr"><is><t>When</t></is></c><c r="D3" t="str"><v>Sum</v></c></row>
        <row r="5"><c r="A5" t="s"><v>1</v></c><c r="B5" s="1"><v>46053</v></c><c r="D5" t="n"><f>SUM(A1:A9)</f><v>12.5</v></c></row>
        <row r="6"><c r="A6" t="b"><v>1</v></c><c r="B6" s="2"><v>0.256</v></c><c r="C6" s="3"><v>46053.75</v></c><c r="D6" s="4"><v>3</v></c></row>`
      const file = xlsx({ Tea: rows, Empty: "" }, { styles, sharedStrings })
      assert.deepStrictEqual(yield* read("xlsx", file), [
        {
          form: "table",
          sheet: "Tea",
          row: 3,
          text: "Name | When |  | Sum\nSencha | 2026-01-31 |  | 12.5\nTRUE | 25.6% | 2026-01-31 18:00 | 3"
        }
      ])
    })
  )

  it.live("characters that are written as codes, formats with free room, and rows with impossible numbers", () =>
    Effect.gen(function* () {
      const styles = `<styleSheet><numFmts><numFmt numFmtId="164" formatCode="#,##0.00 _D_M"/><numFmt numFmtId="165" formatCode="*d0"/></numFmts>
        <cellXfs><xf numFmtId="0"/><xf numFmtId="164"/><xf numFmtId="165"/></cellXfs></styleSheet>`
      const sharedStrings = "<sst><si><t>one_x000D_\ntwo</t></si></sst>"
      const rows = `<row r="1.5"><c t="s"><v>0</v></c><c t="inlineStr"><is><t>_x005F_x000D_</t></is></c></row>
        <row r="1e999"><c s="1"><v>46053</v></c><c s="2"><v>3</v></c></row>`
      assert.deepStrictEqual(yield* read("xlsx", xlsx({ Codes: rows }, { styles, sharedStrings })), [
        { form: "table", sheet: "Codes", row: 1, text: "one two | _x000D_\n46053 | 3" }
      ])
    })
  )

  it.live("durations, and formulas that were never computed", () =>
    Effect.gen(function* () {
      const styles = `<styleSheet><numFmts><numFmt numFmtId="164" formatCode="[h]:mm"/><numFmt numFmtId="165" formatCode="[Red]0.0"/></numFmts>
        <cellXfs><xf numFmtId="0"/><xf numFmtId="164"/><xf numFmtId="46"/><xf numFmtId="165"/></cellXfs></styleSheet>`
      const rows = `<row r="1"><c r="A1" s="1"><v>1.2534722222222223</v></c><c r="B1" s="2"><v>-0.0006944444</v></c><c r="C1" s="3"><v>7.5</v></c>
        <c r="D1"><f>SUM(A1:B1)</f></c><c r="E1"><f>1+2</f><v>3</v></c></row>`
      const [sheet] = yield* read("xlsx", xlsx({ Times: rows }, { styles }))
      assert.strictEqual(sheet?.["text"], "30:05 | -0:01 | 7.5 | =SUM(A1:B1) | 3")
    })
  )

  it.live("a workbook of 1997 with a document inside, and a document with a workbook", () =>
    Effect.gen(function* () {
      const [sheet] = yield* read("xls", withEmbedded(xls({ Tea: [["Sencha"]] }), "WordDocument"))
      assert.strictEqual(sheet?.["text"], "Sencha")
      const [text] = yield* read("doc", withEmbedded(doc("Sencha\r"), "Workbook"))
      assert.strictEqual(text?.["text"], "Sencha")
    })
  )

  it.live("a workbook of 1997 with long numbers and errors", () =>
    Effect.gen(function* () {
      const file = xls({ Sums: [[123_456_789_012_345, 0.1, { t: "e", v: 7 }]] })
      const [sheet] = yield* read("xls", file)
      assert.strictEqual(sheet?.["text"], "123456789012345 | 0.1 | #DIV/0!")
    })
  )

  it.live("a page and an XML sheet under the name of an old workbook", () =>
    Effect.gen(function* () {
      const page = utf8(
        "<html><body><table><tr><th>Name</th><th>Price</th></tr><tr><td>Tea</td><td>5</td></tr></table>"
      )
      const [table] = yield* read("xls", page)
      assert.strictEqual(table?.["text"], "| Name | Price |\n| --- | --- |\n| Tea | 5 |")
      const row = ["Name", "Tea"]
        .map((text) => `<Row><Cell><Data ss:Type="String">${text}</Data></Cell></Row>`)
        .join("")
      const xml = `<?xml version="1.0"?><?mso-application progid="Excel.Sheet"?>
        <Workbook xmlns="urn:schemas-microsoft-com:office:spreadsheet" xmlns:ss="urn:schemas-microsoft-com:office:spreadsheet">
        <Worksheet ss:Name="Kinds"><Table>${row}</Table></Worksheet></Workbook>`
      assert.deepStrictEqual(yield* read("xls", utf8(xml)), [
        { form: "table", sheet: "Kinds", row: 1, text: "Name\nTea" }
      ])
    })
  )

  it.live("a workbook of 1997", () =>
    Effect.gen(function* () {
      const file = xls({
        Tea: [
          ["Name", "Price"],
          ["Sencha", 5.5]
        ],
        Empty: [],
        Übersicht: [["日本語"]]
      })
      assert.deepStrictEqual(yield* read("xls", file), [
        { form: "table", sheet: "Tea", row: 1, text: "Name | Price\nSencha | 5.5" },
        { form: "table", sheet: "Übersicht", row: 1, text: "日本語" }
      ])
    })
  )
})

describe("PDF", () => {
  it.live("with zeros behind its end is whole", () =>
    Effect.gen(function* () {
      const file = pdf([[{ text: "Tea.", x: 72, y: 720 }]])
      const [page] = yield* read("pdf", Uint8Array.from([...file, ...new Uint8Array(9_000)]))
      assert.deepInclude(page, { page: 1, text: "Tea." })
    })
  )

  it.live("pages with headings, paragraphs, tables and hyphens", () =>
    Effect.gen(function* () {
      const file = pdf([
        [
          { text: "All about tea", x: 72, y: 720, size: 18 },
          { text: "Tea is a drink that is made of lea-", x: 72, y: 690 },
          { text: "ves and hot water.", x: 72, y: 676 },
          { text: "Another paragraph.", x: 72, y: 640 },
          { text: "Sencha", x: 72, y: 600 },
          { text: "5 EUR", x: 300, y: 600 }
        ],
        [{ text: "The second page.", x: 72, y: 720 }]
      ])
      assert.deepStrictEqual(yield* read("pdf", file), [
        {
          form: "prose",
          page: 1,
          heading: "All about tea",
          text: "All about tea\n\nTea is a drink that is made of leaves and hot water.\n\nAnother paragraph.\n\nSencha | 5 EUR"
        },
        { form: "prose", page: 2, heading: "All about tea", text: "The second page." }
      ])
    })
  )

  const turns = [
    ["0 1 -1 0", (x: number, y: number) => ({ x: 612 - y, y: x })],
    ["-1 0 0 -1", (x: number, y: number) => ({ x: 612 - x, y: 792 - y })],
    ["0 -1 1 0", (x: number, y: number) => ({ x: y, y: 792 - x })]
  ] as const
  it.live.each(turns)("a page turned by %s", ([matrix, place]) =>
    Effect.gen(function* () {
      const lines = ["The first line", "The second line", "The third line"]
      const [section] = yield* read(
        "pdf",
        pdf([lines.map((text, index) => ({ text, matrix, ...place(72, 500 - index * 14) }))])
      )
      assert.strictEqual(section?.["text"], lines.join("\n"))
    })
  )

  it.live("two columns one after the other", () =>
    Effect.gen(function* () {
      const column = (side: string, x: number) =>
        Array.from({ length: 10 }, (_, index) => ({
          text: `${side} line ${index} with enough words to be prose`,
          x,
          y: 700 - index * 14
        }))
      const [left, right] = [column("left", 50), column("right", 320)]
      const mixed = left.flatMap((line, index) => [line, ...right.slice(index, index + 1)])
      const [section] = yield* read("pdf", pdf([mixed]))
      const text = String(section?.["text"])
      assert.isBelow(text.indexOf("left line 9"), text.indexOf("right line 0"))
      assert.notInclude(text, "|")
    })
  )

  const named = [
    ["90ms-RKSJ-H", "Japan1", "93fa967b8cea82cc8365", "日本語のテ"],
    ["UniJIS-UCS2-H", "Japan1", "65e5672c8a9e", "日本語"],
    ["EUC-H", "Japan1", "c6fccbdcb8ec", "日本語"],
    ["Identity-H", "Japan1", "034b034d", "あい"],
    ["GBK-EUC-H", "GB1", "d6d0cec4", "中文"],
    ["ETen-B5-H", "CNS1", "a4a4a4e5", "中文"],
    ["KSCms-UHC-H", "Korea1", "c7d1b1db", "한글"]
  ] as const
  it.live.each(named)(
    "a font that is not in the file, with the codes of %s for %s",
    ([encoding, ordering, codes, text]) =>
      Effect.gen(function* () {
        const escaped = codes.replaceAll(
          /../gu,
          (byte) => `\\${Number.parseInt(byte, 16).toString(8).padStart(3, "0")}`
        )
        const file = pdf([[{ text: escaped, x: 72, y: 720 }]], "", "", [], namedFont(encoding, ordering))
        const [section] = yield* read("pdf", file)
        assert.deepStrictEqual(section, { form: "prose", page: 1, text })
      })
  )

  it.live("such a font without the package that has its table is refused", () =>
    Effect.gen(function* () {
      const codes = { text: "\\223\\372", x: 72, y: 720 }
      const file = pdf([[codes]], "", "", [], namedFont("90ms-RKSJ-H", "Japan1"))
      const refused = yield* Effect.flip(extract("pdf", file))
      assert.strictEqual(refused._tag === "ExtractionFailed" && refused.reason, "unsupported")
      assert.include(refused.message, "the server needs the package pdfjs-dist")
      const both = pdf(
        [
          [
            { ...codes, font: "F2" },
            { text: "Tea", x: 72, y: 600 }
          ]
        ],
        "",
        "",
        [namedFont("90ms-RKSJ-H", "Japan1")]
      )
      assert.strictEqual((yield* Effect.flip(extract("pdf", both))).message, refused.message)
    }).pipe(Effect.provide(FileExtractor.layer({ isInstalled: (name) => name !== "pdfjs-dist" })))
  )

  it.live("a page without text gives nothing", () =>
    Effect.gen(function* () {
      assert.deepStrictEqual(yield* read("pdf", pdf([[]])), [])
    })
  )

  it.live("words and columns from right to left", () =>
    Effect.gen(function* () {
      // The codes of A to Z are the letters of Hebrew. A file has them in the order in which they stand on the page.
      const codes =
        "begincmap 1 begincodespacerange <00> <ff> endcodespacerange 1 beginbfrange <41> <5a> <05d0> endbfrange endcmap"
      const font = "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding /ToUnicode 7 0 R >>"
      const hebrew = (text: string, x: number, y: number, size = 11) => ({ text, x, y, size, font: "F2" as const })
      const column = (letter: string, x: number) =>
        Array.from({ length: 10 }, (_, index) => hebrew(`${letter}AAAA`.repeat(5), x, 600 - index * 14))
      const file = pdf(
        [
          [
            hebrew("CBA", 300, 720),
            hebrew("FED", 270, 720, 12),
            { text: "2026", x: 240, y: 720 },
            hebrew("IHG", 100, 720),
            ...column("L", 50),
            ...column("R", 320)
          ]
        ],
        "",
        "",
        [font, `<< /Length ${codes.length} >>\nstream\n${codes}\nendstream`]
      )
      const text = String((yield* read("pdf", file))[0]?.["text"])
      assert.strictEqual(text.split("\n")[0], "אבג דהו 2026 | זחט")
      assert.isBelow(text.lastIndexOf("ס"), text.indexOf("כ"))
    })
  )

  it.live("two columns of a page that shows a part of its sheet", () =>
    Effect.gen(function* () {
      const column = (side: string, x: number) =>
        Array.from({ length: 10 }, (_, index) => ({
          text: `${side} line ${index} with enough words to be prose`,
          size: 6,
          x,
          y: 700 - index * 8
        }))
      const box = ">> /CropBox [306 0 612 792] /Unused <<"
      const [section] = yield* read("pdf", pdf([[...column("left", 312), ...column("right", 470)]], "", box))
      const text = String(section?.["text"])
      assert.isBelow(text.indexOf("left line 9"), text.indexOf("right line 0"))
      assert.notInclude(text, "|")
    })
  )
})

describe("HTML", () => {
  it.live("tables inside of tables, as old pages and letters are laid out", () =>
    Effect.gen(function* () {
      const inner = "<table><tr><td>Sencha</td><td>5</td></tr><tr><td>Gyokuro</td><td>9</td></tr></table>"
      const html = `<table><tr><td>Menu</td><td>Our prices: ${inner}</td></tr><tr><td>Foot</td><td>Bye</td></tr></table><p>After.</p>`
      const [section] = yield* read("html", utf8(html))
      assert.strictEqual(
        section?.["text"],
        "| Menu | Our prices: Sencha, 5; Gyokuro, 9 |\n| --- | --- |\n| Foot | Bye |\n\nAfter."
      )
    })
  )

  it.live("an empty item marks nothing after its list", () =>
    Effect.gen(function* () {
      const [section] = yield* read("html", utf8("<ul><li>one</li><li></li></ul><p>After.</p>"))
      assert.strictEqual(section?.["text"], "- one\n\nAfter.")
    })
  )

  it.live("what a reader sees", () =>
    Effect.gen(function* () {
      const html = `<!doctype html><html><head><title>T</title><style>p{}</style></head><body><nav>Menu</nav>
        <h1>Tea</h1><p>Green &amp; <b>black</b>.<br>More.</p><script>alert("x")</script><p hidden>no</p>
        <ul><li>one<ul><li><p>inner</p></li></ul></li><li>two</li></ul>
        <h2>Prices</h2><table><tr><th>Name</th><th>Price</th></tr><tr><td>Sencha</td><td>5</td></tr></table>
        <pre>  a\n    b</pre><img alt="A cup" src="http://127.0.0.1:1/x.png"></body></html>`
      assert.deepStrictEqual(yield* read("html", utf8(html)), [
        {
          form: "markdown",
          heading: "Tea",
          text: "Tea\n\nGreen & black.\n\nMore.\n\n- one\n  - inner\n- two"
        },
        {
          form: "markdown",
          heading: "Tea > Prices",
          text: "Prices\n\n| Name | Price |\n| --- | --- |\n| Sencha | 5 |\n\n  a\n    b\n\nA cup"
        }
      ])
    })
  )
})

const utf32 = (text: string, isLittle = true): Uint8Array => {
  const codes = [0xfeff, ...Array.from(text, (character) => character.codePointAt(0) ?? 0)]
  const view = new DataView(new ArrayBuffer(codes.length * 4))
  codes.forEach((code, index) => view.setUint32(index * 4, code, isLittle))
  return new Uint8Array(view.buffer)
}

describe("text", () => {
  const forms = {
    txt: "prose",
    md: "markdown",
    markdown: "markdown",
    json: "code",
    xml: "code",
    py: "code",
    sql: "code"
  }
  it.live.each(Object.entries(forms))(".%s as %s", ([extension, form]) =>
    Effect.gen(function* () {
      assert.deepStrictEqual(yield* read(extension, utf8("a\r\nb 日本")), [{ form, text: "a\nb 日本" }])
    })
  )

  it.live("tables and lines begin in row 1", () =>
    Effect.gen(function* () {
      assert.deepStrictEqual(yield* read("csv", utf8("a,b\n1,2")), [{ form: "table", row: 1, text: "a,b\n1,2" }])
      assert.deepStrictEqual(yield* read("jsonl", utf8("{}\n{}")), [{ form: "lines", row: 1, text: "{}\n{}" }])
      // Excel for Mac ends the lines of a table so.
      assert.deepStrictEqual(yield* read("csv", utf8("a,b\r1,2\r")), [{ form: "table", row: 1, text: "a,b\n1,2\n" }])
    })
  )

  it.live("XML declares nothing that anybody expands", () =>
    Effect.gen(function* () {
      const bomb = `<!DOCTYPE x [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;">]><x>&b;</x>`
      assert.deepStrictEqual(yield* read("xml", utf8(bomb)), [{ form: "code", text: bomb }])
    })
  )

  /** Texts in an encoding of their language, as bytes. */
  const russian = "Чай — напиток, получаемый варкой листа чайного куста. Его пьют во всём мире."
  const encoded: ReadonlyArray<readonly [string, Uint8Array, string]> = [
    ["UTF-8 with a mark", latin1("\xef\xbb\xbfGr\xc3\xbc\xc3\x9fe"), "Grüße"],
    ["UTF-16 with a mark", Uint8Array.from(Buffer.from("\ufeffGrüße 日本", "utf16le")), "Grüße 日本"],
    ["UTF-16 the other way round", Uint8Array.from(Buffer.from("\ufeffGrüße", "utf16le").swap16()), "Grüße"],
    ["UTF-32 with a mark", utf32("Grüße 日本 🍵"), "Grüße 日本 🍵"],
    ["UTF-32 the other way round", utf32("Grüße 🍵", false), "Grüße 🍵"],
    ["UTF-16 without a mark", Uint8Array.from(Buffer.from("Tea and coffee", "utf16le")), "Tea and coffee"],
    [
      "UTF-16 without a mark, in Russian",
      Uint8Array.from(wide("Это текст о чае.\nОн без пометки.")),
      "Это текст о чае.\nОн без пометки."
    ],
    [
      "UTF-16 without a mark the other way round, in Japanese",
      Uint8Array.from(wide("日本語のテキストです。\nお茶を飲みます。").swap16()),
      "日本語のテキストです。\nお茶を飲みます。"
    ],
    ["UTF-32 without a mark", utf32("Grüße 日本 🍵").subarray(4), "Grüße 日本 🍵"],
    ["ISO-2022-JP", latin1("\x1b$BF|K\\8l$N%F%-%9%H$G$9!#\x1b(B Tea"), "日本語のテキストです。 Tea"],
    [
      "Windows-874",
      latin1("\xb9\xd5\xe8\xa4\xd7\xcd\xe4\xbf\xc5\xec\xb7\xb4\xca\xcd\xba \xe0\xc3\xd2\xb4\xd7\xe8\xc1\xaa\xd2"),
      "นี่คือไฟล์ทดสอบ เราดื่มชา"
    ],
    [
      "Russian of DOS",
      latin1("\x91\xe2 \xe0 \xef \xaa\xae\xa4\xa8\xe0\xae\xa2\xaa\xa0 \xa4\xab\xef \xe7\xa0\xef"),
      "Ст р я кодировка для чая"
    ],
    ["Latin-1 with one accent", latin1("un caf\xe9"), "un café"],
    ["Windows-1252", latin1("\x84Gr\xfc\xdfe\x93 f\xfcr 5 \x80"), "„Grüße“ für 5 €"],
    [
      "Windows-1251",
      Uint8Array.from(russian, (character) =>
        character === "—"
          ? 0x97
          : character === "ё"
            ? 0xb8
            : character > "\u0400"
              ? character.charCodeAt(0) - 0x350
              : character.charCodeAt(0)
      ),
      russian
    ],
    [
      "Shift_JIS",
      latin1(
        "\x93\xfa\x96{\x8c\xea\x82\xcc\x83e\x83L\x83X\x83g\x82\xc5\x82\xb7\x81B\x82\xa8\x92\x83\x82\xf0\x88\xf9\x82\xdd\x82\xdc\x82\xb7\x81B"
      ),
      "日本語のテキストです。お茶を飲みます。"
    ],
    [
      "GBK",
      latin1(
        "\xd6\xd0\xce\xc4\xb5\xc4\xce\xc4\xb1\xbe\xce\xc4\xbc\xfe\xa3\xac\xce\xd2\xc3\xc7\xba\xc8\xb2\xe8\xa1\xa3\xd5\xe2\xca\xc7\xd2\xbb\xb8\xf6\xb2\xe2\xca\xd4\xa1\xa3"
      ),
      "中文的文本文件，我们喝茶。这是一个测试。"
    ]
  ]
  const declaring = [
    ["xml", "<?xml version='1.0' encoding=\"windows-1251\"?><a>", "\xf7\xe0\xe9", "</a>", "чай"],
    ["py", "#!/usr/bin/python\n# -*- coding: koi8-r -*-\n", "\xde\xc1\xca", "", "чай"],
    ["html", "<html><head><meta charset=Shift_JIS></head><body>", "\x82\xa8\x92\x83", "</body></html>", "お茶"]
  ] as const
  it.live.each(declaring)("in the encoding that a .%s file declares", ([extension, before, bytes, behind, text]) =>
    Effect.gen(function* () {
      const [section] = yield* read(extension, latin1(before + bytes + behind))
      assert.include(section?.["text"], text)
      assert.notInclude(section?.["text"], "\ufffd")
    })
  )

  it.live.each(encoded)("in %s", ([, bytes, text]) =>
    Effect.gen(function* () {
      assert.deepStrictEqual(yield* read("txt", bytes), [{ form: "prose", text }])
    })
  )

  it.live("an empty text gives nothing", () =>
    Effect.gen(function* () {
      assert.deepStrictEqual(yield* read("txt", utf8(" \n ")), [])
    })
  )
})

describe("pictures and missing packages", () => {
  const picture = utf8("a picture")

  it.live("a picture is read by the host's reader, and by nobody without one", () =>
    Effect.gen(function* () {
      const error = yield* Effect.flip(read("png", picture))
      assert.deepStrictEqual(
        [error.reason, error.message],
        ["unsupported", "This server does not extract text from pictures of this type."]
      )
      const reader = Layer.succeed(ImageReader, {
        readable: ["png"],
        read: ({ bytes, type }) => Effect.succeed(`${type.mimeType}: ${new TextDecoder().decode(bytes)}`)
      })
      const sections = yield* extract("png", picture).pipe(Effect.provide(Layer.provide(FileExtractor.layer(), reader)))
      assert.strictEqual(sections[0]?.text, "image/png: a picture")
    })
  )

  it.live("a host without a package reads all other types, and says which package it is", () =>
    Effect.gen(function* () {
      const { readable } = yield* TextExtractor
      assert.includeMembers([...readable], ["docx", "txt", "html", "py"])
      for (const extension of ["pdf", "doc", "png"]) assert.notInclude(readable, extension)
      const refused = yield* Effect.flip(extract("pdf", pdf([])))
      assert.instanceOf(refused, ExtractionFailed)
      assert.strictEqual(
        refused.message,
        "This server cannot read .pdf files, because the package unpdf is not installed."
      )
      assert.isTrue(Exit.isSuccess(yield* Effect.exit(extract("txt", utf8("tea")))))
    }).pipe(
      Effect.provide(FileExtractor.layer({ isInstalled: (name) => name !== "unpdf" && name !== "word-extractor" }))
    )
  )
})
