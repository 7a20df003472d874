/**
 * Everything of an owner as one tar archive, read in pages while it is sent. An entry's size stands before its bytes, so the lines of a file
 * are read twice: to count them, and to send them. What was added in between is cut off, what was removed is filled with empty lines.
 */
import {
  type Assistant,
  Assistants,
  Billing,
  type Message,
  type Principal,
  type StoreUnavailable,
  type Thread,
  Threads
} from "@colloquy/core"
import { type Document, Documents, Memories, type MemoryRecord } from "@colloquy/core/wings"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Stream from "effect/Stream"
import { assistantToWire, messageToWire, threadToWire } from "../encoding/Encode.ts"
import { documentToWire } from "../encoding/EncodeDocuments.ts"
import { memoryToWire } from "../encoding/EncodeMemories.ts"
import { usageToWire } from "../encoding/EncodeModels.ts"
import { tarEnd, tarHeader, tarPadding } from "../streams/Tar.ts"

const atOnce = 100

type Read<A> = Effect.Effect<ReadonlyArray<A>, StoreUnavailable, Principal>
type Lines = Stream.Stream<string, StoreUnavailable, Principal>
type Bytes = Stream.Stream<Uint8Array, StoreUnavailable, Principal>

/** All pages of a list. */
const pages = <A>(read: (skip: number) => Read<A>): Stream.Stream<A, StoreUnavailable, Principal> =>
  Stream.paginate(0, (skip: number) =>
    Effect.map(
      read(skip),
      (found) => [found, found.length < atOnce ? Option.none() : Option.some(skip + atOnce)] as const
    )
  )

type Wings = Parameters<typeof messageToWire>[1]

export const ownerExport = Effect.gen(function* () {
  const assistants = yield* Assistants
  const threads = yield* Threads
  const billing = yield* Billing
  const documents = Option.getOrNull(yield* Effect.serviceOption(Documents))
  const memories = Option.getOrNull(yield* Effect.serviceOption(Memories))

  const allAssistants: Stream.Stream<Assistant, StoreUnavailable, Principal> = pages((skip) =>
    assistants.list({ skip, limit: atOnce })
  )
  const allThreads: Stream.Stream<Thread, StoreUnavailable, Principal> = pages((skip) =>
    Effect.map(threads.list({ page: { skip, limit: atOnce }, includeMessages: false }), (found) =>
      found.map(({ thread }) => thread)
    )
  )
  const messagesOf = ({ id }: Thread): Stream.Stream<Message, StoreUnavailable, Principal> =>
    pages((skip) => threads.messages(id, skip, atOnce))
  const allDocuments: Stream.Stream<Document, StoreUnavailable, Principal> =
    documents === null ? Stream.empty : pages((skip) => documents.listAll({ skip, limit: atOnce }))
  const memoriesOf = ({ id }: Assistant): Stream.Stream<MemoryRecord, StoreUnavailable, Principal> =>
    memories === null
      ? Stream.empty
      : pages((skip) =>
          Effect.map(memories.list(id, { skip, limit: atOnce }), (found) => found.memories).pipe(
            // An assistant that was deleted meanwhile has none.
            Effect.catchIf(
              (error) => error._tag !== "StoreUnavailable",
              () => Effect.succeed([])
            )
          )
        )
  const usage = pages((skip) => Effect.map(billing.recentUsage({ skip, limit: atOnce }), ({ days }) => days))

  const bytesOf = (document: Document): Bytes =>
    documents === null
      ? Stream.empty
      : Stream.unwrap(Effect.map(documents.content(document.id), ({ bytes }) => bytes)).pipe(
          // A file that was deleted meanwhile is filled with zeros.
          Stream.catchTags({ DocumentNotFound: () => Stream.empty, BlobNotFound: () => Stream.empty })
        )

  return (wings: Wings, at: Date): Bytes => {
    const linesOf = <A>(all: Stream.Stream<A, StoreUnavailable, Principal>, toWire: (each: A) => object): Lines =>
      Stream.map(all, (each) => `${JSON.stringify(toWire(each))}\n`)
    const file = (name: string, lines: Lines): Bytes => {
      const encoded = Stream.map(lines, (line) => encoder.encode(line))
      return Stream.unwrap(
        Effect.map(
          Stream.runFold(
            encoded,
            () => 0,
            (sum, line) => sum + line.length
          ),
          (size) => entry({ name, size, modifiedAt: at }, encoded, newLine)
        )
      )
    }
    return Stream.concat(
      file("assistants.jsonl", linesOf(allAssistants, assistantToWire)),
      file(
        "threads.jsonl",
        linesOf(allThreads, (thread) => threadToWire({ thread, messages: [] }, wings))
      )
    ).pipe(
      Stream.concat(
        file(
          "messages.jsonl",
          linesOf(Stream.flatMap(allThreads, messagesOf), (message) => ({
            thread_id: message.threadId,
            ...messageToWire(message, wings)
          }))
        )
      ),
      Stream.concat(
        file(
          "memories.jsonl",
          linesOf(Stream.flatMap(allAssistants, memoriesOf), (memory) => ({
            assistant_id: memory.assistantId,
            ...memoryToWire(memory)
          }))
        )
      ),
      Stream.concat(file("documents.jsonl", linesOf(allDocuments, documentToWire))),
      Stream.concat(
        Stream.flatMap(allDocuments, (document) =>
          entry({ name: nameOf(document), size: document.size, modifiedAt: document.createdAt }, bytesOf(document), 0)
        )
      ),
      Stream.concat(file("usage.jsonl", linesOf(usage, usageToWire))),
      Stream.concat(Stream.succeed(tarEnd))
    )
  }
})

const encoder = new TextEncoder()
const newLine = 10

/** The name is the user's: it must not lead out of the folder into which the archive is unpacked. */
const nameOf = ({ filename, id }: Document): string =>
  `documents/${id}/${filename.replaceAll(/[/\\\p{Cc}]/gu, "_").replace(/^\.+$/u, "_") || "_"}`

/** Exactly as many bytes as the header says, whatever comes: more are cut off, missing ones are filled. */
const entry = (header: Parameters<typeof tarHeader>[0], bytes: Bytes, filling: number): Bytes =>
  Stream.suspend(() => {
    let left = header.size
    const cut = Stream.map(bytes, (piece) => {
      const some = piece.length <= left ? piece : piece.subarray(0, left)
      left -= some.length
      return some
    })
    const rest: Bytes = Stream.unfold(0, () =>
      Effect.sync(() => {
        const size = Math.min(left, 65_536)
        left -= size
        return size === 0 ? undefined : ([new Uint8Array(size).fill(filling), 0] as const)
      })
    )
    return Stream.succeed(tarHeader(header)).pipe(
      Stream.concat(cut),
      Stream.concat(rest),
      Stream.concat(Stream.succeed(tarPadding(header.size)))
    )
  })
