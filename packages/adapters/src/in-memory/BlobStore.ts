/** `BlobStore` in memory. */
import type { OwnerId } from "@colloquy/core"
import type { BlobId } from "@colloquy/core/adapters"
import { Principal } from "@colloquy/core"
import { BlobNotFound, BlobStore } from "@colloquy/core/wings"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Stream from "effect/Stream"
import { clampRange } from "../blobs/Range.ts"
import { insertNew, ownedStep, ownedWrite, step, type State } from "./State.ts"

const pieceSize = 64 * 1024

const hexOf = (bytes: Uint8Array): string => Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("")

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
        // A stream may use the memory of a chunk again.
        const chunks = yield* Stream.runCollect(Stream.map(bytes, (chunk) => chunk.slice()))
        const whole = yield* Effect.promise(() => new Blob(chunks).bytes())
        const size = whole.length
        const count = Math.ceil(size / pieceSize)
        const pieces = Array.from({ length: count }, (_, at) => whole.slice(at * pieceSize, (at + 1) * pieceSize))
        const sha256 = yield* Effect.promise(() => globalThis.crypto.subtle.digest("SHA-256", whole))
        yield* ownedWrite(state, "BlobStore.put", (_, now) =>
          insertNew(state.blobs, id, { ownerId, pieces, size, storedAt: now })
        )
        return { size, sha256: hexOf(new Uint8Array(sha256)) }
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
