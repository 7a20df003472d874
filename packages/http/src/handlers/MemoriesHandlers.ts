/** Memories over HTTP: decode, call the use case, encode. A host that has not installed `Memory.layer()` answers 501. */
import { AssistantId, RunId } from "@colloquy/core"
import { readDate, longestMemory, Memories, MemoryId } from "@colloquy/core/wings"
import * as Effect from "effect/Effect"
import * as HttpApiBuilder from "effect/http-api/HttpApiBuilder"
import * as Option from "effect/Option"
import { Api } from "../Api.ts"
import { bodyReader } from "../wings/BodyReader.ts"
import { memoryBodies } from "../endpoints/MemoriesApi.ts"
import { NotFound, NotImplemented } from "../wire/Errors.ts"
import { toWireError } from "../wire/ErrorStatus.ts"
import { compact, given, writeTimestamp } from "../wire/Fields.ts"
import { type MemoryRequest, mostFound } from "../wire/Memories.ts"
import { writePage } from "../encoding/EncodeList.ts"
import { memoryToWire, operationToWire, versionToWire } from "../encoding/EncodeMemories.ts"

export const layer = HttpApiBuilder.group(
  Api,
  "memories",
  Effect.fnUntraced(function* (handlers) {
    const installed = yield* Effect.serviceOption(Memories)
    const read = yield* bodyReader
    const memories = Option.match(installed, {
      onNone: () => Effect.fail(new NotImplemented({ detail })),
      onSome: (service) => Effect.succeed(service)
    })

    return handlers
      .handle(
        "list",
        Effect.fnUntraced(function* ({ params, query }) {
          const { list } = yield* memories
          const paged = readPage(query)
          const found = yield* Effect.mapError(list(assistantIdFrom(params), paged?.window ?? null), toWireError)
          const all = found.memories.map((memory) => memoryToWire(memory))
          const total_count = found.total
          if (paged === null) return yield* writePage("memories", all, { total_count })
          const { page, page_size } = paged
          const total_pages = Math.ceil(found.total / page_size)
          return yield* writePage("memories", all, { total_count, page, page_size, total_pages })
        })
      )
      .handleRaw(
        "add",
        Effect.fnUntraced(function* (raw) {
          const { add } = yield* memories
          const { value } = yield* read(memoryBodies.add, raw)
          const { content, id } = yield* Effect.mapError(
            add(assistantIdFrom(raw.params), memoryFromBody(value)),
            toWireError
          )
          return { success: true as const, memory_id: id, content }
        })
      )
      .handle(
        "forgetAll",
        Effect.fnUntraced(function* ({ params }) {
          const { forgetAll } = yield* memories
          const gone = yield* Effect.mapError(forgetAll(assistantIdFrom(params)), toWireError)
          return {
            success: true as const,
            message: `${counted(gone.memories, "memory", "memories")} and ${counted(gone.versions, "earlier version", "earlier versions")} were deleted.`
          }
        })
      )
      .handle("export", ({ params }) =>
        Effect.flatMap(memories, ({ export: write }) => Effect.mapError(write(assistantIdFrom(params)), toWireError))
      )
      .handleRaw(
        "import",
        Effect.fnUntraced(function* (raw) {
          const { import: take } = yield* memories
          const { value } = yield* read(memoryBodies.import, raw)
          return yield* Effect.mapError(take(assistantIdFrom(raw.params), value), toWireError)
        })
      )
      .handle(
        "stats",
        Effect.fnUntraced(function* ({ params }) {
          const { stats } = yield* memories
          const { lastUpdated, total } = yield* Effect.mapError(stats(assistantIdFrom(params)), toWireError)
          return {
            total_memories: total,
            last_updated: lastUpdated === null ? null : writeTimestamp(lastUpdated),
            limits: { content_characters: longestMemory, search_results: mostFound }
          }
        })
      )
      .handleRaw(
        "search",
        Effect.fnUntraced(function* (raw) {
          const { noteOn, search } = yield* memories
          const { at, limit, query } = (yield* read(memoryBodies.search, raw)).value
          const found = search(assistantIdFrom(raw.params), query, limit ?? 5, readDate(at))
          const hits = yield* Effect.mapError(found, toWireError)
          return {
            memories: hits.map(({ memory, score }) => memoryToWire(memory, score)),
            total_count: hits.length,
            ...compact({ note: given(noteOn(query)) })
          }
        })
      )
      .handle("get", ({ params }) =>
        Effect.flatMap(memories, ({ get }) =>
          get(assistantIdFrom(params), memoryIdFrom(params)).pipe(
            Effect.map((memory) => memoryToWire(memory)),
            Effect.mapError(toWireError)
          )
        )
      )
      .handleRaw(
        "update",
        Effect.fnUntraced(function* (raw) {
          const { update } = yield* memories
          const { value } = yield* read(memoryBodies.update, raw)
          const changed = update(assistantIdFrom(raw.params), memoryIdFrom(raw.params), memoryFromBody(value))
          return memoryToWire(yield* Effect.mapError(changed, toWireError))
        })
      )
      .handle(
        "remove",
        Effect.fnUntraced(function* ({ params }) {
          const { remove } = yield* memories
          const gone = yield* Effect.mapError(remove(assistantIdFrom(params), memoryIdFrom(params)), toWireError)
          return {
            success: true as const,
            message: `The memory and ${counted(gone.versions, "earlier version", "earlier versions")} were deleted.`
          }
        })
      )
      .handle(
        "history",
        Effect.fnUntraced(function* ({ params }) {
          const { history } = yield* memories
          const versions = yield* Effect.mapError(history(assistantIdFrom(params), memoryIdFrom(params)), toWireError)
          return { versions: versions.map(versionToWire), total_count: versions.length }
        })
      )
      .handle(
        "operation",
        Effect.fnUntraced(function* ({ params }) {
          const { operation } = yield* memories
          const found = yield* Effect.mapError(operation(RunId.make(params.operation_id)), toWireError)
          return Option.isSome(found)
            ? operationToWire(found.value)
            : yield* new NotFound({ detail: `There is no memory operation ${params.operation_id}.` })
        })
      )
  })
)

const detail = "Memories are not available on this server: its host has not installed them."

const assistantIdFrom = ({ assistant_id }: { readonly assistant_id: string }) => AssistantId.make(assistant_id)

/** An empty id is what the router makes of a missing one; no memory has it. */
const memoryIdFrom = ({ memory_id }: { readonly memory_id: string }) =>
  MemoryId.make(memory_id === "" ? "none" : memory_id)

const memoryFromBody = ({ content, metadata, said_at, session, speaker }: MemoryRequest) => ({
  content,
  ...compact({
    metadata: given(metadata),
    saidAt: readMoment(given(said_at)),
    session: given(session),
    speaker: given(speaker)
  })
})

const readMoment = (text: string | null | undefined) => (text === undefined ? undefined : readDate(text))

/** Null: all of them. */
const readPage = ({ page, page_size }: { readonly page?: number; readonly page_size?: number }) => {
  if (page === undefined && page_size === undefined) return null
  const [number, size] = [page ?? 1, page_size ?? 25]
  return { page: number, page_size: size, window: { skip: (number - 1) * size, limit: size } }
}

const counted = (count: number, one: string, many: string): string => `${count} ${count === 1 ? one : many}`
