/**
 * `BlobStore` in a folder: `<folder>/blobs/<hash of the owner>/<id>`. A file is written in another folder and linked under its name when it is
 * complete, so that a killed process never leaves an incomplete blob. Any number of processes may share the folder.
 */
import { Principal, StoreUnavailable } from "@colloquy/core"
import { type BlobId } from "@colloquy/core/adapters"
import { BlobNotFound, BlobStore } from "@colloquy/core/documents"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Stream from "effect/Stream"
import { createHash, randomUUID } from "node:crypto"
import { createReadStream } from "node:fs"
import { type FileHandle, link, mkdir, open, readdir, rm, stat, unlink } from "node:fs/promises"
import { join } from "node:path"
import { writePieces } from "./Pieces.ts"
import { clampRange } from "./Range.ts"

/** The folder in which bytes of files are stored. */
export interface FolderOptions {
  /** The folder. It is created if it does not exist. */
  readonly folder: string
}

/** Keeps the bytes of files in a folder of this machine. */
export const layer = ({ folder }: FolderOptions): Layer.Layer<BlobStore, StoreUnavailable> =>
  Layer.effect(
    BlobStore,
    Effect.gen(function* () {
      const folders = { blobs: join(folder, "blobs"), unfinished: join(folder, "unfinished") }
      yield* attempt("BlobStore.open", () => mkdir(folders.blobs, { recursive: true }))
      yield* attempt("BlobStore.open", () => mkdir(folders.unfinished, { recursive: true }))
      return folderBlobs(folders)
    })
  )

interface Folders {
  readonly blobs: string
  readonly unfinished: string
}

/** The bytes of one write. An upload holds so many in memory. */
const pieceSize = 64 * 1024

const folderBlobs = (folders: Folders): typeof BlobStore.Service => {
  /** The owner is hashed and the id is checked, so that no text from outside can change a path. */
  const ownerFolder = (owner: string) => join(folders.blobs, createHash("sha256").update(owner).digest("hex"))
  const blobPath = (owner: string, id: BlobId): string | undefined =>
    isPlain(id) ? join(ownerFolder(owner), id) : undefined

  const head = (id: BlobId) =>
    Principal.use(({ ownerId }) => {
      const path = blobPath(ownerId, id)
      return path === undefined
        ? Effect.succeedNone
        : Effect.map(
            present("BlobStore.head", () => stat(path)),
            Option.map(({ size }) => ({ size }))
          )
    })

  return BlobStore.of({
    put: Effect.fnUntraced(function* (id, bytes) {
      const { ownerId } = yield* Principal
      const path = blobPath(ownerId, id)
      if (path === undefined) return yield* Effect.die(new Error(`A blob cannot have the id "${id}".`))
      return yield* Effect.acquireUseRelease(
        attempt("BlobStore.put", () => openUnfinished(folders)),
        (file) =>
          Effect.tap(
            writePieces(bytes, pieceSize, (piece) => attempt("BlobStore.put", () => writeAll(file.handle, piece))),
            () => attempt("BlobStore.put", () => publish(file, ownerFolder(ownerId), path))
          ),
        (file) => Effect.promise(() => discard(file))
      )
    }),

    head,

    get: Effect.fnUntraced(function* (id, range) {
      const { ownerId } = yield* Principal
      const found = yield* head(id)
      const path = blobPath(ownerId, id)
      if (Option.isNone(found) || path === undefined) return yield* new BlobNotFound({ blobId: id })
      const { from, to } = clampRange(found.value.size, range)
      if (from === to) return Stream.empty
      // A file that is removed before it is opened is not found. Once open, it can be read to its end even if it is removed.
      return Stream.fromAsyncIterable(createReadStream(path, { start: from, end: to - 1 }), (cause) =>
        isMissing(cause) ? new BlobNotFound({ blobId: id }) : unavailable("BlobStore.get", cause)
      )
    }, Stream.unwrap),

    remove: (id) =>
      Principal.use(({ ownerId }) => {
        const path = blobPath(ownerId, id)
        return path === undefined
          ? Effect.succeed(false)
          : Effect.map(
              present("BlobStore.remove", () => unlink(path)),
              Option.isSome
            )
      }),

    sweep: Effect.fnUntraced(function* (before, unneeded) {
      let count = 0
      const entries = yield* attempt("BlobStore.sweep", () => readdir(folders.blobs, { withFileTypes: true }))
      // Other programs may leave files of their own in the folder, for example `.DS_Store`.
      for (const { name: owner } of entries.filter((entry) => entry.isDirectory())) {
        const folder = join(folders.blobs, owner)
        const old = yield* attempt("BlobStore.sweep", () => olderThan(folder, before))
        for (let at = 0; at < old.length; at += groupSize) {
          for (const id of yield* unneeded(old.slice(at, at + groupSize))) {
            yield* attempt("BlobStore.sweep", () => rm(join(folder, id), { force: true }))
            count++
          }
        }
      }
      for (const name of yield* attempt("BlobStore.sweep", () => olderThan(folders.unfinished, before))) {
        yield* attempt("BlobStore.sweep", () => rm(join(folders.unfinished, name), { force: true }))
      }
      return count
    })
  })
}

const groupSize = 500

const isPlain = (id: string): boolean => /^[A-Za-z0-9][A-Za-z0-9-]{0,99}$/u.test(id)

interface UnfinishedFile {
  readonly path: string
  readonly handle: FileHandle
}

const openUnfinished = async ({ unfinished }: Folders): Promise<UnfinishedFile> => {
  const path = join(unfinished, randomUUID())
  return { path, handle: await open(path, "wx") }
}

const writeAll = async (handle: FileHandle, piece: Uint8Array): Promise<void> => {
  for (let at = 0; at < piece.length;) at += (await handle.write(piece, at)).bytesWritten
}

/** Uses a link, because a rename would silently replace an existing file. */
const publish = async ({ handle, path }: UnfinishedFile, folder: string, target: string): Promise<void> => {
  await handle.sync()
  await mkdir(folder, { recursive: true })
  await link(path, target)
}

const discard = async ({ handle, path }: UnfinishedFile): Promise<void> => {
  await handle.close()
  await rm(path, { force: true })
}

/** The files last written before a moment. A file that disappears meanwhile is skipped. */
const olderThan = async (folder: string, before: Date): Promise<ReadonlyArray<BlobId>> => {
  const names = (await readdir(folder)).filter(isPlain)
  const old: Array<BlobId> = []
  for (const name of names) {
    const found = await stat(join(folder, name)).catch(() => undefined)
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the names in these folders are the ids that `put` was given
    if (found !== undefined && found.mtime < before) old.push(name as BlobId)
  }
  return old
}

const errorCode = (cause: unknown): unknown =>
  typeof cause === "object" && cause !== null && "code" in cause ? cause.code : undefined

const isMissing = (cause: unknown): boolean => errorCode(cause) === "ENOENT"

const unavailable = (operation: string, cause: unknown) => new StoreUnavailable({ operation, cause })

/** An existing name is a mistake of the caller and a defect. Every other error of the file system is `StoreUnavailable`. */
const attempt = <A>(operation: string, run: () => Promise<A>): Effect.Effect<A, StoreUnavailable> =>
  Effect.catch(
    Effect.tryPromise({ try: run, catch: (cause) => unavailable(operation, cause) }),
    (error): Effect.Effect<never, StoreUnavailable> =>
      errorCode(error.cause) === "EEXIST" ? Effect.die(error.cause) : Effect.fail(error)
  )

/** Like `attempt`; None when the file does not exist. */
const present = <A>(operation: string, run: () => Promise<A>): Effect.Effect<Option.Option<A>, StoreUnavailable> =>
  attempt(operation, () =>
    run().then(Option.some, (cause: unknown) => {
      if (isMissing(cause)) return Option.none<A>()
      throw cause
    })
  )
