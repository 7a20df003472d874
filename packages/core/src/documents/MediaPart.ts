/**
 * The part of `DocumentsPart` for files that a model sees or hears itself: which are refused before anything is stored, and which are read
 * from the blob store when a prompt is made, also for messages of earlier turns. A message stores the ids of documents, never bytes.
 */
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import type { ContentPart } from "../models/ChatRequest.ts"
import { describeModel } from "../models/ModelInfo.ts"
import { DocumentId } from "../primitives/Ids.ts"
import { onOneLine } from "../prompts/Frame.ts"
import { repeatWhileUnavailable } from "../primitives/StoreRetry.ts"
import type { Reading, TurnCase } from "../turns/TurnPart.ts"
import { TurnSettings } from "../turns/TurnSettings.ts"
import { BlobStore } from "./BlobStore.ts"
import type { Document } from "./Document.ts"
import { DocumentSettings } from "./DocumentSettings.ts"
import { DocumentStore } from "./DocumentStore.ts"
import { mediaKindFromType, type MediaUse, estimateTokens, mediaUse } from "./Media.ts"
import { PictureConverter } from "./PictureConverter.ts"

const Attached = Schema.Struct({
  attachments: Schema.Array(Schema.Struct({ documentId: DocumentId, filename: Schema.String, mimeType: Schema.String }))
})
const readAttached = Schema.decodeUnknownOption(Attached)

export interface MediaDecision {
  /** The indexes of the refused attachments, with the reasons. */
  readonly problems: ReadonlyArray<{ readonly path: ReadonlyArray<string | number>; readonly message: string }>
  /** The tokens of the media that are sent. */
  readonly tokens: number
}

export const makeMedia = Effect.gen(function* () {
  const documents = yield* DocumentStore
  const blobs = yield* BlobStore
  const converter = yield* PictureConverter
  const { pictureBytes, pictureSide } = yield* DocumentSettings
  const { mediaBytes } = yield* TurnSettings
  const limits = { picture: pictureBytes, prompt: mediaBytes }

  const decide = (
    { info, model, provider, request }: TurnCase,
    attachments: ReadonlyArray<Document>
  ): MediaDecision => {
    // The message is only saved.
    if (request.sendToModel === false) return { problems: [], tokens: 0 }
    const asked = info ?? describeModel({ name: model ?? provider, provider, modelType: "llm" })
    const uses = attachments.map((document) => mediaUse(document, asked, limits, converter))
    const refused = uses.flatMap((use, index) =>
      use._tag === "Refused" ? [{ path: ["attachments", index], message: use.message }] : []
    )
    const sent = uses.filter((use) => use._tag === "Sent")
    const bytes = sent.reduce((sum, use) => sum + use.bytes, 0)
    const tooMuch =
      bytes > mediaBytes
        ? [
            {
              path: ["attachments"],
              message: `The files of this message have ${bytes} bytes together; a model is sent at most ${mediaBytes}.`
            }
          ]
        : []
    return { problems: [...refused, ...tooMuch], tokens: sent.reduce((sum, use) => sum + estimateTokens(use), 0) }
  }

  const readBytes = Effect.fnUntraced(function* (document: Document, { isConverted }: Sent) {
    const bytes = yield* Stream.mkUint8Array(blobs.get(document.blobId))
    if (!isConverted || converter === null) return { mimeType: document.mimeType, bytes }
    return yield* converter.convert({ mimeType: document.mimeType, bytes }, { bytes: pictureBytes, side: pictureSide })
  })

  const rendered = Effect.fnUntraced(function* (document: Document, { info, room }: Reading) {
    const use = mediaUse(document, info, limits, converter)
    if (use._tag !== "Sent") return absent(document, "This model does not accept files of this type.")
    if (use.bytes > room) return absent(document, "There is no more room for it.")
    const { bytes, mimeType } = yield* readBytes(document, use)
    if (bytes.length > room) return absent(document, "There is no more room for it.")
    const part: ContentPart = { type: use.kind, mediaType: mimeType, filename: document.filename, source: { bytes } }
    return part
  })

  /** Reads one file after the other, so that only the bytes of files that are sent are in memory. */
  const render = Effect.fnUntraced(function* (supplement: Schema.Json, reading: Reading) {
    const files = Option.match(readAttached(supplement), {
      onNone: () => [],
      onSome: ({ attachments }) => attachments.filter(({ mimeType }) => mediaKindFromType(mimeType) !== null)
    })
    if (files.length === 0) return []
    const found = yield* repeatWhileUnavailable(
      documents.getMany(files.map(({ documentId }) => documentId)),
      readingTime
    )
    const parts: Array<ContentPart> = []
    let { room } = reading
    for (const file of files) {
      const document = found.find(({ id }) => id === file.documentId)
      const part =
        document === undefined
          ? absent(file, "It was deleted.")
          : yield* repeatWhileUnavailable(rendered(document, { ...reading, room }), readingTime).pipe(
              Effect.catchTags({
                BlobNotFound: () => Effect.succeed(absent(file, "It was deleted.")),
                PictureUnreadable: ({ sentence }) => Effect.succeed(absent(file, sentence))
              })
            )
      parts.push(part)
      if (part.type !== "text" && "bytes" in part.source) room -= part.source.bytes.length
    }
    return parts
  })

  return {
    decide,
    render: (supplement: Schema.Json, reading: Reading) =>
      Effect.catchTag(render(supplement, reading), "StoreUnavailable", (unavailable) =>
        Effect.as(Effect.logWarning("Files of a message could not be read for a prompt", unavailable), [unread])
      )
  }
})

type Sent = Extract<MediaUse, { readonly _tag: "Sent" }>

/** How long the store is asked again: without the files, the model would answer as if none had been sent. */
const readingTime = "5 seconds"

/** Tells the model which file it does not get. */
const absent = ({ filename, mimeType }: Pick<Document, "filename" | "mimeType">, because: string): ContentPart => ({
  type: "text",
  text: `["${onOneLine(filename)}" (${mimeType}) was attached here and is not shown. ${because}]`
})

const unread: ContentPart = { type: "text", text: "[Files were attached here. They cannot be read at the moment.]" }
