/**
 * Splits a stream of bytes into pieces of equal size for a store, counts the bytes and hashes them. All pieces use the same buffer, so an upload
 * of any length needs the memory of one piece.
 */
import type { StoredBytes } from "@colloquy/core/documents"
import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"
import { createHash } from "node:crypto"

/** `write` must not use its piece after its effect has ended, because the next piece overwrites it. Only the last piece may be shorter. */
export const writePieces = <E, R, E2, R2>(
  bytes: Stream.Stream<Uint8Array, E, R>,
  size: number,
  write: (piece: Uint8Array, index: number) => Effect.Effect<void, E2, R2>
): Effect.Effect<StoredBytes, E | E2, R | R2> =>
  Effect.suspend(() => {
    const hash = createHash("sha256")
    let piece: Uint8Array | undefined
    let filled = 0
    let index = 0
    let total = 0

    const flush = Effect.suspend(() => {
      const whole = (piece ?? new Uint8Array()).subarray(0, filled)
      filled = 0
      return write(whole, index++)
    })
    const fill = (chunk: Uint8Array, from: number): number => {
      piece ??= new Uint8Array(size)
      const part = chunk.subarray(from, from + size - filled)
      piece.set(part, filled)
      filled += part.length
      return from + part.length
    }
    const take = (chunk: Uint8Array, from = 0): Effect.Effect<void, E2, R2> => {
      const next = fill(chunk, from)
      if (filled < size) return Effect.void
      return Effect.flatMap(flush, () => (next < chunk.length ? take(chunk, next) : Effect.void))
    }

    return Stream.runForEach(bytes, (chunk) =>
      Effect.suspend(() => {
        hash.update(chunk)
        total += chunk.length
        return take(chunk)
      })
    ).pipe(
      Effect.andThen(Effect.suspend(() => (filled > 0 ? flush : Effect.void))),
      Effect.map(() => ({ size: total, sha256: hash.digest("hex") }))
    )
  })

/** Skips the first bytes of a stream, and ends the stream after the next `length` bytes. */
export const cutBytes =
  (skip: number, length: number) =>
  <E, R>(bytes: Stream.Stream<Uint8Array, E, R>): Stream.Stream<Uint8Array, E, R> => {
    const end = skip + length
    return bytes.pipe(
      Stream.mapAccum(
        () => 0,
        (at: number, chunk) => {
          const next = at + chunk.length
          const part = chunk.subarray(Math.max(0, skip - at), Math.max(0, end - at))
          return [next, [{ part, isLast: next >= end }]] as const
        }
      ),
      Stream.takeUntil(({ isLast }) => isLast),
      Stream.map(({ part }) => part),
      Stream.filter((part) => part.length > 0)
    )
  }
