/**
 * A picture, video or sound that a model made: its data without the bytes, which are a document of the thread. Every part of a turn that
 * makes media keeps them with the answer in this form and tells the reader of each. An address is not included, because it is made for each
 * response that shows the medium.
 */
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import { DocumentId } from "../primitives/Ids.ts"
import type { LiveTurn } from "../tools/LiveTurn.ts"

/** The kinds of media that models make. */
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

/** The supplement of a part that makes media; it may contain more fields. */
const KeptMedia = Schema.Struct({ media: Schema.Array(GeneratedMedia) })

const decodeKept = Schema.decodeUnknownOption(KeptMedia)

/** The media in a part's supplement of an answer, in the order in which they were made. */
export const mediaIn = (kept: Schema.Json | null | undefined): ReadonlyArray<GeneratedMedia> =>
  Option.match(decodeKept(kept), { onNone: () => [], onSome: ({ media }) => media })

/** The type of the event that announces a medium. Its data is one `GeneratedMedia`. */
export const mediaGenerated = "media_generated"

/** The medium of a told event. */
export const readMedium = Schema.decodeUnknownOption(GeneratedMedia)

/** Tells the reader of the medium, and appends it to the media that the same part keeps with the answer. */
export const shareMedia = (turn: LiveTurn, made: GeneratedMedia): void => {
  const kept = turn.kept()
  turn.keep(Object.assign({}, isObject(kept) ? kept : {}, { media: [...mediaIn(kept), made] }))
  turn.tell({ type: mediaGenerated, data: made })
}

const isObject = Schema.is(Schema.JsonObject)
