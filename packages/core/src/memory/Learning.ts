/**
 * The learning after a turn whose memory is `Auto`, as one follow-up: read the turn's own messages, find similar memories, ask a model for
 * operations, check them, and apply them in one step, once per run. A model that writes an unreadable answer is asked a second time; after
 * that the operation has failed, but the turn has not.
 *
 *     messages → candidates → one answer → checks → one transaction
 *
 * Costs are charged when they arise, separately from the turn.
 */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import { Principal } from "../access/Principal.ts"
import { ProviderKeys } from "../access/ProviderKeys.ts"
import type { Assistant } from "../assistants/Assistant.ts"
import { AssistantStore } from "../assistants/AssistantStore.ts"
import { beginOutside } from "../metering/ChargeOutside.ts"
import { makeDayBudget } from "../metering/DayBudget.ts"
import { Metering } from "../metering/Metering.ts"
import { paid } from "../metering/PaidCall.ts"
import { Quotas } from "../metering/Quota.ts"
import type { QuotaStore } from "../metering/QuotaStore.ts"
import { UsageLedger } from "../metering/UsageLedger.ts"
import { complete } from "../models/Completion.ts"
import { EmbeddingModel, type EmbeddingTarget } from "../models/EmbeddingModel.ts"
import { Providers } from "../models/Provider.ts"
import { TokenCounter } from "../models/TokenCounter.ts"
import { AssistantId, MessageId, newId, RunId, ThreadId } from "../primitives/Ids.ts"
import type { StoreUnavailable } from "../primitives/StoreUnavailable.ts"
import { tracedFn } from "../primitives/Traced.ts"
import type { FollowUp } from "../runs/FollowUp.ts"
import { FollowUps } from "../runs/FollowUps.ts"
import { FollowUpFailed, typedWorker, withoutCredit } from "../runs/FollowUpWorker.ts"
import { RunStore } from "../runs/RunStore.ts"
import type { Message } from "../threads/Message.ts"
import { ThreadStore } from "../threads/ThreadStore.ts"
import { withoutMarkers } from "../turns/Citations.ts"
import {
  type CheckedOperation,
  checkOperations,
  type ExtractionCase,
  extractionForm,
  extractionPrompt,
  readOperations,
  type SaidMessage,
  extractionSystem
} from "./Extraction.ts"
import {
  embedKind,
  embedLater,
  findMemories,
  indexMemories,
  makeFinder,
  newestMemories,
  embedTexts,
  retryAfterFailure
} from "./MemoryIndexing.ts"
import { MemoryId, type MemoryRecord, type MemorySource } from "./MemoryRecord.ts"
import { MemorySettings } from "./MemorySettings.ts"
import { type MemoryChange, MemoryStore } from "./MemoryStore.ts"
import { vectorModel } from "../retrieval/Retrieval.ts"

export const learnKind = "memory.learn"

const LearnOrder = Schema.Struct({
  runId: RunId,
  threadId: ThreadId,
  assistantId: AssistantId,
  /** Set for an exchange in a voice session, which has no run. */
  messageIds: Schema.optionalKey(Schema.Array(MessageId))
})
const EmbedOrder = Schema.Struct({
  assistantId: AssistantId,
  dimensions: Schema.optionalKey(Schema.NullOr(Schema.Int))
})

/** Registers the workers of the wing. */
export const layerLearning: Layer.Layer<
  never,
  never,
  | AssistantStore
  | EmbeddingModel
  | FollowUps
  | MemoryStore
  | Providers
  | QuotaStore
  | RunStore
  | ThreadStore
  | UsageLedger
> = Layer.effectDiscard(
  Effect.gen(function* () {
    const learner = yield* makeLearner
    const followUps = yield* FollowUps
    // No record waits: the follow-up is stored in one transaction with the answer, the saved message or the exchange.
    yield* followUps.register(typedWorker({ kind: learnKind, payload: LearnOrder, run: learner.learn }))
    // No record waits: the follow-up is stored before the memories, which are found by their words until then.
    yield* followUps.register(typedWorker({ kind: embedKind, payload: EmbedOrder, run: learner.embed }))
  })
)

const makeLearner = Effect.gen(function* () {
  const assistants = yield* AssistantStore
  const embeddings = yield* EmbeddingModel
  const followUps = yield* FollowUps
  const keys = yield* ProviderKeys
  const ledger = yield* UsageLedger
  const metering = yield* Metering
  const providers = yield* Providers
  const findQuota = yield* Quotas
  const runs = yield* RunStore
  const settings = yield* MemorySettings
  const store = yield* MemoryStore
  const threads = yield* ThreadStore
  const account = { ledger, metering }
  const { credit, hold } = yield* makeDayBudget
  const { count } = yield* TokenCounter
  const finder = yield* makeFinder

  const extractor = Effect.fnUntraced(function* (assistant: Assistant, conversationId: string) {
    const { model, provider } = settings.extraction ?? resolveModel(assistant, providers)
    const resolved = yield* Effect.mapError(
      providers.resolve(provider, model),
      ({ message }) => new FollowUpFailed({ message, isRetryable: false })
    )
    const { chat, info } = resolved
    return { chat, target: { provider, model, info, apiKey: yield* keys.find(provider), conversationId } }
  })

  const extract = Effect.fnUntraced(function* (assistant: Assistant, runId: RunId, asked: ExtractionCase) {
    const { chat, target } = yield* extractor(assistant, runId)
    const question = {
      system: extractionSystem(asked),
      prompt: extractionPrompt(asked),
      jsonOutput: true,
      output: extractionForm
    }
    const payee = { provider: target.provider, model: target.model, purpose: "memory" }
    const need = { purpose: payee.purpose, amountUsd: null }
    const promptTokens = count(question.system) + count(question.prompt)
    const planned = { need, assistantId: assistant.id, promptTokens, model: target.info }
    for (let attempt = 0; attempt < 2; attempt++) {
      const answer = yield* paid(beginOutside(account, { runId, assistantId: assistant.id }), {
        payee,
        call: complete(chat, target, question, settings),
        charges: ({ model, usage }) => [{ ...payee, model: model ?? target.model, usage }]
      }).pipe(
        hold(planned),
        Effect.catchTags({
          InsufficientCredit: withoutCredit("to learn from the turn"),
          ModelError: ({ isRetryable, message, retryAfterMillis }) =>
            Effect.fail(
              new FollowUpFailed({
                message,
                isRetryable,
                ...(retryAfterMillis === undefined ? {} : { pauseMillis: retryAfterMillis })
              })
            )
        })
      )
      const operations = readOperations(answer.text)
      if (Option.isSome(operations)) return checkOperations(asked, operations.value)
    }
    return yield* new FollowUpFailed({ message: "The model's answer could not be read, twice.", isRetryable: false })
  })

  /** Similar memories, then the newest ones: "I moved to Bergen" shares no word with the memory of where the user lived before. */
  const knownMemories = Effect.fnUntraced(function* (
    assistantId: AssistantId,
    runId: RunId,
    text: string,
    target: EmbeddingTarget | null
  ) {
    const limit = settings.compared
    const beginCharge = beginOutside(account, { runId, assistantId })
    const hits = yield* findMemories(finder, { assistantId, text, target, limit, trueAt: null, beginCharge })
    const similar = hits.map(({ memory }) => memory)
    const newest = similar.length < limit ? yield* newestMemories(store, assistantId, limit) : []
    const others = newest.filter(({ id }) => similar.every((memory) => memory.id !== id))
    return [...similar, ...others].slice(0, limit)
  })

  const learn = tracedFn("Memories.learn")(function* (
    { assistantId, messageIds, runId, threadId: ordered }: typeof LearnOrder.Type,
    { createdAt: orderedAt }: FollowUp
  ): Effect.fn.Return<void, FollowUpFailed | StoreUnavailable, Principal> {
    if (Option.isSome(yield* store.applied(runId))) return
    const assistant = Option.getOrNull(yield* assistants.get(assistantId))
    if (assistant === null) return
    const found =
      messageIds === undefined
        ? yield* runs.messages(runId)
        : (yield* threads.messages([ordered])).filter(({ id }) => messageIds.includes(id))
    const messages = found.filter(isSaid)
    // A rewind may have moved the run to another thread.
    const threadId = found[0]?.threadId ?? ordered
    if (messages.length > 0) {
      const need = { purpose: "memory", amountUsd: null }
      const ensured = credit(need, assistantId)
      yield* Effect.catchTag(ensured, "InsufficientCredit", withoutCredit("to learn from the turn"))
    }
    const target = finder.findTarget(assistant)
    const [first] = messages
    const earlier =
      first === undefined ? [] : yield* threads.messagesBefore(threadId, first.sequence, settings.earlierMessages)
    const said = messages.map(({ content }) => content).join("\n\n")
    const known = yield* knownMemories(assistantId, runId, said, target)
    const asked: ExtractionCase = {
      messages: messages.map(toSaid),
      earlier: earlier.filter(isSaid).map(toSaid),
      known,
      factPrompt: assistant.factExtractionPrompt,
      updatePrompt: assistant.memoryUpdatePrompt,
      systemPrompt: assistant.systemPrompt
    }
    const { operations, refused } =
      messages.length === 0 ? { operations: [], refused: [] } : yield* extract(assistant, runId, asked)
    if (refused.length > 0)
      yield* Effect.logWarning(
        `${refused.length} memory operations of run ${runId} were dropped: ${[...new Set(refused)].join(", ")}`
      )
    const now = new Date(yield* Clock.currentTimeMillis)
    const facts = operations.filter((operation) => operation.op !== "DELETE")
    const written = yield* Effect.forEach(facts, (fact) =>
      Effect.map(newId(MemoryId), (id) => {
        const heard = messages.slice(fact.message, fact.message + 1)
        const source = { threadId, runId, messageIds: heard.map((message) => message.id) }
        return newMemory(fact, { assistantId, id, now, source, speaker: heard[0]?.role ?? "user" })
      })
    )
    const told = new Map(written.map(({ id }, index) => [id, facts[index]?.said.text ?? ""]))
    const before = operations.flatMap((operation) => (operation.op === "ADD" ? [] : [operation.target]))
    const around = [said, asked.earlier.map(({ text }) => text).join("\n\n"), assistant.systemPrompt ?? ""]
    const beginCharge = beginOutside(account, { runId, assistantId })
    const made = yield* indexMemories(finder, target, { assistantId, written, before, told, around, beginCharge })
    const changes = operations.flatMap((operation): ReadonlyArray<MemoryChange> => {
      if (operation.op === "DELETE") return [{ _tag: "Delete", id: operation.target.id }]
      const index = facts.indexOf(operation)
      const [memory, indexed] = [written[index], made.indexed[index]]
      if (memory === undefined || indexed === undefined) return []
      return [{ _tag: operation.op === "ADD" ? "Add" : "Update", memory, indexed }]
    })
    const most = yield* Principal.useSync(({ ownerId }) => findQuota(ownerId).memories)
    // Stored before the memories, so that none waits for its vector for ever.
    if (made.isIncomplete) yield* followUps.add([yield* embedLater(assistantId, retryAfterFailure)])
    yield* store.apply({
      assistantId,
      changes,
      beside: made.beside,
      learned: { runId, orderedAt, threadId },
      at: now,
      most
    })
  })

  /** Adds vectors that a model did not return, or that are from an earlier model. */
  const embed = tracedFn("Memories.embed")(function* (
    order: typeof EmbedOrder.Type
  ): Effect.fn.Return<void, FollowUpFailed | StoreUnavailable, Principal> {
    const assistant = Option.getOrNull(yield* assistants.get(order.assistantId))
    const target = assistant === null ? null : finder.findTarget(assistant)
    if (assistant === null || target === null) return
    let dimensions = order.dimensions ?? null
    while (true) {
      const wanted = { name: `${target.provider}/${target.model}`, dimensions }
      const missing = yield* store.withoutVectors(assistant.id, wanted, 100)
      if (missing.length === 0) return
      const texts = missing.map(({ content }) => content)
      const beginCharge = beginOutside(account, { runId: null, assistantId: assistant.id })
      const made = yield* embedTexts(embeddings, beginCharge, target, texts, "document").pipe(
        hold({
          need: { purpose: "embedding", amountUsd: null },
          assistantId: assistant.id,
          promptTokens: texts.reduce((sum, text) => sum + count(text), 0),
          model: null
        }),
        Effect.catchTag("InsufficientCredit", withoutCredit("to embed memories"))
      )
      const [first] = made ?? []
      if (made === null || first === undefined) {
        return yield* new FollowUpFailed({ message: "The embedding model failed.", isRetryable: true })
      }
      const vectors = missing.flatMap(({ content, id }, index) => {
        const values = made[index]
        return values === undefined ? [] : [{ id, content, values }]
      })
      dimensions = first.length
      // A memory that changed meanwhile gets its vector with the change, or is read again.
      if ((yield* store.setVectors(assistant.id, vectorModel(target, first), vectors)) === 0) return
    }
  })

  return { learn, embed }
})

/** True for text of a person or the model. The content of a message never contains recalled or found material. */
const isSaid = ({ content, role, status }: Message): boolean =>
  (content ?? "").trim() !== "" && (role === "user" || status === "COMPLETED")

const toSaid = ({ content, createdAt, role, supplements }: Message): SaidMessage => ({
  role,
  text: withoutMarkers({ content, supplements }),
  saidAt: createdAt
})

const resolveModel = ({ model, provider }: Assistant, { all, defaults }: typeof Providers.Service) => {
  if (provider === null) return { provider: defaults.provider, model: model ?? defaults.model }
  const own = all.find(({ id }) => id === provider)?.defaultModel
  return { provider, model: model ?? (provider === defaults.provider ? defaults.model : (own ?? "")) }
}

const newMemory = (
  operation: Exclude<CheckedOperation, { op: "DELETE" }>,
  {
    assistantId,
    id,
    now,
    source,
    speaker
  }: { assistantId: AssistantId; id: MemoryId; now: Date; source: MemorySource; speaker: string }
): MemoryRecord => ({
  id: operation.op === "ADD" ? id : operation.target.id,
  assistantId,
  content: operation.text,
  metadata: operation.op === "ADD" ? null : operation.target.metadata,
  source,
  confirmedBy: [],
  validFrom: operation.from,
  validUntil: operation.until,
  saidAt: operation.said.at,
  session: source.threadId,
  speaker,
  createdAt: now,
  updatedAt: now
})
