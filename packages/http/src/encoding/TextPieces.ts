/**
 * A long text as a body. A server on Node gives the texts to the connection (`findTexts`), all of a group in one call: bytes would be memory
 * outside of V8's heap, and with a hundred long lists a second V8 would collect all garbage several times a second because of them. Every
 * other platform gets bytes.
 */
import * as HttpBody from "effect/http/HttpBody"
import * as HttpServerResponse from "effect/http/HttpServerResponse"
import * as Stream from "effect/Stream"

/** Knows its length before it is made bytes. */
export type TextPiece = HttpBody.Uint8Array

export const textPiece = (text: string): TextPiece => HttpBody.text(text)

export type TextGroups = ReadonlyArray<ReadonlyArray<TextPiece>>

const texts = new WeakMap<object, TextGroups>()

/** The texts of such a body; undefined for any other stream. */
export const findTexts = (stream: object): TextGroups | undefined => texts.get(stream)

export const respondWithTexts = (
  groups: TextGroups,
  as: { readonly contentType: string; readonly status?: number }
): HttpServerResponse.HttpServerResponse => {
  const pieces = groups.flat()
  const stream = Stream.fromIterable(pieces).pipe(Stream.map(({ body }) => body))
  texts.set(stream, groups)
  const contentLength = pieces.reduce((sum, piece) => sum + piece.contentLength, 0)
  return HttpServerResponse.stream(stream, { ...as, contentLength })
}
