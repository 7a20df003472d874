/** `BlobStore` in memory. */
import type { OwnerId } from "@colloquy/core"
import type { BlobId } from "@colloquy/core/adapters"
import { Principal } from "@colloquy/core"
import { BlobNotFound, BlobStore } from "@colloquy/core/wings"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Stream from "effect/Stream"
import { clampRange, writePieces } from "../blobs/Pieces.ts"
import { insertNew, ownedStep, ownedWrite, step, type State } from "./State.ts"

const pieceSize = 64 * 1024

export const blobStore = (state: State): typeof BlobStore.Service => {
  const find = (ownerId: OwnerId, id: BlobId) => {
    const row = state.blobs.get(id)
    return row?.ownerId === ownerId ? row : undefined
  }

  return BlobStore.of({
    put: (id, bytes) =>
      Effect.gen(function* () {
        const { ownerId } = yield* Principal
        yield* ownedWrite(state, "BlobStore.put", () => undefined)
        const pieces: Array<Uint8Array> = []
        const stored = yield* writePieces(bytes, pieceSize, (piece) => Effect.sync(() => pieces.push(piece.slice())))
        yield* ownedWrite(state, "BlobStore.put", (_, now) =>
          insertNew(state.blobs, id, { ownerId, pieces, size: stored.size, storedAt: now })
        )
        return stored
      }),
    head: (id) => ownedStep((ownerId) => Option.map(Option.fromNullishOr(find(ownerId, id)), ({ size }) => ({ size }))),
    get: (id, range) =>
      Stream.unwrap(
        Effect.flatMap(
          ownedStep((ownerId) => find(ownerId, id)),
          (row) => {
            if (row === undefined) return Effect.fail(new BlobNotFound({ blobId: id }))
            const { from, to } = clampRange(row.size, range)
            const parts = row.pieces.map((piece, index) => {
              const start = index * pieceSize
              return piece.slice(Math.max(0, from - start), Math.max(0, to - start))
            })
            return Effect.succeed(Stream.fromIterable(parts.filter(({ length }) => length > 0)))
          }
        )
      ),
    remove: (id) => ownedStep((ownerId) => find(ownerId, id) !== undefined && state.blobs.delete(id)),
    sweep: (before, unneeded) =>
      Effect.gen(function* () {
        const old = [...state.blobs].filter(([, row]) => row.storedAt < before.getTime()).map(([id]) => id)
        const gone = yield* unneeded(old)
        return yield* step(() => gone.filter((id) => state.blobs.delete(id)).length)
      })
  })
}
