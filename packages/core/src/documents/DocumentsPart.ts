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
import { Providers } from "../models/Provider.ts"
import { DocumentId, ThreadId } from "../primitives/Ids.ts"
import { newFrameWord } from "../prompts/Frame.ts"
import type { ChunkIndex } from "../retrieval/ChunkIndex.ts"
import { assistantEmbedding } from "../retrieval/AssistantEmbedding.ts"
import type { Retrieval } from "../retrieval/Retrieval.ts"
import { RecalledTexts } from "../threads/RecalledTexts.ts"
import type { FollowUps } from "../runs/FollowUps.ts"
import { type HostedCall, type HostedTool, HostedToolFailed } from "../tools/HostedTool.ts"
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
import { framedIntro, keptExcerpt, keptExcerpts, excerptsPrompt, framedExcerpt, withExcerpts } from "./ExcerptPrompt.ts"
import { makeExcerptSearch } from "./ExcerptSearch.ts"
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
  const { all: providers } = yield* Providers
  const media = yield* makeMedia
  const search = yield* makeExcerptSearch
  const { attachmentWait, excerpts: mode } = yield* DocumentSettings
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
    const missing = ids.flatMap((id, index) =>
      found.some((document) => document.id === id)
        ? []
        : [{ path: ["attachments", index], message: `The thread and its assistant have no document ${id}.` }]
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

  const recall = Effect.fnUntraced(function* (plan: DocumentsPlan, turn: LiveTurn) {
    if (plan.excerpts !== "recall") return []
    const excerpts = yield* search(plan, turn, turn.content)
    if (excerpts.length === 0) return []
    const { cites = false } = plan
    turn.keep(keptExcerpts(excerpts.map(keptExcerpt), cites))
    const numbered = excerpts.map((excerpt, index) => ({ excerpt, index: cites ? index : null }))
    const prompt = excerptsPrompt(numbered, yield* newFrameWord, cites)
    for (const { text } of prompt.items) turn.rewriting?.done(text)
    return [prompt]
  })

  const render: TurnPart<DocumentsPlan>["render"] = (supplement, _, reading) =>
    Effect.map(media.render(supplement, reading), (content) => ({ content }))

  const searchAsTool = Effect.fnUntraced(function* (
    plan: DocumentsPlan,
    query: Schema.Json | undefined,
    call: HostedCall
  ) {
    const { cites = false } = plan
    if (typeof query !== "string") return yield* new HostedToolFailed({ message: "Give a query, as text." })
    const excerpts = yield* Effect.mapError(
      search(plan, call, query),
      () => new HostedToolFailed({ message: "The documents could not be searched. Answer without them." })
    )
    if (excerpts.length === 0) return "Nothing was found."
    const word = yield* newFrameWord
    // What all calls of a run have found has one numbering, and is kept together.
    const { all, indices } = withExcerpts(readExcerpts(call.kept()), excerpts)
    call.keep(keptExcerpts(all, cites))
    const texts = excerpts.map((excerpt, found) =>
      framedExcerpt({ excerpt, index: cites ? (indices[found] ?? null) : null }, word)
    )
    const output = [framedIntro(word, cites), ...texts].join("\n\n")
    call.rewriting?.done(output)
    return output
  })

  const tools = (plan: DocumentsPlan): ReadonlyArray<HostedTool> =>
    plan.excerpts === "tool"
      ? [{ definition: searchTool, run: ({ query }, call) => searchAsTool(plan, query, call) }]
      : []

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
