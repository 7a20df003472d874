/**
 * Reads PowerPoint files of 1997 to 2003, which are a stream of records. A record has 2 bytes of version and instance, 2 bytes of type and 4
 * bytes of length; version 15 marks a container. PowerPoint saves changes by appending them, so the newest edit says where each slide is now.
 */
import { CFB } from "@e965/xlsx"
import type { Section } from "@colloquy/core/retrieval"
import { damaged, encrypted, Refused } from "./Refused.ts"
import { section } from "./Sections.ts"

const types = {
  slideList: 0x0ff0,
  slidePersist: 0x03f3,
  notesAtom: 0x03f1,
  wideText: 0x0fa0,
  narrowText: 0x0fa8
}

interface PptRecord {
  readonly type: number
  readonly instance: number
  readonly isContainer: boolean
  readonly from: number
  readonly to: number
}

interface Stream {
  readonly bytes: Uint8Array
  readonly view: DataView
}

export const readPpt = (file: Uint8Array): ReadonlyArray<Section> => {
  try {
    const { document, user } = openStreams(file)
    // The mark of an encrypted presentation.
    if (user.view.getUint32(12, true) === 0xf3d1c4df) throw encrypted()
    return readSlides(document, readOffsets(document, user.view.getUint32(16, true)))
  } catch (error) {
    throw error instanceof Refused ? error : damaged("PowerPoint presentation")
  }
}

const openStreams = (file: Uint8Array) => {
  const container = CFB.read(Buffer.from(file), { type: "buffer" })
  const stream = (name: string): Stream => {
    const content = CFB.find(container, name)?.content
    if (content === undefined) throw damaged("PowerPoint presentation")
    const bytes = Uint8Array.from(content)
    return { bytes, view: new DataView(bytes.buffer) }
  }
  return { document: stream("PowerPoint Document"), user: stream("Current User") }
}

/**
 * The position of each object by its number, and the number of the document. Edits are read from the newest to the oldest; `seen` ends the
 * loop if a damaged file links them in a circle.
 */
const readOffsets = ({ bytes, view }: Stream, newest: number) => {
  const offsets = new Map<number, number>()
  const seen = new Set<number>()
  let root: number | undefined
  for (
    let edit = newest;
    edit !== 0 && !seen.has(edit) && edit + 36 <= bytes.length;
    edit = view.getUint32(edit + 16, true)
  ) {
    seen.add(edit)
    root ??= view.getUint32(edit + 24, true)
    const directory = view.getUint32(edit + 20, true)
    const end = directory + 8 + view.getUint32(directory + 4, true)
    for (let at = directory + 8; at + 4 <= end;) {
      const head = view.getUint32(at, true)
      const count = head >>> 20
      for (let index = 0; index < count; index++) {
        const number = (head & 0xfffff) + index
        if (!offsets.has(number)) offsets.set(number, view.getUint32(at + 4 + index * 4, true))
      }
      at += 4 + count * 4
    }
  }
  return { offsets, root: root ?? 0 }
}

const readSlides = (document: Stream, { offsets, root }: ReturnType<typeof readOffsets>): ReadonlyArray<Section> => {
  const inside = (number: number) => {
    const offset = offsets.get(number)
    if (offset === undefined || offset + 8 > document.bytes.length) return []
    const end = Math.min(document.bytes.length, offset + 8 + document.view.getUint32(offset + 4, true))
    return records(document, offset + 8, end)
  }
  const slides: Array<{ readonly number: number; readonly id: number; readonly texts: Array<string> }> = []
  const notes = new Map<number, ReadonlyArray<string>>()
  for (const list of inside(root)) {
    if (list.type !== types.slideList) continue
    for (const record of records(document, list.from, list.to)) {
      const isText = record.type === types.wideText || record.type === types.narrowText
      if (record.type === types.slidePersist && list.instance === 0) {
        const [number, id] = [
          document.view.getUint32(record.from, true),
          document.view.getUint32(record.from + 12, true)
        ]
        slides.push({ number, id, texts: [] })
      } else if (record.type === types.slidePersist && list.instance === 2) {
        const page = inside(document.view.getUint32(record.from, true))
        const atom = page.find(({ type }) => type === types.notesAtom)
        if (atom !== undefined) notes.set(document.view.getUint32(atom.from, true), textsIn(document, page))
      } else if (isText && list.instance === 0) slides.at(-1)?.texts.push(recordText(document, record))
    }
  }
  return slides.flatMap(({ id, number, texts }, index) => {
    // Texts of placeholders are in the list, texts of text boxes are in the slide, and some texts are in both.
    const listed = new Set(texts)
    const inBoxes = textsIn(document, inside(number)).filter((text) => !listed.has(text))
    const all = [...texts, ...inBoxes].filter(isContent)
    const heading = all[0]?.split("\n")[0] ?? null
    const slide = index + 1
    const slideNotes = (notes.get(id) ?? []).filter(isContent)
    return [
      ...section("prose", all.join("\n\n"), { slide, heading }),
      ...section("prose", slideNotes.join("\n\n"), {
        slide,
        heading: heading === null ? "Notes" : `${heading} > Notes`
      })
    ]
  })
}

/** An asterisk is a placeholder for the number of the slide, the date and similar fields. */
const isContent = (text: string): boolean => text !== "" && text !== "*"

const records = ({ view }: Stream, from: number, to: number): ReadonlyArray<PptRecord> => {
  const found: Array<PptRecord> = []
  for (let at = from; at + 8 <= to;) {
    const head = view.getUint16(at, true)
    const end = at + 8 + view.getUint32(at + 4, true)
    if (end > to) break
    const type = view.getUint16(at + 2, true)
    found.push({ type, instance: head >> 4, isContainer: (head & 15) === 15, from: at + 8, to: end })
    at = end
  }
  return found
}

const deepest = 24

const textsIn = (document: Stream, from: ReadonlyArray<PptRecord>, depth = 0): ReadonlyArray<string> =>
  depth > deepest
    ? []
    : from.flatMap((record) => {
        if (record.type === types.wideText || record.type === types.narrowText) return [recordText(document, record)]
        return record.isContainer ? textsIn(document, records(document, record.from, record.to), depth + 1) : []
      })

const recordText = ({ bytes }: Stream, { from, to, type }: PptRecord): string =>
  new TextDecoder(type === types.wideText ? "utf-16le" : "latin1")
    .decode(bytes.subarray(from, to))
    .replaceAll(/[\r\v]/gu, "\n")
    .replaceAll(/[\0-\b\x0e-\x1f]/gu, "")
    .trim()
