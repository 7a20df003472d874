/** The sources of an answer, as parts of a chat's message: excerpts of documents, web pages by their addresses. Pure. */
import type { StoredMessage } from "../wire/Records.ts"

type Metadata = Readonly<Record<string, unknown>> | null | undefined

type Recalled = Pick<StoredMessage, "citations" | "retrieved"> & {
  readonly retrieved_files: ReadonlyArray<string> | null
}

/** One part for each excerpt: its `sourceId` is the word in the marker, `d1` for `[d1]`. Answers of older versions have names of files alone. */
export const documentParts = ({ citations = [], retrieved, retrieved_files }: Recalled) =>
  retrieved === undefined
    ? (retrieved_files ?? []).map((name) => ({ ...document, sourceId: name, title: name, filename: name }))
    : retrieved.map(({ document_id, end, filename, index, page, score, start, text }) => ({
        ...document,
        sourceId: `d${index + 1}`,
        title: page === null ? filename : `${filename}, page ${page}`,
        filename,
        providerMetadata: {
          colloquy: {
            documentId: document_id,
            page,
            start,
            end,
            score,
            text,
            cited: citations
              .filter((each) => each.kind === undefined && each.index === index)
              .map(({ start: from, end: to }) => [from, to])
          }
        }
      }))

const document = { type: "source-document" as const, mediaType: "application/octet-stream" }

/** `metadata_.sources` of a message or of the end of a stream. */
export const pageParts = (metadata: Metadata) => {
  const sources = metadata?.["sources"]
  if (!Array.isArray(sources)) return []
  return sources.flatMap((source: unknown) => {
    if (typeof source !== "object" || source === null || !("url" in source) || typeof source.url !== "string") return []
    const title = "title" in source && typeof source.title === "string" ? source.title : source.url
    return [{ type: "source-url" as const, sourceId: source.url, url: source.url, title }]
  })
}
