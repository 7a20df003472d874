/** The contract of text extractors, kept by the one that reads each file in a process of its own. */
import { textExtractorSuite } from "@colloquy/testing/contracts"
import { FileExtractor } from "../../src/files/index.ts"
import { docx, endlessPdf, paragraph, pdf, utf8, zip } from "./MadeFiles.ts"

const twoPages = pdf([[{ text: "Green tea", x: 72, y: 720 }], [{ text: "Black tea", x: 72, y: 720 }]])
const bomb = zip([
  { name: "_rels/.rels", data: '<R><Relationship Id="r" Type="x/officeDocument" Target="d.xml"/></R>' },
  { name: "d.xml", data: " ".repeat(20_000_000), claimed: 100 }
])

textExtractorSuite("FileExtractor", FileExtractor.layer({ deadline: "8 seconds" }), {
  readable: [
    [{ extension: "pdf", bytes: twoPages }, ["Green tea", "Black tea"]],
    [{ extension: "docx", bytes: docx(paragraph("Green") + paragraph("Black")) }, ["Green\n\nBlack"]]
  ],
  empty: { extension: "txt", bytes: utf8("") },
  refused: [
    ["a damaged file", { extension: "pdf", bytes: twoPages.subarray(0, 40) }],
    ["an archive that lies about its size", { extension: "docx", bytes: bomb }],
    ["a file whose reading takes too long", { extension: "pdf", bytes: endlessPdf() }]
  ],
  endless: { extension: "pdf", bytes: endlessPdf() }
})
