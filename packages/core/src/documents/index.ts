/** The wing `documents`: files that users attach, their bytes and their text. `ARCHITECTURE.md` explains how it joins a turn. */
export { BlobNotFound, BlobStore, type ByteRange, type StoredBytes } from "./BlobStore.ts"
export { cutText } from "./CutText.ts"
export { copyDocument, Document, DocumentNotFound, DocumentScope, DocumentStatus } from "./Document.ts"
export {
  type DocumentPlace,
  Documents,
  type DocumentSearch,
  type DocumentsFound,
  type FoundExcerpt,
  type Upload
} from "./Documents.ts"
export { type DocumentAddresses, DocumentLinks, NoPublicAddress } from "./DocumentLinks.ts"
export { documentsLayer } from "./DocumentsLayer.ts"
export { documentsPart } from "./DocumentsPart.ts"
export { documentsPartName } from "./DocumentWork.ts"
export {
  defaultDocumentSettings,
  defaultDocumentSummaries,
  DocumentSettings,
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
  type OwnedDocument
} from "./DocumentStore.ts"
export {
  acceptedExtensions,
  decideFileType,
  extensionOf,
  FileEmpty,
  type FileFamily,
  type FileType,
  fileTypeOf,
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
export { documentSummaries } from "./SummarizeDocument.ts"
export { FilesNotReady, type FileServices, startWithFiles } from "./MessageFiles.ts"
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
export { type WideEncoding, wideEncodingOf } from "./WideText.ts"
