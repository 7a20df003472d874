/** The wing `documents`: files that users attach, their bytes and their text. `ARCHITECTURE.md` explains how it joins a turn. */
import * as Layer from "effect/Layer"
import { wingLayers } from "../primitives/WingLayer.ts"
import { Retrieval } from "../retrieval/Retrieval.ts"
import { Documents as UseCases } from "./Documents.ts"
import { defaultDocumentSummaries, DocumentSettings } from "./DocumentSettings.ts"
import { documentsLayer } from "./DocumentsLayer.ts"
import { documentsPart } from "./DocumentsPart.ts"

export { BlobNotFound, BlobStore, type ByteRange, type StoredBytes } from "./BlobStore.ts"
export { cutText } from "./CutText.ts"
export { copyDocument, Document, DocumentNotFound, DocumentScope, DocumentStatus } from "./Document.ts"
export {
  type DocumentScopeId,
  type DocumentSearch,
  type DocumentsFound,
  type FoundExcerpt,
  type Upload
} from "./Documents.ts"
export { type DocumentAddresses, DocumentLinks, NoPublicAddress } from "./DocumentLinks.ts"
export { documentsPartName } from "./DocumentWork.ts"
export { ExcerptOptions } from "./ExcerptOptions.ts"
export {
  defaultDocumentSettings,
  defaultDocumentSummaries,
  type DocumentSettings,
  type DocumentSummarySettings
} from "./DocumentSettings.ts"
export {
  type Attempt,
  type AttemptStarted,
  type DocumentFilter,
  type DocumentListing,
  DocumentStore,
  type DocumentSurvey,
  type IndexingOutcome,
  type Progress,
  type AddressedDocument,
  type OwnedDocument
} from "./DocumentStore.ts"
export {
  acceptedExtensions,
  decideFileType,
  readExtension,
  FileEmpty,
  type FileFamily,
  type FileType,
  fileTypeForExtension,
  FileTypeUnsupported,
  headLength,
  type UploadPurpose
} from "./FileType.ts"
export {
  PictureConverter,
  type PictureConverterPort,
  type PictureLimits,
  type Picture,
  PictureUnreadable
} from "./PictureConverter.ts"
export { retrievedIn, type RetrievedExcerpt } from "./KeptDocuments.ts"
export { documentSummaries } from "./SummarizeDocument.ts"
export { FilesNotReady, makeStartWithFiles, type StartWithFiles } from "./MessageFiles.ts"
export { sweepOrphanedBlobs } from "./OrphanedBlobs.ts"
export type { IncomingFile, ReceivedFile } from "./ReceivedFile.ts"
export {
  ExtractionFailed,
  type FileToRead,
  ImageReader,
  type ImageReaderPort,
  type TextCutting,
  TextExtractor
} from "./TextExtractor.ts"
export { type FileRefused, FileTooLarge } from "./Upload.ts"
export { type WideEncoding, detectWideEncoding } from "./WideText.ts"

const wing = Layer.provideMerge(documentsPart, documentsLayer).pipe(Layer.provideMerge(Retrieval.layer))

/**
 * The use cases, and the whole wing: `Documents.layer({ maxFileSize })` over `Kernel.layer`, the stores of documents and a reader of files. It
 * gives `Documents`, `DocumentLinks` and `Retrieval`.
 */
export const Documents = Object.assign(
  UseCases,
  wingLayers(DocumentSettings, wing, {
    positive: [
      "maxFileSize",
      "chunkTokens",
      "mostChunks",
      "embeddingBatch",
      "rerankTimeout",
      "orphanSweep",
      "attempts"
    ],
    words: { excerpts: ["recall", "tool"] },
    orNull: { summaries: defaultDocumentSummaries },
    problems: ({ chunkOverlap, chunkTokens }) =>
      chunkOverlap < chunkTokens
        ? []
        : [`\`chunkOverlap\` must be less than \`chunkTokens\`, which is ${chunkTokens}, and is ${chunkOverlap}.`]
  })
)
export type Documents = UseCases
