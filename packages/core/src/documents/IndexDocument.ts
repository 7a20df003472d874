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
import { AssistantStore } from "../assistants/AssistantStore.ts"
import { beginOutside } from "../metering/ChargeOutside.ts"
import { makeDayBudget } from "../metering/DayBudget.ts"
import { Metering } from "../metering/Metering.ts"
import { UsageLedger } from "../metering/UsageLedger.ts"
import { EmbeddingModel, embedPaid, type EmbeddingTarget } from "../models/EmbeddingModel.ts"
import type { ModelError } from "../models/ModelError.ts"
import { Providers } from "../models/Provider.ts"
import { TokenCounter } from "../models/TokenCounter.ts"
import type { AssistantId } from "../primitives/Ids.ts"
import { runYielding } from "../primitives/RunYielding.ts"
import type { Steps } from "../primitives/Steps.ts"
import { ownText } from "../retrieval/Chunk.ts"
import { ChunkIndex, type IndexedDocument } from "../retrieval/ChunkIndex.ts"
import { assistantEmbedding } from "../retrieval/AssistantEmbedding.ts"
import { embeddingText, type Prepared } from "../retrieval/Indexing.ts"
import { vectorModel } from "../retrieval/Retrieval.ts"
import { newFollowUp } from "../runs/FollowUp.ts"
import { FollowUpFailed, typedWorker } from "../runs/FollowUpWorker.ts"
import { FollowUpStore } from "../runs/FollowUpStore.ts"
import { OwnerEvents } from "../runs/OwnerEvents.ts"
import { BlobStore } from "./BlobStore.ts"
import { cutText } from "./CutText.ts"
import type { Document, DocumentScope } from "./Document.ts"
import { DocumentSettings } from "./DocumentSettings.ts"
import { type Attempt, DocumentStore, type IndexingOutcome, type Progress } from "./DocumentStore.ts"
import { DocumentTrace, indexKind, newIndexing, searchScope, summarizeKind, documentTrace } from "./DocumentWork.ts"
import { fileTypeForExtension } from "./FileType.ts"
import { mediaKindFromType } from "./Media.ts"
import { indexedEvent } from "./IndexedEvent.ts"
import { type TextCutting, TextExtractor } from "./TextExtractor.ts"

export const makeIndexWorker = Effect.gen(function* () {
  const room = yield* makeRoom
  const { documents, settings } = room
  const worker = typedWorker({
    kind: indexKind,
    payload: DocumentTrace,
    lost: lostIn(documents),
    run: Effect.fnUntraced(function* (trace, followUp) {
      const started = yield* documents.beginAttempt(trace.documentId, yield* now)
      if (Option.isNone(started)) return yield* notStarted(room, trace)
      const { attempt, document } = started.value
      yield* Effect.catchDefect(attempted(room, attempt, document), (defect) =>
        Effect.andThen(
          Effect.logError(`Document ${document.id} could not be indexed`, defect),
          new FollowUpFailed({
            message: "The indexing failed inside the server; its log says why.",
            isRetryable: followUp.attempts < settings.attempts
          })
        )
      )
    }),
    giveUp: Effect.fnUntraced(function* ({ payload }) {
      const trace = decodeTrace(payload)
      if (Option.isNone(trace)) return
      const started = yield* documents.beginAttempt(trace.value.documentId, yield* now)
      if (Option.isNone(started)) return
      const { attempt, document } = started.value
      const outcome = failed("This file could not be indexed: the server failed. Upload it again.")
      yield* finish(room, attempt, document, outcome)
    })
  })
  return worker
})

/** The services of the indexing. */
const makeRoom = Effect.gen(function* () {
  return {
    documents: yield* DocumentStore,
    blobs: yield* BlobStore,
    index: yield* ChunkIndex,
    extractor: yield* TextExtractor,
    embeddings: yield* EmbeddingModel,
    assistants: yield* AssistantStore,
    providers: (yield* Providers).all,
    count: (yield* TokenCounter).count,
    settings: yield* DocumentSettings,
    followUps: yield* FollowUpStore,
    events: yield* OwnerEvents,
    account: { ledger: yield* UsageLedger, metering: yield* Metering },
    hold: (yield* makeDayBudget).hold
  }
})
type Room = Effect.Success<typeof makeRoom>

// ------ one attempt

/** Every end of an attempt but an unavailable service is an outcome in the record. */
const attempted = (room: Room, attempt: Attempt, document: Document) =>
  indexed(room, attempt, document).pipe(
    Effect.catchTags({
      ModelError: (error) => waitOrGiveUp(room, attempt, document, error),
      ExtractionFailed: ({ reason, sentence }) =>
        Effect.succeed(
          reason === "unsupported" && mediaKindFromType(document.mimeType) === "image"
            ? withoutWords(sentence)
            : failed(sentence)
        ),
      BlobNotFound: () => Effect.succeed(failed("The bytes of this file are gone. Upload it again.")),
      EmbeddingFailed: ({ message }) => Effect.succeed(failed(`The text could not be embedded. ${message}`))
    }),
    Effect.flatMap((outcome) => finish(room, attempt, document, outcome)),
    Effect.catchTag("Superseded", () => Effect.void)
  )

/** Text, chunks, vectors, index. */
const indexed = Effect.fnUntraced(function* (room: Room, attempt: Attempt, document: Document) {
  const { hold, index } = room
  if (isHeard(document)) return withoutWords(heard)
  const { prepared, totalTokens } = yield* prepareDocument(room, document)
  const sums: Sums = { chunkCount: prepared.chunks.length, totalTokens }
  // A later attempt does not overwrite the reason of its repetition.
  if (attempt.number === 1) {
    yield* report(room, attempt, { statusMessage: `The text was read: ${sums.chunkCount} parts.`, ...sums })
  }
  const target = yield* findTarget(room, document.scope)
  // A document that waits would keep messages waiting, too. Its vectors come later (`FillVectors`).
  const { unpaid, vectors } =
    target === null
      ? { unpaid: null, vectors: null }
      : yield* embed(room, attempt, target, prepared.chunks, sums).pipe(
          hold({
            need: { purpose: "embedding", amountUsd: null },
            assistantId: target.assistantId,
            promptTokens: totalTokens,
            model: null
          }),
          Effect.map((made) => ({ unpaid: null, vectors: made })),
          Effect.catchTag("InsufficientCredit", ({ message }) => Effect.succeed({ unpaid: message, vectors: null }))
        )
  yield* index.put({ documentId: document.id, scope: searchScope(document.scope), ...prepared, vectors })
  const isEmpty = prepared.chunks.length === 0
  const outcome: IndexingOutcome = {
    status: "completed",
    ...sums,
    summary: null,
    statusMessage: isEmpty
      ? "No text was found in this file."
      : unpaid === null
        ? null
        : `It is found by its words alone for now. ${unpaid}`
  }
  return outcome
})

// ------ the steps

/** The text in chunks, with the number of its tokens as the host counts them. */
const prepareDocument = Effect.fnUntraced(function* (
  { blobs, count, extractor, settings }: Room,
  { blobId, extension, filename, size }: Document
) {
  const type = fileTypeForExtension(extension)
  if (type === undefined) return yield* Effect.die(new Error(`No file type has the extension "${extension}".`))
  const file = { type, size, bytes: blobs.get(blobId) }
  const { chunkOverlap, chunkTokens, mostChunks } = settings
  const cutting: TextCutting = { title: filename, chunkTokens, chunkOverlap, mostChunks }
  const prepared =
    extractor.prepare === undefined
      ? yield* cutText(yield* extractor.extract(file), cutting)
      : yield* extractor.prepare(file, cutting)
  return { prepared, totalTokens: yield* runYielding(countTokens(prepared.chunks, count)) }
})

/** Null: its text is found by its words alone. */
const findTarget = Effect.fnUntraced(function* ({ assistants, index, providers }: Room, scope: DocumentScope) {
  if (!index.keepsVectors) return null
  const assistant =
    scope._tag === "Assistant"
      ? yield* assistants.get(scope.assistantId)
      : Option.map(yield* assistants.ofThread(scope.threadId), (found) => found.assistant)
  if (Option.isSome(assistant)) {
    const target = assistantEmbedding(assistant.value, providers)
    return target && { ...target, assistantId: assistant.value.id }
  }
  // The assistant is a clone whose documents are being copied, or it was removed and the record is gone at the next attempt.
  return yield* new FollowUpFailed({ message: "Its assistant is not there yet.", isRetryable: true, isOutage: true })
})

/** Embeds batch by batch, so that a long file shows its progress, and a deleted one costs no more. */
const embed = Effect.fnUntraced(function* (
  room: Room,
  attempt: Attempt,
  { assistantId, ...target }: EmbeddingTarget & { readonly assistantId: AssistantId },
  chunks: Prepared["chunks"],
  sums: Sums
) {
  const { account, embeddings, settings } = room
  const values: Array<Float32Array> = []
  for (let from = 0; from < chunks.length; from += settings.embeddingBatch) {
    if (from > 0) {
      yield* report(room, attempt, { statusMessage: `Embedded ${from} of ${chunks.length} parts.`, ...sums })
    }
    const texts = chunks.slice(from, from + settings.embeddingBatch).map(({ chunk }) => embeddingText(chunk))
    const beginCharge = beginOutside(account, { runId: null, assistantId })
    const { vectors: some } = yield* embedPaid(embeddings, beginCharge, target, texts, "document")
    values.push(...some)
  }
  const [first] = values
  const vectors: IndexedDocument["vectors"] = first === undefined ? null : { model: vectorModel(target, first), values }
  return vectors
})

const report = Effect.fnUntraced(function* ({ documents }: Room, attempt: Attempt, progress: Progress) {
  if (!(yield* documents.report(attempt, progress, yield* now))) return yield* new Superseded()
})

/** Another attempt took over, or the document was deleted, so this attempt stops. */
class Superseded extends Schema.TaggedError<Superseded>()("Superseded", {}) {}

// ------ the ends

const finish = Effect.fnUntraced(function* (
  room: Room,
  attempt: Attempt,
  document: Document,
  outcome: IndexingOutcome
) {
  const { documents, followUps, settings } = room
  if (settings.summaries !== null && outcome.status === "completed" && (outcome.chunkCount ?? 0) > 0) {
    yield* followUps.add([
      yield* newFollowUp({ kind: summarizeKind, key: document.id, payload: documentTrace(document) })
    ])
  }
  if (yield* documents.finish(attempt, outcome, yield* now)) {
    if (outcome.status === "error") yield* removeChunks(room, document)
    return yield* tellEnd(room, document.id)
  }
  // The document was deleted or finished meanwhile, so the chunks of this attempt are removed.
  const found = yield* documents.get(document.id)
  if (Option.isNone(found) || found.value.status === "error") yield* removeChunks(room, document)
})

/** The attempt is repeated when its process dies before this: the document has ended then, and it is told in `notStarted`. */
const tellEnd = Effect.fnUntraced(function* ({ documents, events, followUps }: Room, id: Document["id"]) {
  const ended = Option.getOrUndefined(yield* documents.get(id))
  const event = ended && (yield* events.order(indexedEvent(ended)))
  if (event != null) yield* followUps.add([event])
})

const removeChunks = ({ index }: Room, { id, scope }: Document) =>
  Effect.asVoid(index.remove({ documentId: id, scope: searchScope(scope) }))

/** An unavailable provider is awaited, but not for ever, because messages are refused meanwhile. */
const waitOrGiveUp = Effect.fnUntraced(function* (room: Room, attempt: Attempt, document: Document, error: ModelError) {
  const at = yield* now
  const waited = at.getTime() - (document.processingStartedAt ?? at).getTime()
  if (!error.isRetryable || waited >= Duration.toMillis(room.settings.embeddingWait)) {
    return failed(`The text could not be embedded. ${error.message}`)
  }
  const sentence = `Waiting for the embedding provider. ${error.message}`
  yield* report(room, attempt, { statusMessage: sentence, totalTokens: null, chunkCount: null })
  const pause = error.retryAfterMillis === undefined ? {} : { pauseMillis: error.retryAfterMillis }
  return yield* new FollowUpFailed({ message: error.message, isRetryable: true, isOutage: true, ...pause })
})

/** There is nothing to index: the document was indexed before, or deleted. */
const notStarted = Effect.fnUntraced(function* (room: Room, { documentId, scope }: DocumentTrace) {
  const { documents, index } = room
  const status = Option.getOrNull(yield* documents.get(documentId))?.status
  if (status === "completed") return yield* tellEnd(room, documentId)
  if (status !== "processing") {
    yield* index.remove({ documentId, scope })
    return yield* tellEnd(room, documentId)
  }
  // The record came after the look of this attempt. Its work is still to be done.
  return yield* new FollowUpFailed({ message: "The document came meanwhile.", isRetryable: true, isOutage: true })
})

/** How many documents one sweep orders again. The next sweep finds the others. */
const sweptAtOnce = 1000

const lostIn = (documents: Room["documents"]) =>
  Effect.flatMap(documents.unattended(indexKind, sweptAtOnce), (unattended) =>
    Effect.forEach(unattended, ({ document, ownerId }) =>
      Effect.map(newIndexing(document), (followUp) => ({ ownerId, followUp }))
    )
  )

// ------ records and words

const now = Effect.map(Clock.currentTimeMillis, (millis) => new Date(millis))

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

function* countTokens(chunks: Prepared["chunks"], count: (text: string) => number): Steps<number> {
  let sum = 0
  for (const { chunk } of chunks) {
    sum += count(ownText(chunk))
    yield
  }
  return sum
}

interface Sums {
  readonly chunkCount: number
  readonly totalTokens: number
}

const decodeTrace = Schema.decodeUnknownOption(DocumentTrace)
