/** What the part of documents keeps with messages, as it is shown when documents of it are gone: names stay, and so do places by number. */
import { asList, asObject, type JsonRecord, type KeptTexts } from "../threads/RecalledTexts.ts"

export const shownDocuments: KeptTexts["shown"] = (kept, exists) => {
  const value = asObject(kept)
  if (value === null) return null
  const shown = (field: string, without: (each: JsonRecord) => JsonRecord) =>
    field in value
      ? { [field]: asList(value[field]).map((each) => (isThere(each, exists) ? each : without(each))) }
      : {}
  return {
    ...value,
    ...shown("attachments", (each) => ({ ...each, summary: null })),
    ...shown("excerpts", (each) => ({ ...each, place: { ...asObject(each["place"]), heading: null } }))
  }
}

const isThere = ({ documentId }: JsonRecord, exists: (source: string) => boolean): boolean =>
  typeof documentId === "string" && exists(documentId)
