/** The room of memories: `memory()`. It adds `colloquy.memories`, `memory` of messages, and `memories` of replies. */
import { jina, cohere, voyage } from "@colloquy/adapters/rerankers"
import { AssistantId, RunId } from "@colloquy/core"
import { maximumLimit } from "@colloquy/core/adapters"
import {
  type Imported,
  Memory,
  Memories,
  memoryPartName,
  MemoryId,
  type MemoryHit,
  type MemoryOperation,
  type MemoryRecord,
  type MemorySettingsPort,
  type MemoryText,
  readKept,
  Reranker,
  type RerankerPort,
  type RetrievedMemory
} from "@colloquy/core/memory"
import {
  type CallOptions,
  modelErrorFrom,
  readCount,
  readId,
  readPage,
  readTime,
  type Room,
  room,
  type RoomFunctions,
  type RoomTypes,
  type RunCall,
  withOptions
} from "@colloquy/core/promises"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import { type DeepPartial } from "@colloquy/core/adapters"
import type { RoomNeeds } from "../Store.ts"
import { cited, type CitedReply } from "./Cited.ts"
import { awaited } from "./Waiting.ts"

/** Rerankers for `memory({ reranker })`. */
export const rerankers = { cohere, jina, voyage }
export type { Citation } from "@colloquy/core"
export type { MemoryHit, MemoryOperation, MemoryRecord, RetrievedMemory } from "@colloquy/core/memory"

/** A reranker of the host's own, for `reranker`. */
export interface PlainReranker {
  /** The order of the texts, best first: their indexes, with scores of 0 to 1 where there are some. */
  readonly rerank: (
    request: { readonly query: string; readonly texts: ReadonlyArray<string> },
    context: { readonly signal: AbortSignal }
  ) => Promise<ReadonlyArray<number | { readonly index: number; readonly score?: number | null }>>
}

/** A reranker as plain async code, for `memory({ reranker })`. If it fails or is late, the order of the search is kept. */
export const reranker = (plain: PlainReranker): RerankerPort => ({
  model: null,
  rerank: (request) =>
    Effect.map(
      Effect.tryPromise({
        try: async (signal) => plain.rerank(request, { signal }),
        catch: (error) => modelErrorFrom(error, { provider: "reranker", model: "reranker" })
      }),
      (order) => ({
        order: order.map((each) =>
          typeof each === "number" ? { index: each, score: null } : { index: each.index, score: each.score ?? null }
        ),
        charge: null
      })
    )
})

/** The settings of memories, and a reranker. */
export interface MemoryOptions extends DeepPartial<MemorySettingsPort> {
  /** Orders what was found, for messages with `pro`. Default: the assistant's own model does. */
  readonly reranker?: RerankerPort
}

/** `auto`: memories are recalled, and learned from the turn. `readonly`: they are recalled. */
export type MemoryMode = "auto" | "readonly" | "off"

/** What a message asks of memories. */
export interface MemoryWish {
  readonly mode: MemoryMode
  /** True: a wider search, and a reranker. */
  readonly pro?: boolean
  /** True: the model marks the memories that it used (`cited`). */
  readonly citation?: boolean
}

/** A search among the memories of an assistant. */
export interface MemoryQuery {
  readonly assistantId: string
  readonly query: string
  /** Default: 10. */
  readonly limit?: number
  /** Only what was true at this time. */
  readonly at?: Date
}

/** Memories by hand: `colloquy.memories`. */
export interface MemoryCalls {
  /** Stores a memory verbatim, without a model. */
  readonly add: (memory: MemoryText & { readonly assistantId: string }, options?: CallOptions) => Promise<MemoryRecord>
  readonly list: (
    filter: { readonly assistantId: string; readonly skip?: number; readonly limit?: number },
    options?: CallOptions
  ) => Promise<ReadonlyArray<MemoryRecord>>
  /** Best first. */
  readonly search: (query: MemoryQuery, options?: CallOptions) => Promise<ReadonlyArray<MemoryHit>>
  readonly get: (memory: MemoryIds, options?: CallOptions) => Promise<MemoryRecord>
  readonly update: (memory: MemoryIds & MemoryText, options?: CallOptions) => Promise<MemoryRecord>
  readonly remove: (memory: MemoryIds, options?: CallOptions) => Promise<void>
  /** Removes all memories of the assistant, with all their versions. */
  readonly forgetAll: (assistantId: string, options?: CallOptions) => Promise<void>
  /** One JSON object per line. */
  readonly export: (assistantId: string, options?: CallOptions) => Promise<string>
  readonly import: (
    memories: { readonly assistantId: string; readonly lines: string },
    options?: CallOptions
  ) => Promise<Imported>
  /** Waits until a turn with `memory: "auto"` has been learned from. Null: this turn is not learned from. */
  readonly learned: (turn: { readonly runId: string }, options?: CallOptions) => Promise<MemoryOperation | null>
}

/** The ids by which a memory is read, changed or removed. */
export interface MemoryIds {
  readonly assistantId: string
  readonly memoryId: string
}

interface MemoryTypes extends RoomTypes {
  readonly calls: { readonly memories: MemoryCalls }
  readonly request: { readonly memory?: MemoryMode | MemoryWish }
  /** The memories that the model was given with the message. */
  readonly reply: CitedReply & { readonly memories: ReadonlyArray<RetrievedMemory> }
  readonly event: {
    readonly _tag: "MemoriesRetrieved"
    readonly sequence: number
    readonly memories: ReadonlyArray<RetrievedMemory>
  }
}

/** What `memory()` gives. */
export type MemoryRoom = Room<MemoryTypes, RoomNeeds>

export const memory = ({ reranker: ordering, ...given }: MemoryOptions = {}): MemoryRoom =>
  room<MemoryTypes>()(
    Layer.provide(Memory.layer(given), ordering === undefined ? Layer.empty : Layer.succeed(Reranker, ordering)),
    functions
  )

const functions = Effect.gen(function* () {
  const service = yield* Memories

  const calls = (run: RunCall): MemoryCalls => ({
    add: async ({ assistantId, ...text }, options) => {
      // Callers in plain JavaScript may name it otherwise.
      if (typeof text.content !== "string") throw new TypeError("A memory has its text as `content`.")
      return run(() => service.add(readId(AssistantId, assistantId), text), options)
    },
    list: ({ assistantId, limit, skip }, options) => {
      const window = () =>
        limit === undefined && skip === undefined ? null : readPage({ skip, limit: limit ?? maximumLimit })
      const listed = () => service.list(readId(AssistantId, assistantId), window())
      return run(() => Effect.map(listed(), ({ memories }) => memories), options)
    },
    search: ({ assistantId, at = null, limit = 10, query }, options) =>
      run(
        () =>
          service.search(readId(AssistantId, assistantId), query, readCount("limit", limit), at && readTime("at", at)),
        options
      ),
    get: (ids, options) => run(() => service.get(...readIds(ids)), options),
    update: ({ assistantId, memoryId, ...text }, options) =>
      run(() => service.update(...readIds({ assistantId, memoryId }), text), options),
    remove: (ids, options) => run(() => Effect.asVoid(service.remove(...readIds(ids))), options),
    forgetAll: (id, options) => run(() => Effect.asVoid(service.forgetAll(readId(AssistantId, id))), options),
    export: (id, options) => run(() => service.export(readId(AssistantId, id)), options),
    import: ({ assistantId, lines }, options) =>
      run(() => service.import(readId(AssistantId, assistantId), lines), options),
    learned: ({ runId }, options) => run(() => learned(readId(RunId, runId)), options)
  })

  const learned = (id: RunId) =>
    Effect.map(
      awaited(
        Effect.map(service.operation(id), (found) => {
          const isOver = Option.isNone(found) || found.value.status === "COMPLETED" || found.value.status === "FAILED"
          return isOver ? { operation: Option.getOrNull(found) } : null
        })
      ),
      ({ operation }) => operation
    )

  const joined: RoomFunctions<MemoryTypes> = {
    name: memoryPartName,
    fields: ["memory"],
    calls: (run) => ({ memories: calls(run) }),
    begin: ({ memory: wish }, request, next) => {
      const { mode, ...rest } = typeof wish === "object" ? wish : { mode: wish }
      if (mode === undefined || mode === "off") return next(request)
      return next(withOptions(request, memoryPartName, { ...rest, mode: modes[mode] ?? mode }))
    },
    reply: ({ supplements }) =>
      Effect.succeed({ memories: readKept(supplements[memoryPartName])?.retrieved ?? [], ...cited(supplements) }),
    event: ({ data, part, sequence }) => {
      if (part !== memoryPartName) return null
      return { _tag: "MemoriesRetrieved", sequence, memories: toldMemories(data) }
    }
  }
  return joined
})

/** A wrong word goes to the part, whose refusal names the right ones. */
const modes: { readonly [Mode in string]?: string } = { auto: "Auto", readonly: "Readonly" }

const readIds = ({ assistantId, memoryId }: MemoryIds) =>
  [readId(AssistantId, assistantId), readId(MemoryId, memoryId)] as const

const toldMemories = (data: unknown): ReadonlyArray<RetrievedMemory> =>
  readKept({ ...(isObject(data) ? { retrieved: data["memories"] } : {}), learns: false })?.retrieved ?? []
const isObject = Schema.is(Schema.JsonObject)
