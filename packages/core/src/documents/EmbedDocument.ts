/** The vectors of a document that is being indexed, paid from the budget of the day. */
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import type { Principal } from "../access/Principal.ts"
import { AssistantStore } from "../assistants/AssistantStore.ts"
import { beginOutside } from "../metering/ChargeOutside.ts"
import { makeDayBudget } from "../metering/DayBudget.ts"
import { Metering } from "../metering/Metering.ts"
import { UsageLedger } from "../metering/UsageLedger.ts"
import { EmbeddingModel, embedPaid, type EmbeddingTarget } from "../models/EmbeddingModel.ts"
import { Providers } from "../models/Provider.ts"
import type { AssistantId } from "../primitives/Ids.ts"
import type { StoreUnavailable } from "../primitives/StoreUnavailable.ts"
import { assistantEmbedding } from "../retrieval/AssistantEmbedding.ts"
import { ChunkIndex, type IndexedDocument } from "../retrieval/ChunkIndex.ts"
import { embeddingText, type Prepared } from "../retrieval/Indexing.ts"
import { vectorModel } from "../retrieval/Retrieval.ts"
import { FollowUpFailed } from "../runs/FollowUpWorker.ts"
import type { DocumentScope } from "./Document.ts"
import { DocumentSettings } from "./DocumentSettings.ts"
import type { Superseded } from "./IndexingRecord.ts"

interface Target extends EmbeddingTarget {
  readonly assistantId: AssistantId
}

/** `vectors` null: the text is found by its words alone. `unpaid` is the reason when that is so for lack of credit. */
interface Embedded {
  readonly vectors: IndexedDocument["vectors"]
  readonly unpaid: string | null
}

/** Called between batches, with how many chunks are done. */
type Report = (done: number) => Effect.Effect<void, StoreUnavailable | Superseded, Principal>

export const makeDocumentEmbedding = Effect.gen(function* () {
  const index = yield* ChunkIndex
  const assistants = yield* AssistantStore
  const { all: providers } = yield* Providers
  const embeddings = yield* EmbeddingModel
  const account = { ledger: yield* UsageLedger, metering: yield* Metering }
  const { hold } = yield* makeDayBudget
  const { embeddingBatch } = yield* DocumentSettings

  const findTarget = Effect.fnUntraced(function* (scope: DocumentScope) {
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

  /** Batch by batch, so that a long file shows its progress, and a deleted one costs no more. */
  const embedChunks = Effect.fnUntraced(function* (
    { assistantId, ...target }: Target,
    chunks: Prepared["chunks"],
    report: Report
  ) {
    const values: Array<Float32Array> = []
    for (let from = 0; from < chunks.length; from += embeddingBatch) {
      if (from > 0) yield* report(from)
      const texts = chunks.slice(from, from + embeddingBatch).map(({ chunk }) => embeddingText(chunk))
      const beginCharge = beginOutside(account, { runId: null, assistantId })
      const { vectors } = yield* embedPaid(embeddings, beginCharge, target, texts, "document")
      values.push(...vectors)
    }
    const [first] = values
    return first === undefined ? null : { model: vectorModel(target, first), values }
  })

  return Effect.fnUntraced(function* (
    scope: DocumentScope,
    chunks: Prepared["chunks"],
    totalTokens: number,
    report: Report
  ) {
    const target = yield* findTarget(scope)
    const none: Embedded = { vectors: null, unpaid: null }
    if (target === null) return none
    // A document that waits would keep messages waiting, too. Its vectors come later (`FillVectors`).
    return yield* embedChunks(target, chunks, report).pipe(
      hold({
        need: { purpose: "embedding", amountUsd: null },
        assistantId: target.assistantId,
        promptTokens: totalTokens,
        model: null
      }),
      Effect.map((vectors): Embedded => ({ vectors, unpaid: null })),
      Effect.catchTag("InsufficientCredit", ({ message }) => Effect.succeed<Embedded>({ ...none, unpaid: message }))
    )
  })
})
