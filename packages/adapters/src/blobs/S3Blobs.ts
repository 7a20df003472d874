/**
 * `BlobStore` on a service with the S3 protocol: `<prefix>/<hash of the owner>/<id>`. A blob that is longer than one part is sent as a multipart
 * upload, so that it becomes visible only when it is complete. `sweep` aborts uploads whose process died; a lifecycle rule of the bucket can
 * do the same.
 */
import { Principal, StoreUnavailable } from "@colloquy/core"
import { type BlobId } from "@colloquy/core/adapters"
import { BlobNotFound, BlobStore, type StoredBytes } from "@colloquy/core/documents"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Stream from "effect/Stream"
import { createHash } from "node:crypto"
import { cutBytes, writePieces } from "./Pieces.ts"
import { clampRange } from "./Range.ts"
import { s3Client, type S3Client, type S3Options } from "./S3Client.ts"
import { readListing, readUploadId, readUploads, type S3Listing, type S3Uploads } from "./S3Xml.ts"

export type { S3Options } from "./S3Client.ts"

/** A bucket, and the beginning of the names of its objects. */
export interface S3BlobOptions extends S3Options {
  /** The beginning of every key. Default `colloquy`. */
  readonly prefix?: string
}

/** The smallest part that S3 allows, except for the last one. An upload holds one part in memory. */
const partSize = 5 * 1024 * 1024

/** Keeps the bytes of files in a bucket of S3 or of a service that speaks its protocol. */
export const layer = (options: S3BlobOptions): Layer.Layer<BlobStore> =>
  Layer.sync(BlobStore, () => s3Blobs(s3Client(options), options.prefix ?? "colloquy"))

const s3Blobs = (client: S3Client, prefix: string): typeof BlobStore.Service => {
  /** The owner is hashed and the id is checked, so that no text from outside can change a key. */
  const objectKey = (owner: string, id: BlobId): string | undefined =>
    isPlain(id) ? `${prefix}/${createHash("sha256").update(owner).digest("hex")}/${id}` : undefined

  const withKey = <A, E, R>(id: BlobId, absent: A, use: (key: string) => Effect.Effect<A, E, R>) =>
    Effect.flatMap(Principal, ({ ownerId }): Effect.Effect<A, E, R> => {
      const key = objectKey(ownerId, id)
      return key === undefined ? Effect.succeed(absent) : use(key)
    })

  const removeObject = Effect.fnUntraced(function* (key: string) {
    const found = yield* objectSize(client, "BlobStore.remove", key)
    if (Option.isNone(found)) return false
    yield* client.send("BlobStore.remove", { method: "DELETE", key, expected: [200, 204, 404] })
    return true
  })

  const removeUnneeded = Effect.fnUntraced(function* <E, R>(
    objects: S3Listing["objects"],
    before: Date,
    unneeded: Unneeded<E, R>
  ): Effect.fn.Return<number, E | StoreUnavailable, R> {
    const old = new Map(objects.filter(({ at }) => at < before).map(({ key }) => [blobIdFromKey(key), key]))
    if (old.size === 0) return 0
    let count = 0
    for (const id of yield* unneeded([...old.keys()])) {
      const key = old.get(id)
      if (key === undefined) continue
      yield* client.send("BlobStore.sweep", { method: "DELETE", key, expected: [200, 204, 404] })
      count++
    }
    return count
  })

  return BlobStore.of({
    put: Effect.fnUntraced(function* (id, bytes) {
      const { ownerId } = yield* Principal
      const key = objectKey(ownerId, id)
      if (key === undefined) return yield* Effect.die(new Error(`A blob cannot have the id "${id}".`))
      if (Option.isSome(yield* objectSize(client, "BlobStore.put", key))) {
        return yield* Effect.die(new Error(`A blob with the id "${id}" exists already.`))
      }
      return yield* upload(client, key, bytes)
    }),

    head: (id) =>
      withKey(id, Option.none<{ readonly size: number }>(), (key) => objectSize(client, "BlobStore.head", key)),

    get: Effect.fnUntraced(function* (id, range) {
      const found = yield* withKey(id, Option.none(), (key) =>
        Effect.map(
          objectSize(client, "BlobStore.get", key),
          Option.map(({ size }) => ({ key, size }))
        )
      )
      if (Option.isNone(found)) return yield* new BlobNotFound({ blobId: id })
      const { from, to } = clampRange(found.value.size, range)
      return from === to ? Stream.empty : download(client, id, found.value.key, from, to)
    }, Stream.unwrap),

    remove: (id) => withKey(id, false, removeObject),

    sweep: Effect.fnUntraced(function* <E, R>(
      before: Date,
      unneeded: Unneeded<E, R>
    ): Effect.fn.Return<number, E | StoreUnavailable, R> {
      const counts = Stream.mapEffect(listed(client, prefix), (objects) => removeUnneeded(objects, before, unneeded))
      const count = yield* Stream.runSum(counts)
      yield* abortOld(client, prefix, before)
      return count
    })
  })
}

type Unneeded<E, R> = (ids: ReadonlyArray<BlobId>) => Effect.Effect<ReadonlyArray<BlobId>, E, R>

const isPlain = (id: string): boolean => /^[A-Za-z0-9][A-Za-z0-9-]{0,99}$/u.test(id)

// oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the keys under the prefix end in the ids that `put` was given
const blobIdFromKey = (key: string): BlobId => key.slice(key.lastIndexOf("/") + 1) as BlobId

const objectSize = (client: S3Client, operation: string, key: string) =>
  Effect.map(client.send(operation, { method: "HEAD", key, expected: [200, 404] }), ({ headers, status }) =>
    status === 404 ? Option.none() : Option.some({ size: Number(headers.get("content-length")) })
  )

interface Upload {
  readonly client: S3Client
  readonly key: string
  /** Undefined until the first part is full. */
  uploadId: string | undefined
  readonly etags: Array<string>
}

const putWhole = ({ client, key }: Upload, body: Uint8Array) =>
  client.send("BlobStore.put", { method: "PUT", key, body, expected: [200] })

const beginUpload = ({ client, key }: Upload) =>
  Effect.map(
    client.send("BlobStore.put", { method: "POST", key, query: { uploads: "" }, expected: [200] }),
    ({ text }) => readUploadId(text)
  )

const writePart = Effect.fnUntraced(function* (to: Upload, part: Uint8Array, index: number) {
  if (index === 0 && part.length < partSize) return yield* Effect.asVoid(putWhole(to, part))
  to.uploadId ??= yield* Effect.uninterruptible(beginUpload(to))
  const query = { partNumber: String(index + 1), uploadId: to.uploadId }
  const { headers } = yield* to.client.send("BlobStore.put", {
    method: "PUT",
    key: to.key,
    query,
    body: part,
    expected: [200]
  })
  to.etags.push(headers.get("etag") ?? "")
})

const completeUpload = Effect.fnUntraced(function* ({ client, etags, key, uploadId }: Upload) {
  if (uploadId === undefined) return
  const parts = etags.map((etag, index) => `<Part><PartNumber>${index + 1}</PartNumber><ETag>${etag}</ETag></Part>`)
  const body = new TextEncoder().encode(`<CompleteMultipartUpload>${parts.join("")}</CompleteMultipartUpload>`)
  const answer = yield* client.send("BlobStore.put", {
    method: "POST",
    key,
    query: { uploadId },
    body,
    expected: [200]
  })
  // The service sends the status 200 before it has finished, so the body may still contain an error.
  if (answer.text.includes("<Error>")) return yield* new StoreUnavailable({ operation: "BlobStore.put" })
})

const abortUpload = ({ client, key, uploadId }: Upload) =>
  uploadId === undefined
    ? Effect.void
    : client.send("BlobStore.put", { method: "DELETE", key, query: { uploadId }, expected: [200, 204, 404] })

/** If the answer was lost, a service does not know the upload any more, but has the object. No other object ever has this key. */
const completeOnce = (to: Upload, size: number): Effect.Effect<void, StoreUnavailable> =>
  Effect.catch(completeUpload(to), (lost) =>
    Effect.flatMap(objectSize(to.client, "BlobStore.put", to.key), (found): Effect.Effect<void, StoreUnavailable> =>
      Option.isSome(found) && found.value.size === size ? Effect.void : Effect.fail(lost)
    )
  )

/** A blob that fits into one part is sent with one request. A multipart upload begins when the first part is full. */
const upload = <E, R>(
  client: S3Client,
  key: string,
  bytes: Stream.Stream<Uint8Array, E, R>
): Effect.Effect<StoredBytes, E | StoreUnavailable, R> =>
  Effect.suspend(() => {
    const to: Upload = { client, key, uploadId: undefined, etags: [] }
    return writePieces(bytes, partSize, (part, index) => writePart(to, part, index)).pipe(
      Effect.tap(({ size }) => (size === 0 ? putWhole(to, new Uint8Array()) : completeOnce(to, size))),
      Effect.onExit((exit) => (Exit.isSuccess(exit) ? Effect.void : Effect.ignore(abortUpload(to))))
    )
  })

/** If the body is shorter than announced, `fetch` reports a broken connection, so an incomplete body is never taken for complete. */
const download = Effect.fnUntraced(function* (client: S3Client, id: BlobId, key: string, from: number, to: number) {
  const answer = yield* client.open("BlobStore.get", {
    method: "GET",
    key,
    headers: { range: `bytes=${from}-${to - 1}` },
    expected: [200, 206, 404]
  })
  if (answer.status === 404 || answer.body === null) return yield* new BlobNotFound({ blobId: id })
  const { body } = answer
  return Stream.fromReadableStream({
    evaluate: () => body,
    onError: (cause) => new StoreUnavailable({ operation: "BlobStore.get", cause })
    // A service may ignore the range and send the whole object, or more than was requested.
  }).pipe(cutBytes(answer.status === 200 ? from : 0, to - from))
}, Stream.unwrap)

/** Lists all objects under the prefix, page by page. */
const listed = (client: S3Client, prefix: string): Stream.Stream<S3Listing["objects"], StoreUnavailable> =>
  Stream.paginate("", (token) =>
    Effect.map(
      client.send("BlobStore.sweep", {
        method: "GET",
        query: { "list-type": "2", prefix: `${prefix}/`, ...(token === "" ? {} : { "continuation-token": token }) },
        expected: [200]
      }),
      ({ text }) => {
        const { next, objects } = readListing(text)
        return [[objects], next] as const
      }
    )
  )

/** Lists the unfinished uploads under the prefix, page by page. A service that cannot list them gives none. */
const listedUploads = (client: S3Client, prefix: string): Stream.Stream<S3Uploads["uploads"], StoreUnavailable> =>
  Stream.paginate({ key: "", uploadId: "" }, (after) =>
    Effect.map(
      client.send("BlobStore.sweep", {
        method: "GET",
        query: {
          uploads: "",
          prefix: `${prefix}/`,
          ...(after.key === "" ? {} : { "key-marker": after.key, "upload-id-marker": after.uploadId })
        },
        expected: [200, 405, 501]
      }),
      ({ status, text }) => {
        const { next, uploads } = readUploads(status === 200 ? text : "")
        return [[uploads], next] as const
      }
    )
  )

/** Aborts old uploads. For a service that cannot list uploads, only a lifecycle rule of the bucket can do this. */
const abortOld = (client: S3Client, prefix: string, before: Date) =>
  Stream.runForEach(listedUploads(client, prefix), (uploads) =>
    Effect.forEach(
      uploads.filter(({ at }) => at < before),
      ({ key, uploadId }) =>
        client.send("BlobStore.sweep", { method: "DELETE", key, query: { uploadId }, expected: [200, 204, 404] }),
      { discard: true }
    )
  )
