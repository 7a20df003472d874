/** `BlobStore` in a folder: its contract, and what is on the disk. */
import { Principal } from "@colloquy/core"
import { BlobId, newId } from "@colloquy/core/adapters"
import { blobStoreSuite } from "@colloquy/testing/contracts"
import { BlobStore } from "@colloquy/core/documents"
import { assert, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Stream from "effect/Stream"
import { mkdtemp, readdir, readFile, rm, utimes, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"
import { FolderBlobs } from "../../src/blobs/index.ts"

const scratchFolder = Effect.acquireRelease(
  Effect.promise(() => mkdtemp(join(tmpdir(), "blobs-"))),
  (folder) => Effect.promise(() => rm(folder, { recursive: true }))
)

blobStoreSuite(
  "BlobStore in a folder",
  Layer.unwrap(Effect.map(scratchFolder, (folder) => FolderBlobs.layer({ folder })))
)

const filesIn = (folder: string) =>
  Effect.promise(async () =>
    (await readdir(folder, { recursive: true, withFileTypes: true })).flatMap((entry) =>
      entry.isFile() ? [join(entry.parentPath, entry.name)] : []
    )
  )

it.live("keeps a blob as one plain file, and an upload that broke as none", () =>
  Effect.gen(function* () {
    const folder = yield* scratchFolder
    const store = yield* Effect.provide(BlobStore, FolderBlobs.layer({ folder }))
    const id = yield* newId(BlobId)
    yield* store.put(id, Stream.make(new TextEncoder().encode("tea")))
    yield* Effect.exit(
      store.put(yield* newId(BlobId), Stream.concat(Stream.make(new Uint8Array(1_000_000)), Stream.fail("broken")))
    )
    const [file, ...others] = yield* filesIn(folder)
    assert.deepStrictEqual(others, [])
    assert.strictEqual(yield* Effect.promise(() => readFile(file ?? "", "utf8")), "tea")
  }).pipe(Principal.provide("../../etc"), Effect.scoped)
)

it.live("sweeps blobs beside files of other programs, and leaves those", () =>
  Effect.gen(function* () {
    const folder = yield* scratchFolder
    const store = yield* Effect.provide(BlobStore, FolderBlobs.layer({ folder }))
    yield* store.put(yield* newId(BlobId), Stream.make(new Uint8Array(3)))
    const [blob = ""] = yield* filesIn(folder)
    const others = [join(folder, "blobs", ".DS_Store"), join(dirname(blob), ".DS_Store")]
    yield* Effect.promise(() => Promise.all(others.map((path) => writeFile(path, "x"))))
    yield* Effect.promise(() => Promise.all([blob, ...others].map((path) => utimes(path, 1000, 1000))))
    assert.strictEqual(yield* store.sweep(new Date(2_000_000), Effect.succeed), 1)
    assert.sameMembers([...(yield* filesIn(folder))], others)
  }).pipe(Principal.provide("ada"), Effect.scoped)
)

it.live("sweeps what a process left that died during an upload, once it is old", () =>
  Effect.gen(function* () {
    const folder = yield* scratchFolder
    const store = yield* Effect.provide(BlobStore, FolderBlobs.layer({ folder }))
    const [old, recent] = [join(folder, "unfinished", "old"), join(folder, "unfinished", "recent")]
    yield* Effect.promise(() => Promise.all([old, recent].map((path) => writeFile(path, "half"))))
    yield* Effect.promise(() => utimes(old, 1000, 1000))
    assert.strictEqual(yield* store.sweep(new Date(2_000_000), Effect.succeed), 0)
    assert.deepStrictEqual(yield* filesIn(folder), [recent])
  }).pipe(Effect.scoped)
)
