/**
 * `BlobStore` on PostgreSQL. The bytes of a blob are stored in pieces, one row each. Each piece is written by a statement of its own, so a
 * slow upload occupies no connection and no transaction. The size is written last; a blob without a size is not found. A removal takes the
 * size away first (`beingRemoved`) and then deletes some pieces at a time, because in an embedded database all others wait for a statement.
 */
import { Principal, StoreUnavailable } from "@colloquy/core"
import { type BlobId } from "@colloquy/core/adapters"
import { BlobNotFound, BlobStore } from "@colloquy/core/wings"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Option from "effect/Option"
import * as Stream from "effect/Stream"
import { writePieces } from "../blobs/Pieces.ts"
import { clampRange } from "../blobs/Range.ts"
import type { Database } from "./Database.ts"
import { knownId, newRowId } from "./StoredId.ts"
import { toText } from "./StoredText.ts"

/** The bytes in one row. An upload or a download holds one piece in memory; a range is read in whole pieces. */
const pieceSize = 128 * 1024

/** The pieces that one statement deletes. */
const removedPieces = 8

/** The value in place of the size while a blob is removed. If the process dies, the value stays, so that the next removal continues. */
const beingRemoved = -1

const isWhole = "size is not null"
const isUnfinished = "size is null"

/** How many blobs a sweep passes to `unneeded` in one call. */
const groupSize = 500

interface BlobRow {
  readonly size: bigint
  readonly piece_size: number
}

const sweeping = "BlobStore.sweep"

interface OwnedBlob {
  readonly owner: string
  readonly id: BlobId
}

type Unneeded<E, R> = (ids: ReadonlyArray<BlobId>) => Effect.Effect<ReadonlyArray<BlobId>, E, R>

export const blobStore = ({ query, schema }: Database): typeof BlobStore.Service => {
  const find = (operation: string, owner: string, id: BlobId) =>
    Effect.map(
      query<BlobRow>(
        operation,
        `select size, piece_size from ${schema}.blobs where owner = $1 and id = $2 and size >= 0`,
        [owner, knownId(id)]
      ),
      ([row]) => Option.fromNullishOr(row)
    )

  const begin = (owner: string, id: BlobId) =>
    Effect.suspend(() =>
      query("BlobStore.put", `insert into ${schema}.blobs (owner, id, piece_size) values ($1, $2, $3)`, [
        owner,
        newRowId(id),
        pieceSize
      ])
    )

  const write = (owner: string, id: BlobId) => (piece: Uint8Array, ordinal: number) =>
    Effect.flatMap(
      query(
        "BlobStore.put",
        `insert into ${schema}.blob_pieces (owner, blob_id, ordinal, bytes)
         select owner, id, $3::integer, $4::bytea from ${schema}.blobs where owner = $1 and id = $2 for key share returning 1 as stored`,
        [owner, id, ordinal, piece]
      ),
      // Only an erasure of the owner removes a blob that is being written.
      (rows) =>
        rows.length > 0
          ? Effect.void
          : Effect.fail(new StoreUnavailable({ operation: "BlobStore.put", isErasing: true }))
    )

  const finish = (owner: string, id: BlobId, size: number) =>
    query("BlobStore.put", `update ${schema}.blobs set size = $3 where owner = $1 and id = $2`, [owner, id, size])

  const piece = (owner: string, id: BlobId, ordinal: number) =>
    Effect.flatMap(
      query<{ readonly bytes: Uint8Array }>(
        "BlobStore.get",
        `select bytes from ${schema}.blob_pieces where owner = $1 and blob_id = $2 and ordinal = $3`,
        [owner, id, ordinal]
      ),
      ([row]) => (row === undefined ? Effect.fail(new BlobNotFound({ blobId: id })) : Effect.succeed(row.bytes))
    )

  /** The bytes from `from` to `to`. A piece is read when the consumer asks for it. */
  const read = (owner: string, id: BlobId, size: number, from: number, to: number) =>
    Stream.paginate(Math.floor(from / size), (ordinal) =>
      Effect.map(piece(owner, id, ordinal), (bytes) => {
        const start = ordinal * size
        const part = bytes.subarray(Math.max(0, from - start), to - start)
        return [[part], start + size < to ? Option.some(ordinal + 1) : Option.none()] as const
      })
    )

  /** All blobs stored before a moment, in groups, in the order of their keys. */
  const oldBlobs = (before: Date) =>
    Stream.paginate({ owner: "", id: "00000000-0000-0000-0000-000000000000" }, ({ id, owner }) =>
      Effect.map(
        query<OwnedBlob>(
          sweeping,
          `select owner, id from ${schema}.blobs where stored_at < $1 and size is not null and (owner, id) > ($2, $3::uuid)
           order by owner, id limit ${groupSize}`,
          [before, owner, id]
        ),
        (rows) => [[rows], Option.fromNullishOr(rows.length < groupSize ? undefined : rows.at(-1))] as const
      )
    )

  /** Deletes until the database says that nothing is left. */
  const removePieces = (operation: string, owner: string, id: string): Effect.Effect<void, StoreUnavailable> =>
    Effect.flatMap(
      query(
        operation,
        `delete from ${schema}.blob_pieces where owner = $1 and blob_id = $2 and ordinal in (
           select ordinal from ${schema}.blob_pieces where owner = $1 and blob_id = $2 order by ordinal desc limit ${removedPieces}
         ) returning 1 as gone`,
        [owner, id]
      ),
      (rows) =>
        rows.length > 0
          ? Effect.andThen(Effect.yieldNow, removePieces(operation, owner, id))
          : Effect.asVoid(
              query(
                operation,
                `delete from ${schema}.blobs where owner = $1 and id = $2 and not exists (
                   select from ${schema}.blob_pieces where owner = $1 and blob_id = $2)`,
                [owner, id]
              )
            )
    )

  /** Hides a blob and deletes it; `condition` says which sizes it may have. Returns whether it could be read before. */
  const remove = Effect.fnUntraced(function* (operation: string, owner: string, id: string | null, condition: string) {
    const [row] = yield* query<{ readonly size: bigint | null }>(
      operation,
      `update ${schema}.blobs b set size = ${beingRemoved} from ${schema}.blobs old
         where b.owner = $1 and b.id = $2 and old.owner = b.owner and old.id = b.id and b.${condition} returning old.size as size`,
      [owner, id]
    )
    if (row === undefined || id === null) return false
    yield* removePieces(operation, owner, id)
    return row.size !== null && row.size >= 0n
  })

  const removeUnneeded = Effect.fnUntraced(function* <E, R>(rows: ReadonlyArray<OwnedBlob>, unneeded: Unneeded<E, R>) {
    const gone = new Set(yield* unneeded(rows.map(({ id }) => id)))
    for (const { id, owner } of rows) if (gone.has(id)) yield* remove(sweeping, owner, id, isWhole)
    return gone.size
  })

  /** Deletes an incomplete blob. If this fails too, the sweep deletes the blob later. */
  const discard = (owner: string, id: BlobId) => Effect.ignore(remove("BlobStore.put", owner, id, isUnfinished))

  return BlobStore.of({
    put: (id, bytes) =>
      Effect.flatMap(Principal, ({ ownerId }) => {
        const owner = toText(ownerId)
        return Effect.acquireUseRelease(
          begin(owner, id),
          () => Effect.tap(writePieces(bytes, pieceSize, write(owner, id)), ({ size }) => finish(owner, id, size)),
          (_, exit): Effect.Effect<void> => (Exit.isSuccess(exit) ? Effect.void : discard(owner, id))
        )
      }),

    head: (id) =>
      Principal.use(({ ownerId }) =>
        Effect.map(
          find("BlobStore.head", toText(ownerId), id),
          Option.map(({ size }) => ({ size: Number(size) }))
        )
      ),

    get: Effect.fnUntraced(function* (id, range) {
      const owner = toText((yield* Principal).ownerId)
      const found = yield* find("BlobStore.get", owner, id)
      if (Option.isNone(found)) return yield* new BlobNotFound({ blobId: id })
      const { from, to } = clampRange(Number(found.value.size), range)
      return from === to ? Stream.empty : read(owner, id, found.value.piece_size, from, to)
    }, Stream.unwrap),

    remove: (id) => Principal.use(({ ownerId }) => remove("BlobStore.remove", toText(ownerId), knownId(id), isWhole)),

    sweep: Effect.fnUntraced(function* <E, R>(
      before: Date,
      unneeded: Unneeded<E, R>
    ): Effect.fn.Return<number, E | StoreUnavailable, R> {
      const counts = Stream.mapEffect(oldBlobs(before), (rows) => removeUnneeded(rows, unneeded))
      const count = yield* Stream.runSum(counts)
      const unfinished = yield* query<OwnedBlob>(
        sweeping,
        `select owner, id from ${schema}.blobs where stored_at < $1 and size is null`,
        [before]
      )
      for (const { id, owner } of unfinished) yield* remove(sweeping, owner, id, isUnfinished)
      return count
    })
  })
}
