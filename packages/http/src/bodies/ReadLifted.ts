/** Reads a JSON body without its media. Apart from `RequestBody`, because only OpenAI's clients send such bodies. */
import { limitedTo } from "@colloquy/core/adapters"
import * as Effect from "effect/Effect"
import type { HttpServerRequest } from "effect/http/HttpServerRequest"
import * as Stream from "effect/Stream"
import type { Bounds } from "../HttpSettings.ts"
import type { BadRequest, PayloadTooLarge, RequestTimeout } from "../wire/Errors.ts"
import { type LiftedBody, MediaLifter } from "./LiftedMedia.ts"
import { tooLarge, tooSlow, unreadable } from "./BodyErrors.ts"
import { type RawBody, readJson } from "./RequestBody.ts"

/** Larger pieces come from hosts that have read the body already. In bytes. */
const pieceSize = 128 * 1024

const write = Effect.fnUntraced(function* (lifter: MediaLifter, piece: Uint8Array) {
  for (let at = 0; at < piece.length; at += pieceSize) {
    lifter.write(piece.subarray(at, at + pieceSize))
    if (lifter.isTooLarge) return yield* tooLarge()
    if (at + pieceSize < piece.length) yield* Effect.yieldNow
  }
})

/** Reads JSON without its media: marks stand in their places, and `lifted` is called with the media. */
export const readLifted = (
  request: HttpServerRequest,
  { bodyTimeout, limits }: Bounds,
  lifted: (media: LiftedBody["media"]) => void
): Effect.Effect<RawBody, BadRequest | PayloadTooLarge | RequestTimeout> =>
  Effect.suspend(() => {
    const lifter = new MediaLifter({ text: limits.body, media: limits.file })
    const read = Stream.runForEach(Stream.mapError(request.stream, unreadable), (piece) => write(lifter, piece))
    return Effect.flatMap(
      limitedTo(bodyTimeout, read, () => Effect.fail(tooSlow())),
      () => {
        const { media, text } = lifter.end()
        lifted(media)
        return readJson(text)
      }
    )
  })
