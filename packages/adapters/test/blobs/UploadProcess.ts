/**
 * Many large uploads and downloads at once, in a process of its own: prints by how much the process grew while it did each,
 * in megabytes, after the largest of samples taken every 10 ms. The bytes come 64 KiB at a time, in a buffer that each upload fills again
 * and again: what is measured is what the store needs, and the chunks of a real socket would wait for the garbage collector.
 */
import { Principal } from "@colloquy/core"
import { BlobId, newId } from "@colloquy/core/adapters"
import { BlobStore } from "@colloquy/core/documents"
import * as Effect from "effect/Effect"
import type * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import * as Stream from "effect/Stream"
import { FolderBlobs } from "../../src/blobs/index.ts"
import { Postgres } from "../../src/postgres/index.ts"

const [kind = "", place = "", schema = ""] = process.argv.slice(2)
const [files, chunks, chunkSize] = [8, 800, 65_536]

const store: Layer.Layer<BlobStore, unknown> =
  kind === "folder" ? FolderBlobs.layer({ folder: place }) : Postgres.layer({ url: Redacted.make(place), schema })

const fromSocket = (count: number) =>
  Stream.suspend(() => {
    const chunk = new Uint8Array(chunkSize)
    return Stream.range(1, count).pipe(
      Stream.rechunk(1),
      Stream.mapEffect((number) =>
        // A socket gives its turn to others between two reads.
        Effect.callback<Uint8Array>((resume) => {
          setImmediate(() => resume(Effect.succeed(chunk.fill(number))))
        })
      )
    )
  })

const upload = (count: number) =>
  Effect.gen(function* () {
    const id = yield* newId(BlobId)
    return { id, stored: yield* (yield* BlobStore).put(id, fromSocket(count)) }
  })

const storedSize = (id: BlobId) =>
  Effect.flatMap(BlobStore, (blobs) =>
    Stream.runFold(
      blobs.get(id),
      () => 0,
      (sum, { length }) => sum + length
    )
  )

/** Answers how to stop it, which gives the growth in megabytes. */
const watchMemory = () => {
  const before = process.memoryUsage.rss()
  let most = before
  const timer = setInterval(() => {
    most = Math.max(most, process.memoryUsage.rss())
  }, 10)
  return () => {
    clearInterval(timer)
    return (most - before) / 1e6
  }
}

const program = Effect.gen(function* () {
  // What is loaded and opened at the first use is no cost of uploads.
  yield* storedSize((yield* upload(20)).id)
  globalThis.gc?.()
  const uploads = watchMemory()
  const uploaded = yield* Effect.all(
    Array.from({ length: files }, () => upload(chunks)),
    { concurrency: "unbounded" }
  )
  const uploading = uploads()
  const downloads = watchMemory()
  const sizes = yield* Effect.forEach(uploaded, ({ id }) => storedSize(id), { concurrency: "unbounded" })
  return { uploading, downloading: downloads(), sizes, sums: new Set(uploaded.map(({ stored }) => stored.sha256)).size }
})

console.log(
  JSON.stringify(
    await Effect.runPromise(program.pipe(Principal.provide("ada"), Effect.provide(store)) as Effect.Effect<unknown>)
  )
)
