/**
 * Turns texts into sound, in order: the provider is asked for the next sentence while one is being heard, so that there is no silence
 * between them. Used by `Speech`.
 */
import type * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Queue from "effect/Queue"
import * as Semaphore from "effect/Semaphore"
import * as Stream from "effect/Stream"
import type { ModelError } from "../models/ModelError.ts"
import { makeSpokenText } from "./SpokenText.ts"

/** Concurrent requests to the provider: the text that is heard, and the next one. */
const requestsAtOnce = 2
/** The maximum of pieces of the next text that wait for the text before it. */
const waitingPieces = 16
/**
 * Sentences that are ready at the same time are requested together, up to this number of characters: fewer requests, and a better
 * intonation.
 */
const togetherCharacters = 600

/** Longer pieces are cut, and other work has its turn between them. In characters. */
const longestPiece = 2_000

const inShortPieces = (text: string): ReadonlyArray<string> =>
  text.length <= longestPiece
    ? [text]
    : Array.from({ length: Math.ceil(text.length / longestPiece) }, (_, at) =>
        text.slice(at * longestPiece, (at + 1) * longestPiece)
      )

/** The first sentence is sent alone, so that it is heard soon. */
export const textsToSpeak = (words: Stream.Stream<string>, maxCharacters: number): Stream.Stream<string> =>
  Stream.suspend(() => {
    const spoken = makeSpokenText()
    const most = Math.min(maxCharacters, togetherCharacters)
    let isFirst = true
    const together = (sentences: ReadonlyArray<string>): ReadonlyArray<string> => {
      const texts: Array<string> = []
      for (const sentence of sentences.flatMap((each) => withinLimit(each, most))) {
        const last = texts.at(-1)
        if (last !== undefined && !isFirst && last.length + 1 + sentence.length <= most) {
          texts[texts.length - 1] = `${last} ${sentence}`
        } else {
          isFirst = texts.length === 0 && isFirst
          texts.push(sentence)
        }
      }
      if (texts.length > 0) isFirst = false
      return texts
    }
    const feed = (pieces: ReadonlyArray<string>): Effect.Effect<ReadonlyArray<string>> => {
      const short = pieces.flatMap(inShortPieces)
      if (short.length === pieces.length) return Effect.sync(() => together(pieces.flatMap(spoken.feed)))
      const each = (piece: string) =>
        Effect.andThen(
          Effect.yieldNow,
          Effect.sync(() => spoken.feed(piece))
        )
      return Effect.map(Effect.forEach(short, each), (found) => together(found.flat()))
    }
    return Stream.chunks(words).pipe(
      Stream.mapEffect(feed),
      Stream.concat(Stream.sync(() => together(spoken.end()))),
      Stream.flattenIterable
    )
  })

/** For a provider with a small limit, splits a long sentence between words. */
const withinLimit = (sentence: string, most: number): ReadonlyArray<string> => {
  const parts: Array<string> = []
  let rest = sentence
  while (rest.length > most) {
    const space = rest.lastIndexOf(" ", most)
    const end = space > 0 ? space : most
    parts.push(rest.slice(0, end))
    rest = rest.slice(end).trimStart()
  }
  return rest === "" ? parts : [...parts, rest]
}

export type Heard = { readonly _tag: "Piece"; readonly bytes: Uint8Array } | { readonly _tag: "EndOfText" }

const beginText = Effect.fnUntraced(function* <R>(
  slots: Semaphore.Semaphore,
  speak: (text: string) => Stream.Stream<Uint8Array, ModelError, R>,
  text: string
) {
  yield* Semaphore.take(slots, 1)
  const pieces = yield* Queue.bounded<Heard, ModelError | Cause.Done>(waitingPieces)
  const answer = Stream.map(speak(text), (bytes): Heard => ({ _tag: "Piece", bytes }))
  yield* Effect.forkScoped(Stream.runIntoQueue(answer, pieces), { startImmediately: true })
  return Stream.fromQueue(pieces).pipe(
    Stream.concat(Stream.make<[Heard]>({ _tag: "EndOfText" })),
    Stream.ensuring(Semaphore.release(slots, 1))
  )
})

/** `speak` begins for the next text while the sound of the one before is still read; its pieces wait. */
export const speakTexts = <R>(
  texts: Stream.Stream<string>,
  speak: (text: string) => Stream.Stream<Uint8Array, ModelError, R>
): Stream.Stream<Heard, ModelError, R> =>
  Stream.unwrap(
    Effect.map(Semaphore.make(requestsAtOnce), (slots) =>
      texts.pipe(
        Stream.mapEffect((text) => beginText(slots, speak, text)),
        Stream.buffer({ capacity: requestsAtOnce }),
        Stream.flatMap((sound) => sound),
        Stream.scoped
      )
    )
  )
