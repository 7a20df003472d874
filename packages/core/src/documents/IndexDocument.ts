/**
 * The indexing of an upload after its bytes are stored: extract the text, split it into chunks, embed the chunks, store everything in the
 * index, and store the outcome in the record. It is a follow-up: any process may run it, and repeat it after a crash with the same result.
 *
 * An error in the file or in the configuration ends as `error` with a sentence for the user. An unavailable embedding provider is awaited.
 * A failure inside the server is retried some times.
 */
import * as Clock from "effect/Clock"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import type { ModelError } from "../models/ModelError.ts"
import { TokenCounter } from "../models/TokenCounter.ts"
import { runYielding } from "../primitives/RunYielding.ts"
import type { Steps } from "../primitives/Steps.ts"
import { ownText } from "../retrieval/Chunk.ts"
import { ChunkIndex } from "../retrieval/ChunkIndex.ts"
import type { Prepared } from "../retrieval/Indexing.ts"
import { FollowUpFailed, typedWorker } from "../runs/FollowUpWorker.ts"
import { BlobStore } from "./BlobStore.ts"
import { cutText } from "./CutText.ts"
import type { Document } from "./Document.ts"
import { DocumentSettings } from "./DocumentSettings.ts"
import type { Attempt, IndexingOutcome } from "./DocumentStore.ts"
import { DocumentTrace, indexKind, searchScope } from "./DocumentWork.ts"
import { makeDocumentEmbedding } from "./EmbedDocument.ts"
import { fileTypeForExtension } from "./FileType.ts"
import { type IndexingRecord, makeIndexingRecord } from "./IndexingRecord.ts"
import { mediaKindFromType } from "./Media.ts"
import { type TextCutting, TextExtractor } from "./TextExtractor.ts"

export const makeIndexWorker = Effect.gen(function* () {
  const { attempts } = yield* DocumentSettings
  const record = yield* makeIndexingRecord
  const attempted = yield* makeAttempt(record)
  return typedWorker({
    kind: indexKind,
    payload: DocumentTrace,
    lost: record.lost,
    run: Effect.fnUntraced(function* (trace, followUp) {
      const started = yield* record.begin(trace)
      if (Option.isNone(started)) return yield* record.notStarted(trace)
      const { attempt, document } = started.value
      yield* Effect.catchDefect(attempted(attempt, document), (defect) =>
        Effect.andThen(
          Effect.logError(`Document ${document.id} could not be indexed`, defect),
          new FollowUpFailed({
            message: "The indexing failed inside the server; its log says why.",
            isRetryable: followUp.attempts < attempts
          })
        )
      )
    }),
    giveUp: Effect.fnUntraced(function* ({ payload }) {
      const trace = decodeTrace(payload)
      if (Option.isNone(trace)) return
      const started = yield* record.begin(trace.value)
      if (Option.isNone(started)) return
      const { attempt, document } = started.value
      const outcome = failed("This file could not be indexed: the server failed. Upload it again.")
      yield* record.finish(attempt, document, outcome)
    })
  })
})

// ------ one attempt

const makeAttempt = Effect.fnUntraced(function* (record: IndexingRecord) {
  const { embeddingWait } = yield* DocumentSettings
  const index = yield* ChunkIndex
  const readChunks = yield* makeReading
  const embed = yield* makeDocumentEmbedding

  /** Text, chunks, vectors, index. */
  const indexed = Effect.fnUntraced(function* (attempt: Attempt, document: Document) {
    if (isHeard(document)) return withoutWords(heard)
    const { prepared, totalTokens } = yield* readChunks(document)
    const sums = { chunkCount: prepared.chunks.length, totalTokens }
    const report = (statusMessage: string) => record.report(attempt, { statusMessage, ...sums })
    // A later attempt does not overwrite the reason of its repetition.
    if (attempt.number === 1) yield* report(`The text was read: ${sums.chunkCount} parts.`)
    const { unpaid, vectors } = yield* embed(document.scope, prepared.chunks, totalTokens, (done) =>
      report(`Embedded ${done} of ${sums.chunkCount} parts.`)
    )
    yield* index.put({ documentId: document.id, scope: searchScope(document.scope), ...prepared, vectors })
    const outcome: IndexingOutcome = {
      status: "completed",
      ...sums,
      summary: null,
      statusMessage:
        sums.chunkCount === 0
          ? "No text was found in this file."
          : unpaid === null
            ? null
            : `It is found by its words alone for now. ${unpaid}`
    }
    return outcome
  })

  /** An unavailable provider is awaited, but not for ever, because messages are refused meanwhile. */
  const waitOrGiveUp = Effect.fnUntraced(function* (attempt: Attempt, document: Document, error: ModelError) {
    const now = yield* Clock.currentTimeMillis
    const waited = now - (document.processingStartedAt?.getTime() ?? now)
    if (!error.isRetryable || waited >= Duration.toMillis(embeddingWait)) {
      return failed(`The text could not be embedded. ${error.message}`)
    }
    const statusMessage = `Waiting for the embedding provider. ${error.message}`
    yield* record.report(attempt, { statusMessage, totalTokens: null, chunkCount: null })
    const pause = error.retryAfterMillis === undefined ? {} : { pauseMillis: error.retryAfterMillis }
    return yield* new FollowUpFailed({ message: error.message, isRetryable: true, isOutage: true, ...pause })
  })

  /** Every end of an attempt but an unavailable service is an outcome in the record. */
  return (attempt: Attempt, document: Document) =>
    indexed(attempt, document).pipe(
      Effect.catchTags({
        ModelError: (error) => waitOrGiveUp(attempt, document, error),
        ExtractionFailed: ({ reason, sentence }) =>
          Effect.succeed(
            reason === "unsupported" && mediaKindFromType(document.mimeType) === "image"
              ? withoutWords(sentence)
              : failed(sentence)
          ),
        BlobNotFound: () => Effect.succeed(failed("The bytes of this file are gone. Upload it again.")),
        EmbeddingFailed: ({ message }) => Effect.succeed(failed(`The text could not be embedded. ${message}`))
      }),
      Effect.flatMap((outcome) => record.finish(attempt, document, outcome)),
      Effect.catchTag("Superseded", () => Effect.void)
    )
})

/** The text of a file in chunks, with the number of its tokens as the host counts them. */
const makeReading = Effect.gen(function* () {
  const blobs = yield* BlobStore
  const extractor = yield* TextExtractor
  const { count } = yield* TokenCounter
  const { chunkOverlap, chunkTokens, mostChunks } = yield* DocumentSettings

  return Effect.fnUntraced(function* ({ blobId, extension, filename, size }: Document) {
    const type = fileTypeForExtension(extension)
    if (type === undefined) return yield* Effect.die(new Error(`No file type has the extension "${extension}".`))
    const file = { type, size, bytes: blobs.get(blobId) }
    const cutting: TextCutting = { title: filename, chunkTokens, chunkOverlap, mostChunks }
    const prepared =
      extractor.prepare === undefined
        ? yield* cutText(yield* extractor.extract(file), cutting)
        : yield* extractor.prepare(file, cutting)
    return { prepared, totalTokens: yield* runYielding(countTokens(prepared.chunks, count)) }
  })
})

function* countTokens(chunks: Prepared["chunks"], count: (text: string) => number): Steps<number> {
  let sum = 0
  for (const { chunk } of chunks) {
    sum += count(ownText(chunk))
    yield
  }
  return sum
}

// ------ outcomes

const failed = (statusMessage: string): IndexingOutcome => ({ status: "error", statusMessage })

/** Sound, video, and pictures that no reader can read: they are completed without being in the index. */
const withoutWords = (statusMessage: string): IndexingOutcome => ({
  status: "completed",
  totalTokens: null,
  chunkCount: null,
  summary: null,
  statusMessage
})

const heard = "It is not searched: models that take sound or video get it whole."

const isHeard = ({ mimeType }: Document): boolean => {
  const kind = mediaKindFromType(mimeType)
  return kind === "audio" || kind === "video"
}

const decodeTrace = Schema.decodeUnknownOption(DocumentTrace)
