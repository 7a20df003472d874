/** `BlobStore` in memory. */
import type { OwnerId } from "@colloquy/core"
import type { BlobId } from "@colloquy/core/adapters"
import { Principal } from "@colloquy/core"
import { BlobNotFound, BlobStore } from "@colloquy/core/wings"
import { sha256 } from "@noble/hashes/sha2.js"
import { bytesToHex } from "@noble/hashes/utils.js"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Stream from "effect/Stream"
import { clampRange } from "../blobs/Range.ts"
import { insertNew, ownedStep, ownedWrite, step, type State } from "./State.ts"

const pieceSize = 64 * 1024
/** The number of pieces that are hashed before other fibers run. */
const piecesAtOnce = 16

/**
 * Hashes bytes, and lets other fibers run after each piece. The hash of the platform is not used: it would take real time, while timers of
 * tests have a clock of their own.
 */
const hashPieces = Effect.fnUntraced(function* (pieces: ReadonlyArray<Uint8Array>) {
  const hash = sha256.create()
  for (const [at, piece] of pieces.entries()) {
    hash.update(piece)
    if (at % piecesAtOnce === piecesAtOnce - 1) yield* Effect.yieldNow
  }
  return bytesToHex(hash.digest())
})

const joined = (chunks: ReadonlyArray<Uint8Array>): Uint8Array => {
  const whole = new Uint8Array(chunks.reduce((sum, { length }) => sum + length, 0))
  let at = 0
  for (const chunk of chunks) {
    whole.set(chunk, at)
    at += chunk.length
  }
  return whole
}

export const blobStore = (state: State): typeof BlobStore.Service => {
  const find = (ownerId: OwnerId, id: BlobId) => {
    const row = state.blobs.get(id)
    return row?.ownerId === ownerId ? row : undefined
  }

  return BlobStore.of({
    put: Effect.fnUntraced(function* (id, bytes) {
      const { ownerId } = yield* Principal
      yield* ownedWrite(state, "BlobStore.put", () => undefined)
      // A stream may use the memory of a chunk again.
      const chunks = yield* Stream.runCollect(Stream.map(bytes, (chunk) => chunk.slice()))
      const whole = joined(chunks)
      const size = whole.length
      const count = Math.ceil(size / pieceSize)
      const pieces = Array.from({ length: count }, (_, at) => whole.slice(at * pieceSize, (at + 1) * pieceSize))
      const hash = yield* hashPieces(pieces)
      yield* ownedWrite(state, "BlobStore.put", (_, now) =>
        insertNew(state.blobs, id, { ownerId, pieces, size, storedAt: now })
      )
      return { size, sha256: hash }
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
    sweep: Effect.fnUntraced(function* (before, unneeded) {
      const old = [...state.blobs].filter(([, row]) => row.storedAt < before.getTime()).map(([id]) => id)
      const gone = yield* unneeded(old)
      return yield* step(() => gone.filter((id) => state.blobs.delete(id)).length)
    })
  })
}
