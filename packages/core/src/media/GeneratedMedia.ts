/**
 * A picture, clip or sound that a model made: what is known of it besides its bytes, which are a document of the thread. Every part of a
 * turn that makes media keeps them with the answer in this form and tells the reader of each. An address is no part of it: it is made
 * for each answer that shows the medium. Specification part 2, "Generated media entry".
 */
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import { DocumentId } from "../primitives/Ids.ts"
import type { LiveTurn } from "../tools/LiveTurn.ts"

export const MediaType = Schema.Literals(["image", "audio", "video"])
export type MediaType = typeof MediaType.Type

export const GeneratedMedia = Schema.Struct({
  documentId: DocumentId,
  mediaType: MediaType,
  mimeType: Schema.String,
  filename: Schema.String,
  size: Schema.Int
})
export type GeneratedMedia = typeof GeneratedMedia.Type

/** What a part that makes media keeps with an answer; it may keep more beside it. */
const KeptMedia = Schema.Struct({ media: Schema.Array(GeneratedMedia) })

const decodeKept = Schema.decodeUnknownOption(KeptMedia)

/** The media among what a part keeps with an answer, in the order in which they were made. */
export const mediaIn = (kept: Schema.Json | null | undefined): ReadonlyArray<GeneratedMedia> =>
  Option.match(decodeKept(kept), { onNone: () => [], onSome: ({ media }) => media })

/** The type of the event by which the reader learns of a medium. Its data is one `GeneratedMedia`. */
export const mediaGenerated = "media_generated"

/** The medium of a told event. */
export const mediumOf = Schema.decodeUnknownOption(GeneratedMedia)

/** Tells the reader, and keeps the medium with the answer behind those of the same part. */
export const shareMedia = (turn: LiveTurn, made: GeneratedMedia): void => {
  const kept = turn.kept()
  turn.keep(Object.assign({}, isObject(kept) ? kept : {}, { media: [...mediaIn(kept), made] }))
  turn.tell({ type: mediaGenerated, data: made })
}

const isObject = Schema.is(Schema.JsonObject)
