/**
 * Reads PowerPoint files since 2007: one section for each slide in the order of the presentation, and one for its speaker notes. Charts give
 * their cached values, diagrams give their texts. Slide numbers, dates and footers are skipped.
 */
import type { Section } from "@colloquy/core/retrieval"
import { type OfficePackage, openPackage } from "./OfficePackage.ts"
import { markdownTable, oneLine, section } from "./Sections.ts"
import { walkXml } from "./Xml.ts"

export const readPptx = (bytes: Uint8Array): ReadonlyArray<Section> => {
  const office = openPackage(bytes, "PowerPoint presentation")
  return slidePaths(office).flatMap((path, index) => readSlide(office, path, index + 1))
}

/** Uses a regular expression, because the element has two attributes named `id`; the one with a prefix names the relation. */
const slidePaths = (office: OfficePackage): ReadonlyArray<string> => {
  const paths: Array<string> = []
  const { bytes, relations } = office.main
  const text = new TextDecoder().decode(bytes)
  for (const [, attributes = ""] of text.matchAll(/<(?:\w+:)?sldId\s([^<>]*)>/gu)) {
    for (const [, id = ""] of attributes.matchAll(/\w:id\s*=\s*["']([^"']*)["']/gu)) {
      const relation = relations.get(id)
      if (relation?.type === "slide") paths.push(relation.path)
    }
  }
  return paths
}

const readSlide = (office: OfficePackage, path: string, slide: number): ReadonlyArray<Section> => {
  const part = office.read(path)
  if (part === undefined) return []
  const { blocks, title } = readDrawing(office, part)
  const notes: Array<string> = []
  for (const { path: other, type } of office.readRelations(path).values()) {
    if (!["chart", "diagramData", "notesSlide"].includes(type)) continue
    const extra = office.read(other)
    if (extra !== undefined) (type === "notesSlide" ? notes : blocks).push(...readDrawing(office, extra).blocks)
  }
  const heading = title ?? blocks[0]?.split("\n")[0] ?? null
  return [
    ...section("markdown", blocks.join("\n\n"), { slide, heading }),
    ...section("prose", notes.join("\n\n"), { slide, heading: heading === null ? "Notes" : `${heading} > Notes` })
  ]
}

const readDrawing = (office: OfficePackage, part: Uint8Array) => {
  const blocks: Array<string> = []
  let title: string | undefined
  let text = ""
  let isText = false
  /** The type of the placeholder that the open shape fills: a title, a body, the number of the slide. */
  let placeholder = ""
  let field = ""
  let rows: Array<Array<string>> = []
  let cell: Array<string> | undefined
  /** How many `Fallback` elements are open; they repeat content for old programs and are skipped. */
  let repeated = 0

  const endParagraph = () => {
    const paragraph = text.trim()
    text = ""
    if (paragraph === "") return
    if (cell !== undefined) return void cell.push(oneLine(paragraph))
    if (/title/iu.test(placeholder)) title ??= oneLine(paragraph)
    blocks.push(paragraph)
  }
  const isLeftOut = () => field === "slidenum" || ["sldNum", "dt", "ftr"].includes(placeholder)

  walkXml(part, office.kind, {
    open: (name, attribute) => {
      if (name === "Fallback") repeated++
      if (repeated > 0) return
      if (name === "sp") placeholder = ""
      else if (name === "ph") placeholder = attribute("type") ?? "body"
      else if (name === "t" || name === "v") isText = true
      else if (name === "br") text += "\n"
      else if (name === "fld") field = attribute("type") ?? ""
      else if (name === "tbl") rows = []
      else if (name === "tr") rows.push([])
      else if (name === "tc") cell = []
    },
    text: (piece) => {
      if (isText && repeated === 0 && !isLeftOut()) text += piece
    },
    close: (name) => {
      if (name === "Fallback") repeated--
      else if (repeated > 0) return
      else if (name === "t") isText = false
      // A table or a picture after this shape may fill no placeholder.
      else if (name === "sp") placeholder = ""
      else if (name === "v") {
        isText = false
        text += "\t"
      } else if (name === "fld") field = ""
      else if (name === "p" || name === "ser") endParagraph()
      else if (name === "tc") {
        rows.at(-1)?.push((cell ?? []).join(" "))
        cell = undefined
      } else if (name === "tbl") blocks.push(markdownTable(rows))
    }
  })
  return { blocks: blocks.filter((block) => block !== ""), title }
}
