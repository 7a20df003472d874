/** Documents: the files of a message, and the excerpts that an answer was given. Their endpoints are in `DocumentsApi`. */
import { documentsPartName, retrievedIn } from "@colloquy/core/wings"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import type { UrlOf } from "../links/Links.ts"
import { notAvailable, type RawFields } from "../bodies/RawFields.ts"
import type { Wing } from "./Wing.ts"

const title = "Attaching files"

const isAsked = ({ attachments }: RawFields): boolean => Array.isArray(attachments) && attachments.length > 0

/** The supplement of a user's message. */
const Attached = Schema.Struct({
  attachments: Schema.Array(
    Schema.Struct({
      documentId: Schema.String,
      filename: Schema.String,
      mimeType: Schema.String,
      size: Schema.Int,
      status: Schema.String,
      summary: Schema.NullOr(Schema.String)
    })
  )
})

/** The supplement of an answer. */
const Recalled = Schema.Struct({ files: Schema.Array(Schema.String) })

const readAttached = Schema.decodeUnknownOption(Attached)
const readRecalled = Schema.decodeUnknownOption(Recalled)

const attachmentsToWire = (kept: Schema.Json | null, urlOf: UrlOf) =>
  Option.match(readAttached(kept), {
    onNone: () => null,
    onSome: ({ attachments }) =>
      attachments.map(({ documentId, filename, mimeType, size, status, summary }) => ({
        document_id: documentId,
        filename,
        status,
        file_size_bytes: size,
        summary,
        mime_type: mimeType,
        url: urlOf(documentId)
      }))
  })

const retrievedToWire = (kept: Schema.Json | null) =>
  retrievedIn({ [documentsPartName]: kept }).map(({ documentId, end, filename, index, page, score, start, text }) => ({
    index,
    document_id: documentId,
    filename,
    page,
    start,
    end,
    score,
    text
  }))

export const documentsWing: Wing = {
  part: documentsPartName,
  message: {
    concerns: ["attachments"],
    asked: (fields) => (isAsked(fields) ? [{ path: ["attachments"], title }] : []),
    problems: (_fields, { files }, installed) =>
      installed.has(documentsPartName)
        ? []
        : files.filter(({ field }) => field === "files").map((_file, index) => notAvailable(["files", index], title)),
    // The files that came with the message are added when they have become documents.
    options: ({ attachments }) => ({ attachments: attachments ?? [] })
  },
  fields: ({ answer, userMessage }, urlOf) => {
    const files = Option.getOrNull(readRecalled(answer))?.files ?? null
    const retrieved = retrievedToWire(answer)
    return {
      ...(retrieved.length === 0 ? {} : { added: { retrieved } }),
      attachments: attachmentsToWire(userMessage, urlOf),
      retrieved_files: files,
      retrieved_files_count: files?.length ?? 0
    }
  }
}
