/**
 * How documents join a turn. A message is refused while a document of its scope is being processed, and the best excerpts are added before
 * the message. The scope contains the thread's documents and its assistant's. `TurnRequest.options.documents` names the files that came
 * with the message: `{ attachments: [documentId] }`. They are documents of that scope, and the turn waits for their indexing; pictures,
 * sound and video among them are sent to the model directly (`MediaPart`). `searchLimit` and `excerpts` beside it (`ExcerptOptions`) are
 * for this turn in the place of the assistant's and the host's settings.
 *
 * A scope without documents costs nothing: the turn knows it from the look-up of its thread.
 */
import * as Clock from "effect/Clock"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import { paid } from "../metering/PaidCall.ts"
import { Providers } from "../models/Provider.ts"
import { inTime } from "../primitives/Deadlines.ts"
import { DocumentId, ThreadId } from "../primitives/Ids.ts"
import { newFrameWord } from "../prompts/Frame.ts"
import { type ChunkHit, ChunkIndex } from "../retrieval/ChunkIndex.ts"
import { assistantEmbedding } from "../retrieval/EmbeddingOf.ts"
import { joinExcerpts, nearBest } from "../retrieval/Excerpts.ts"
import { ownText } from "../retrieval/Chunk.ts"
import { inOrder, type Reranked, Reranker, type RerankerPort } from "../retrieval/Reranker.ts"
import { Retrieval } from "../retrieval/Retrieval.ts"
import { RecalledTexts } from "../threads/RecalledTexts.ts"
import type { FollowUps } from "../runs/FollowUps.ts"
import { type HostedTool, HostedToolFailed } from "../tools/HostedTool.ts"
import type { LiveTurn } from "../tools/LiveTurn.ts"
import { TurnRefused } from "../turns/TurnErrors.ts"
import type { PartDecision, TurnCase, TurnPart } from "../turns/TurnPart.ts"
import { TurnParts } from "../turns/TurnParts.ts"
import { TurnSettings } from "../turns/TurnSettings.ts"
import { outputsPartName } from "../turns/WantedOutput.ts"
import type { BlobStore } from "./BlobStore.ts"
import type { Document } from "./Document.ts"
import { DocumentSettings } from "./DocumentSettings.ts"
import { ExcerptOptions, searchToolName } from "./ExcerptOptions.ts"
import { type DocumentFilter, DocumentStore, type DocumentSurvey } from "./DocumentStore.ts"
import { documentsPartName, scopesWith, searchScope } from "./DocumentWork.ts"
import {
  framedIntro,
  keptExcerpt,
  type NamedExcerpt,
  keptExcerpts,
  excerptsPrompt,
  framedExcerpt,
  withExcerpts
} from "./ExcerptPrompt.ts"
import { makeNoticing } from "./FillVectors.ts"
import { readExcerpts, shownDocuments } from "./KeptDocuments.ts"
import { makeMedia } from "./MediaPart.ts"
import { notReady } from "./NotReady.ts"

const Options = Schema.Struct({
  attachments: Schema.optionalKey(Schema.Array(DocumentId)),
  ...ExcerptOptions.fields
})

const Embedding = Schema.Struct({
  provider: Schema.String,
  model: Schema.String,
  dimensions: Schema.NullOr(Schema.Int)
})

const DocumentsPlan = Schema.Struct({
  limit: Schema.Int,
  embedding: Schema.NullOr(Embedding),
  attachments: Schema.Array(DocumentId),
  /** The sets of documents of the thread; absent: its own alone. */
  shelves: Schema.optionalKey(Schema.Array(ThreadId)),
  /** `none`: there is nothing to search. */
  excerpts: Schema.Literals(["none", "recall", "tool"]),
  /** The model is asked to mark which excerpts it used. Absent in plans of older versions. */
  cites: Schema.optionalKey(Schema.Boolean)
})
type DocumentsPlan = typeof DocumentsPlan.Type

const makePart = Effect.gen(function* () {
  const documents = yield* DocumentStore
  const index = yield* ChunkIndex
  const retrieval = yield* Retrieval
  const { all: providers } = yield* Providers
  const media = yield* makeMedia
  const notice = yield* makeNoticing
  const reranker = yield* Reranker
  const { attachmentWait, excerpts: mode, reranked, rerankTimeout } = yield* DocumentSettings
  const { decideTimeout } = yield* TurnSettings

  /** Repeats the survey while only attachments of this message are in processing, until the time limit. */
  const settled = Effect.fnUntraced(function* (
    first: DocumentSurvey,
    filters: ReadonlyArray<DocumentFilter>,
    attachments: ReadonlyArray<DocumentId>
  ) {
    const until = (yield* Clock.currentTimeMillis) + Duration.toMillis(attachmentWait)
    let survey = first
    while (survey.processing.length > 0 && survey.processing.every(({ id }) => attachments.includes(id))) {
      if ((yield* Clock.currentTimeMillis) >= until) return survey
      survey = yield* Effect.delay(documents.survey(filters), "250 millis")
    }
    return survey
  })

  const attachedTo = Effect.fnUntraced(function* (
    turn: TurnCase,
    ids: ReadonlyArray<DocumentId>,
    shelves: ReadonlyArray<ThreadId>
  ) {
    if (ids.length === 0) return []
    const byId = new Map((yield* documents.getMany(ids)).map((document) => [document.id, document]))
    const scopes: ReadonlyArray<string> = scopesWith(turn.assistant.id, shelves)
    const found = ids.flatMap((id) => byId.get(id) ?? []).filter(({ scope }) => scopes.includes(searchScope(scope)))
    const missing = ids.flatMap((id, place) =>
      found.some((document) => document.id === id)
        ? []
        : [{ path: ["attachments", place], message: `The thread and its assistant have no document ${id}.` }]
    )
    return missing.length === 0 ? found : yield* refuse("not_found", missing)
  })

  const decide = Effect.fnUntraced(function* (turn: TurnCase) {
    const { attachments: given = [], excerpts: how = mode, searchLimit } = yield* readOptions(turn)
    const ids = [...new Set(given)]
    if (!turn.hasDocuments && ids.length === 0) return null
    const ofAssistant = { assistantId: turn.assistant.id }
    const filters = turn.isNewThread ? [ofAssistant] : [ofAssistant, { threadId: turn.thread.id }]
    const survey = yield* documents.survey(filters)
    const shelves = survey.shelves.length === 0 ? [turn.thread.id] : survey.shelves
    yield* attachedTo(turn, ids, shelves)
    const { completed, processing } = yield* settled(survey, filters, ids)
    if (processing.length > 0) return yield* notReady(processing)
    if (completed === 0 && ids.length === 0) return null
    const attachments = yield* attachedTo(turn, ids, shelves)
    const { problems, tokens } = media.decide(turn, attachments)
    if (problems.length > 0) return yield* refuse("invalid", problems)
    const isSearched = completed > 0 && how !== "none"
    const decision: PartDecision<DocumentsPlan> = {
      plan: {
        limit: searchLimit ?? turn.assistant.searchLimit,
        embedding: assistantEmbedding(turn.assistant, providers),
        attachments: ids,
        ...(shelves.length > 1 || shelves[0] !== turn.thread.id ? { shelves } : {}),
        excerpts: completed > 0 ? how : "none",
        cites: isSearched && takesMarkers(turn)
      },
      ...(ids.length === 0
        ? {}
        : { supplement: { attachments: attachments.map(kept) }, tokens, allowsEmptyContent: true }),
      ...(isSearched ? { ignored: ignoredIn(turn, how) } : {})
    }
    return decision
  })

  /**
   * A message such as "sum it up" shares no word with any document, but means the files that came with it. In that case the beginnings of
   * these files are used.
   */
  const beginnings = Effect.fnUntraced(function* (plan: DocumentsPlan) {
    const hits: Array<ChunkHit> = []
    if (plan.attachments.length === 0) return hits
    for (const { id, scope } of yield* documents.getMany(plan.attachments)) {
      const key = { documentId: id, scope: searchScope(scope) }
      const { chunks } = yield* index.chunks(key, { skip: 0, limit: plan.limit })
      hits.push(...chunks.map((chunk) => ({ ...key, chunk, score: 0, lexical: null, semantic: null })))
    }
    return hits.slice(0, plan.limit)
  })

  /** If the reranker fails or is late, the order of the search is kept. */
  const rerank = (port: RerankerPort, turn: LiveTurn, query: string, hits: ReadonlyArray<ChunkHit>) =>
    Effect.gen(function* () {
      const call = port.rerank({ query, texts: hits.map(({ chunk }) => ownText(chunk)) })
      const { order } = yield* port.model === null
        ? call
        : paid(turn.beginCharge, {
            payee: { ...port.model, purpose: "rerank" },
            call,
            charges: ({ charge }) => (charge === null ? [] : [charge])
          })
      return rescored(hits, order)
    }).pipe(
      inTime(rerankTimeout, () => Effect.succeed(hits)),
      Effect.catchCause((cause) =>
        Effect.as(Effect.logWarning(`Excerpts of run ${turn.runId} were not reranked`, cause), hits)
      )
    )

  const search = Effect.fnUntraced(function* (plan: DocumentsPlan, turn: LiveTurn, query: string) {
    const { embedding, limit } = plan
    const scopes = scopesWith(turn.assistantId, plan.shelves ?? [turn.threadId])
    const port = reranked > 0 ? reranker : null
    const wide = port === null ? limit : Math.max(limit, reranked)
    const searched = yield* retrieval.search({ scopes, query, limit: wide, embedding, beginCharge: turn.beginCharge })
    if (embedding !== null && searched.lexicalOnly === null) yield* notice(turn.assistantId, embedding, searched.hits)
    const isOrdered = port !== null && searched.hits.length > 1
    const best = (isOrdered ? yield* rerank(port, turn, query, searched.hits) : searched.hits).slice(0, limit)
    const near = new Set(nearBest(best))
    // What came with the message is meant, whatever its words are.
    const meant = best.filter((hit) => near.has(hit) || plan.attachments.includes(hit.documentId))
    const hits = meant.length > 0 ? meant : yield* beginnings(plan)
    if (hits.length === 0) return []
    const found = yield* documents.getMany([...new Set(hits.map(({ documentId }) => documentId))])
    // Documents that were deleted since, or were never completed, are not shown.
    const names = new Map(found.flatMap(({ filename, id, status }) => (status === "completed" ? [[id, filename]] : [])))
    const excerpts = joinExcerpts(
      hits.filter(({ documentId }) => names.has(documentId)),
      Number.POSITIVE_INFINITY,
      () => 0
    )
    return excerpts.map((excerpt): NamedExcerpt => ({ ...excerpt, filename: names.get(excerpt.documentId) ?? "" }))
  })

  const recall = Effect.fnUntraced(function* (plan: DocumentsPlan, turn: LiveTurn) {
    if (plan.excerpts !== "recall") return []
    const excerpts = yield* search(plan, turn, turn.content)
    if (excerpts.length === 0) return []
    const { cites = false } = plan
    turn.keep(keptExcerpts(excerpts.map(keptExcerpt), cites))
    const numbered = excerpts.map((excerpt, place) => ({ excerpt, index: cites ? place : null }))
    return [excerptsPrompt(numbered, yield* newFrameWord, cites)]
  })

  const render: TurnPart<DocumentsPlan>["render"] = (supplement, _, reading) =>
    Effect.map(media.render(supplement, reading), (content) => ({ content }))

  const tools = (plan: DocumentsPlan): ReadonlyArray<HostedTool> => {
    if (plan.excerpts !== "tool") return []
    const { cites = false } = plan
    return [
      {
        definition: searchTool,
        run: Effect.fnUntraced(function* ({ query }, call) {
          if (typeof query !== "string") return yield* new HostedToolFailed({ message: "Give a query, as text." })
          const excerpts = yield* Effect.mapError(
            search(plan, call, query),
            () => new HostedToolFailed({ message: "The documents could not be searched. Answer without them." })
          )
          if (excerpts.length === 0) return "Nothing was found."
          const word = yield* newFrameWord
          // What all calls of a run have found has one numbering, and is kept together.
          const { all, places } = withExcerpts(readExcerpts(call.kept()), excerpts)
          call.keep(keptExcerpts(all, cites))
          const texts = excerpts.map((excerpt, place) =>
            framedExcerpt({ excerpt, index: cites ? (places[place] ?? null) : null }, word)
          )
          return [framedIntro(word, cites), ...texts].join("\n\n")
        })
      }
    ]
  }

  const part: TurnPart<DocumentsPlan> = {
    name: documentsPartName,
    plan: DocumentsPlan,
    concerns: ({ hasDocuments, options }) => hasDocuments || options !== undefined,
    limits: { decide: Duration.sum(Duration.fromInputUnsafe(attachmentWait), Duration.fromInputUnsafe(decideTimeout)) },
    decide,
    recall,
    render,
    tools,
    // A session begins without a question, so the model finds excerpts with the tool.
    session: (plan) =>
      Effect.succeed({
        tools: tools({ ...plan, excerpts: plan.excerpts === "none" ? "none" : "tool", cites: false }),
        instructions: null
      })
  }
  return part
})

/** Joins the turns of a kernel: a layer over `Kernel.layer` and `Retrieval.layer`. */
export const documentsPart: Layer.Layer<
  never,
  never,
  BlobStore | ChunkIndex | DocumentStore | FollowUps | Providers | RecalledTexts | Retrieval | TurnParts
> = Layer.effectDiscard(
  Effect.gen(function* () {
    const parts = yield* TurnParts
    yield* parts.register(yield* makePart)
    const documents = yield* DocumentStore
    yield* (yield* RecalledTexts).register({
      part: documentsPartName,
      tools: [searchTool.name],
      existing: (ids) =>
        Effect.map(documents.getMany(ids.map((id) => DocumentId.make(id))), (found) => found.map(({ id }) => id)),
      shown: shownDocuments
    })
  })
)

type Problems = TurnRefused["problems"]

const refuse = (reason: TurnRefused["reason"], problems: Problems): Effect.Effect<never, TurnRefused> =>
  Effect.fail(new TurnRefused({ part: documentsPartName, reason, problems }))

const decodeOptions = Schema.decodeUnknownOption(Options)

const wrongOptions =
  "Attachments must be a list of document ids, searchLimit a whole number from 1 to 100, and excerpts recall, tool or none."

const readOptions = ({ options = {} }: TurnCase): Effect.Effect<typeof Options.Type, TurnRefused> =>
  Option.match(decodeOptions(options), {
    onNone: () => refuse("invalid", [{ path: [], message: wrongOptions }]),
    onSome: (read) => Effect.succeed(read)
  })

/**
 * In the order of the reranker, with its scores; without scores by place, so that the last ones are far below the best. What the reranker
 * left out keeps its order after the others, and scores nothing.
 */
const rescored = (hits: ReadonlyArray<ChunkHit>, order: Reranked["order"]): ReadonlyArray<ChunkHit> => {
  if (order.length === 0) return hits
  const scores = new Map(order.map(({ index, score }, place) => [index, score ?? 1 - place / order.length]))
  return inOrder(
    hits.map((hit, index) => ({ ...hit, score: scores.get(index) ?? 0 })),
    order.map(({ index }) => index)
  )
}

/** What a message shows of a file that came with it. */
const kept = ({ filename, id, mimeType, size, status, summary }: Document) => ({
  documentId: id,
  filename,
  mimeType,
  size,
  status,
  summary
})

/** In an answer of a schema, markers would be part of its values. */
const takesMarkers = ({ request }: TurnCase): boolean =>
  request.citations !== false && request.options?.[outputsPartName] === undefined

const ignoredIn = (turn: TurnCase, mode: DocumentsPlan["excerpts"]) => [
  ...(mode === "recall" && turn.request.jsonOutput === true
    ? [{ option: "json_output", because: "excerpts of documents are in the prompt" }]
    : []),
  ...(turn.request.citations === true && !takesMarkers(turn)
    ? [{ option: "citations", because: "the answer is JSON of a schema" }]
    : [])
]

const searchTool = {
  name: searchToolName,
  description: "Finds excerpts in the documents of this conversation by words and meaning.",
  parameters: {
    type: "object",
    properties: { query: { type: "string", description: "What to look for" } },
    required: ["query"]
  }
}
