/**
 * How memory joins a turn, as the part "memory": it recalls memories before the model answers, tells what it found, keeps that with the
 * answer, and under `Auto` orders the follow-up that learns from the turn. A turn without its options costs nothing.
 *
 * Options: `{ mode: "Readonly" | "Auto", pro: boolean, citation: boolean }`; `pro` is `memory_pro`, so that both modes cannot be requested
 * together here.
 */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import type { Principal } from "../access/Principal.ts"
import { ProviderKeys } from "../access/ProviderKeys.ts"
import type { EmbeddingModel } from "../models/EmbeddingModel.ts"
import { Providers } from "../models/Provider.ts"
import { TokenCounter } from "../models/TokenCounter.ts"
import type { FollowUps } from "../runs/FollowUps.ts"
import { newFrameWord } from "../prompts/Frame.ts"
import { RecalledTexts } from "../threads/RecalledTexts.ts"
import type { LiveTurn, Rewriting } from "../tools/LiveTurn.ts"
import { TurnRefused } from "../turns/TurnErrors.ts"
import type { FollowUpOrder } from "../runs/FollowUp.ts"
import type { SessionExchange, TurnPart } from "../turns/TurnPart.ts"
import { TurnParts } from "../turns/TurnParts.ts"
import { outputsPartName } from "../turns/WantedOutput.ts"
import { type KeptMemories, readKept, shownMemories } from "./KeptMemories.ts"
import { learnKind } from "./Learning.ts"
import { findMemories, makeFinder, memorySequence } from "./MemoryIndexing.ts"
import { makeMemorySession, memoryTool } from "./MemorySession.ts"
import { MemorySettings } from "./MemorySettings.ts"
import { MemoryId } from "./MemoryRecord.ts"
import { type MemoryHit, MemoryStore } from "./MemoryStore.ts"
import { chooseHits, promptOfHits, memoryQuery, retrievedMemory, withCited } from "./Recollection.ts"
import { inOrder, listwise, orUnranked, paidOrder, Reranker, type RerankerPort } from "../retrieval/Reranker.ts"

/** The key under which recalled memories are kept with an answer: `reply.supplements[memoryPartName]`. */
export const memoryPartName = "memory"

const Options = Schema.Struct({
  mode: Schema.Literals(["Readonly", "Auto"]),
  pro: Schema.optionalKey(Schema.Boolean),
  citation: Schema.optionalKey(Schema.Boolean)
})
const decodeOptions = Schema.decodeUnknownOption(Options, { onExcessProperty: "error" })

const Plan = Schema.Struct({
  mode: Schema.Literals(["Readonly", "Auto"]),
  pro: Schema.Boolean,
  citation: Schema.Boolean,
  embedding: Schema.NullOr(
    Schema.Struct({ provider: Schema.String, model: Schema.String, dimensions: Schema.NullOr(Schema.Int) })
  )
})
type Plan = typeof Plan.Type

/** Joins every turn of the kernel whose request has options for "memory". */
export const layerMemoryPart: Layer.Layer<
  never,
  never,
  EmbeddingModel | FollowUps | MemoryStore | Providers | RecalledTexts | TurnParts
> = Layer.effectDiscard(
  Effect.gen(function* () {
    const part = yield* makeMemoryPart
    const { existing } = yield* MemoryStore
    yield* (yield* RecalledTexts).register({
      part: memoryPartName,
      tools: [memoryTool],
      existing: (ids) => existing(ids.map((id) => MemoryId.make(id))),
      shown: shownMemories
    })
    yield* (yield* TurnParts).register(part)
  })
)

const refused = new TurnRefused({
  part: memoryPartName,
  reason: "invalid",
  problems: [{ path: [], message: 'Memory takes `mode` "Readonly" or "Auto", and the booleans `pro` and `citation`.' }]
})

const makeMemoryPart = Effect.gen(function* () {
  const counter = yield* TokenCounter
  const finder = yield* makeFinder
  const keys = yield* ProviderKeys
  const providers = yield* Providers
  const reranker = yield* Reranker
  const settings = yield* MemorySettings

  const rerankerFor = Effect.fnUntraced(function* (
    turn: LiveTurn
  ): Effect.fn.Return<RerankerPort | null, never, Principal> {
    if (reranker !== null) return reranker
    const found = yield* Effect.option(providers.resolve(turn.provider, turn.model))
    if (Option.isNone(found)) return null
    const { chat, info, model, provider } = found.value
    const apiKey = yield* Effect.orElseSucceed(keys.find(provider), () => null)
    return listwise(chat, { provider, model, info, apiKey, conversationId: turn.runId }, settings)
  })

  /** If the reranker fails or is late, the order of the search is kept. */
  const rerank = Effect.fnUntraced(
    function* (turn: LiveTurn, query: string, hits: ReadonlyArray<MemoryHit>) {
      const port = hits.length < 2 ? null : yield* rerankerFor(turn)
      if (port === null) return hits
      const texts = hits.map(({ memory }) => memory.content)
      const order = yield* paidOrder(port, { query, texts }, turn.beginCharge)
      return inOrder(
        hits,
        order.map(({ index }) => index)
      )
    },
    (ranking, { runId }, _query, hits) => orUnranked(ranking, hits, settings.rerankTimeout, `Memories of run ${runId}`)
  )

  const part: TurnPart<Plan> = {
    name: memoryPartName,
    plan: Plan,
    concerns: ({ options }) => options !== undefined,
    decide: ({ assistant, options, request }) => {
      if (options === undefined) return Effect.succeed(null)
      const decoded = Option.getOrNull(decodeOptions(options))
      if (decoded === null) return Effect.fail(refused)
      const { mode, pro = false } = decoded
      // In an answer of a schema, markers would be part of its values.
      const mayCite = request.citations !== false && request.options?.[outputsPartName] === undefined
      const citation = decoded.citation === true && mayCite
      const plan = { mode, pro, citation, embedding: finder.findTarget(assistant) }
      // A message that is only saved gets no answer, so the user's message keeps the supplement.
      const isSaved = request.sendToModel === false && mode === "Auto"
      const supplement: KeptMemories = { retrieved: [], learns: true }
      const because = request.citations === false ? "citations is false" : "the answer is JSON of a schema"
      const ignored = decoded.citation === true && !mayCite ? [{ option: "memory_response_citation", because }] : []
      return Effect.succeed({ plan, ignored, ...(isSaved ? { supplement } : {}) })
    },
    recall: Effect.fnUntraced(function* ({ citation, embedding, mode, pro }, turn, history) {
      const query = memoryQuery(turn.content, history.messages)
      const limit = pro ? settings.reranked : settings.recalled * 3
      const trueAt = new Date(yield* Clock.currentTimeMillis)
      const wanted = {
        assistantId: turn.assistantId,
        text: query,
        target: embedding,
        limit,
        trueAt,
        beginCharge: turn.beginCharge
      }
      const hits = yield* findMemories(finder, wanted)
      const ranked = pro ? yield* rerank(turn, query, hits) : hits
      // The scores of a search are not compared after reranking, because the reranker judges better.
      const found = chooseHits(ranked, pro ? { ...settings, cut: 0 } : settings, counter)
      const { rewriting } = turn
      const chosen = rewriting === null ? found : yield* rewriteHits(rewriting, found)
      const retrieved = chosen.map((hit) => retrievedMemory(hit, citation ? false : null))
      const kept = { retrieved, learns: mode === "Auto" }
      if (retrieved.length > 0) turn.tell({ type: "retrieved", data: { memories: retrieved } })
      turn.keep(citation && retrieved.length > 0 ? withCited(kept, "") : kept)
      if (chosen.length === 0) return []
      const prompt = promptOfHits(chosen, citation, yield* newFrameWord)
      for (const { text } of prompt.items) rewriting?.done(text)
      return [prompt]
    }),
    speak: Effect.fnUntraced(function* ({ citation, mode }, turn, words) {
      const kept = readKept(turn.kept())
      // What could not be recalled is kept as nothing.
      if (kept === null) turn.keep({ retrieved: [], learns: mode === "Auto" })
      if (!citation || kept === null || kept.retrieved.length === 0) return
      const answer = yield* Stream.runFold(
        words,
        () => "",
        (text, word) => text + word
      )
      turn.keep(withCited(kept, answer))
    }),
    followUps: ({ mode }, { assistantId, runId, status, threadId }) =>
      mode === "Auto" && (status === "COMPLETED" || status === "SAVED")
        ? [learnOrder({ assistantId, runId, threadId })]
        : [],
    session: makeMemorySession({ finder, settings, counter }, ({ id, ...exchange }) =>
      learnOrder({ ...exchange, runId: id })
    )
  }
  return part
})

const rewriteHits = ({ rewrite }: Rewriting, hits: ReadonlyArray<MemoryHit>) =>
  Effect.forEach(hits, (hit) =>
    Effect.map(rewrite(hit.memory.content), (content) => ({ ...hit, memory: { ...hit.memory, content } }))
  )

const learnOrder = (
  order: Pick<LiveTurn, "assistantId" | "runId" | "threadId"> & Partial<Pick<SessionExchange, "messageIds">>
): FollowUpOrder => ({
  kind: learnKind,
  key: order.runId,
  payload: { ...order },
  sequence: memorySequence(order.assistantId)
})
