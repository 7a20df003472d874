/** The text of a document with one excerpt marked and in view, and the way to the file itself. */
import { json } from "../api/http.ts"
import { markIn } from "../lib/marks.ts"
import { documentAddress } from "../state/documents.ts"
import { act, tell } from "../state/studio.ts"
import { html, useEffect, useLayoutEffect, useRef, useState, type View } from "../view.ts"
import type { Excerpt } from "../wire.ts"
import { Dialog } from "./Dialog.ts"

interface Chunk {
  readonly ordinal: number
  readonly text: string
  readonly heading: string | null
  readonly page: number | null
}

const most = 200

/** The chunks of a document, up to a number that a browser can show. */
const readChunks = async (documentId: string): Promise<ReadonlyArray<Chunk>> => {
  const found: Array<Chunk> = []
  while (found.length < 2000) {
    const path = `/documents/${documentId}/chunks?skip=${found.length}&limit=${most}`
    const { chunks, total } = await json<{ readonly chunks: ReadonlyArray<Chunk>; readonly total: number }>(path)
    found.push(...chunks)
    if (chunks.length === 0 || found.length >= total) break
  }
  return found
}

/** The text that is marked. Empty: all pieces are shown, and none is marked. */
type Marked = Pick<Excerpt, "document_id" | "filename" | "page" | "text">

const openFile = async ({ document_id, page }: Marked): Promise<void> => {
  window.open(`${await documentAddress(document_id)}${page === null ? "" : `#page=${page}`}`, "_blank", "noopener")
}

interface DocumentDialogProps {
  readonly excerpt: Marked
  readonly onClose: () => void
}

export const DocumentDialog = ({ excerpt, onClose }: DocumentDialogProps): View => {
  const [chunks, setChunks] = useState<ReadonlyArray<Chunk> | null>(null)
  const text = useRef<HTMLDivElement>(null)
  const quote = excerpt.text
  useEffect(() => {
    if (quote !== null) readChunks(excerpt.document_id).then(setChunks, tell)
  }, [])
  useLayoutEffect(() => text.current?.querySelector("mark")?.scrollIntoView({ block: "center" }), [chunks])
  const title = excerpt.page === null ? excerpt.filename : `${excerpt.filename}, page ${excerpt.page}`
  return html`<${Dialog} title=${title} onClose=${onClose}>
    ${
      quote === null
        ? html`<p>The document is deleted, and its text with it.</p>`
        : html`<div class="document" ref=${text} tabindex="0" role="group" aria-label="Text of ${excerpt.filename}">
            ${chunks === null ? html`<p>${quote === "" ? "The pieces are being read." : html`<mark>${quote}</mark>`}</p>` : chunks.map((chunk, index) => html`<${Piece} key=${chunk.ordinal} chunk=${chunk} before=${chunks[index - 1]} quote=${quote} />`)}
          </div>
          <div class="actions">
            <button type="button" onClick=${() => act(openFile)(excerpt)}>Open the file</button>
          </div>`
    }
  <//>`
}

interface PieceProps {
  readonly chunk: Chunk
  readonly before: Chunk | undefined
  readonly quote: string
}

const Piece = ({ before, chunk, quote }: PieceProps): View => {
  const mark = markIn(chunk.text, quote)
  return html`${chunk.page !== null && chunk.page !== before?.page && html`<h3>Page ${chunk.page}</h3>`}
    ${quote === "" && html`<p class="detail">Piece ${chunk.ordinal + 1}${chunk.heading !== null && `, ${chunk.heading}`}</p>`}
    <p dir="auto">
      ${mark === null ? chunk.text : html`${chunk.text.slice(0, mark.start)}<mark>${chunk.text.slice(mark.start, mark.end)}</mark>${chunk.text.slice(mark.end)}`}
    </p>`
}
