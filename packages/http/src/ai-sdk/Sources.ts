/** What an answer rests on, as parts of a chat's message: documents by their names, pages of the web by their addresses. Pure. */

type Metadata = Readonly<Record<string, unknown>> | null | undefined

export const documentParts = (names: ReadonlyArray<string>) =>
  names.map((name) => ({
    type: "source-document" as const,
    sourceId: name,
    title: name,
    filename: name,
    mediaType: "application/octet-stream"
  }))

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
