/**
 * The order in which files are read. Owners take turns, and each owner has at most one file in a lane, so that no owner alone makes another
 * wait. A file of up to 4 MB is first read in the lane of small files, with little time and memory; if it needs more, it is read again in
 * the lane of large ones. So a small text waits for no large file, and a small file with very much content is read as a large one.
 */
import { makeFairQueue } from "@colloquy/core/adapters"
import { ExtractionFailed, type FileToRead } from "@colloquy/core/documents"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"
import type { Bounds, Ending, WholeAnswer } from "./ReaderProcess.ts"
import { damaged, type Refused, tooMuchMemory, tooSlow } from "./Refused.ts"

/** In bytes. */
const mostOfSmall = 4_000_000

/** The time for a file in the lane of small files. A text of a megabyte needs a third of it on a busy processor. */
const boundsOfSmall = (bounds: Bounds): Bounds => ({
  deadline: Duration.min(bounds.deadline, Duration.seconds(3)),
  heap: bounds.heap,
  growth: Math.min(bounds.growth, 250)
})

/** Reads a file in a process of its own. */
type Read<A, Part> = (bytes: Uint8Array, bounds: Bounds) => Effect.Effect<WholeAnswer<A, Part>, Ending>

export const makeReadingLanes = Effect.fnUntraced(function* (bounds: Bounds, atOnce: number) {
  const small = yield* makeFairQueue({ atOnce, share: 1 })
  const large = yield* makeFairQueue({ atOnce, share: 1 })
  const lessThanAll = boundsOfSmall(bounds)

  const inLarge = <A, Part, E, R>(bytes: Effect.Effect<Uint8Array, E, R>, read: Read<A, Part>) =>
    large.inTurn(Effect.flatMap(bytes, (all) => accepted(read(all, bounds), bounds)))

  /** The answer together with the bytes of the file. A file gives its bytes only once, and may have to be read again in the other lane. */
  const inSmall = <A, Part, E, R>(file: FileToRead<E, R>, read: Read<A, Part>) =>
    small.inTurn(
      Effect.flatMap(collect(file), (bytes) =>
        Effect.map(Effect.result(read(bytes, lessThanAll)), (answer) => ({ bytes, answer }))
      )
    )

  return Effect.fnUntraced(function* <A, Part, E, R>(file: FileToRead<E, R>, read: Read<A, Part>) {
    if (file.size > mostOfSmall) return yield* inLarge(collect(file), read)
    const { answer, bytes } = yield* inSmall(file, read)
    const needsMore = answer._tag === "Failure" && mayEndOtherwise(answer.failure, lessThanAll, bounds)
    return yield* needsMore ? inLarge(Effect.succeed(bytes), read) : accepted(Effect.fromResult(answer), bounds)
  })
})

const mayEndOtherwise = (ending: Ending, less: Bounds, bounds: Bounds): boolean =>
  (ending === "too_slow" && Duration.isLessThan(less.deadline, bounds.deadline)) ||
  (ending === "too_much_memory" && less.growth < bounds.growth)

const accepted = <A, Part>(answer: Effect.Effect<WholeAnswer<A, Part>, Ending>, bounds: Bounds) =>
  answer.pipe(
    Effect.catch((ending) => Effect.succeed({ refused: refusalFromEnding(ending, bounds) })),
    Effect.flatMap((whole) => ("refused" in whole ? refuse(whole.refused) : Effect.succeed(whole)))
  )

export const refuse = ({ message, reason }: Pick<Refused, "message" | "reason">) =>
  Effect.fail(new ExtractionFailed({ reason, sentence: message }))

const refusalFromEnding = (ending: Ending, { deadline }: Bounds): Refused => {
  switch (ending) {
    case "too_slow":
      return tooSlow(Duration.toSeconds(deadline))
    case "too_much_memory":
      return tooMuchMemory()
    case "died":
      return damaged("file of its type")
  }
}

/** Collects a file in one buffer of the announced size, which is then written to the process without copying. */
export const collect = <E, R>({ bytes, size }: FileToRead<E, R>): Effect.Effect<Uint8Array, E, R> =>
  Effect.suspend(() => {
    const whole = new Uint8Array(size)
    let at = 0
    return Effect.as(
      Stream.runForEach(bytes, (chunk) =>
        Effect.sync(() => {
          whole.set(chunk.subarray(0, size - at), at)
          at += chunk.length
        })
      ),
      whole
    )
  })
