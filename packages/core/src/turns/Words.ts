/** The text of a leg while it is written, for parts that speak it. Every reader begins at the first word and ends with the last. */
import { isReadonlyArrayNonEmpty, type NonEmptyReadonlyArray } from "effect/Array"
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import type * as Pull from "effect/Pull"
import * as Stream from "effect/Stream"
import type { RunLog } from "../runs/RunLog.ts"
import type { TurnEvent } from "./TurnEvent.ts"

export interface Words {
  readonly stream: () => Stream.Stream<string>
  /** Ends the text: no more words will come. */
  readonly end: () => void
}

export const followWords = (log: RunLog<TurnEvent>): Words => {
  let hasEnded = false
  const stream = () => {
    let read = 0
    const pull: Pull.Pull<NonEmptyReadonlyArray<string>> = Effect.suspend(() => {
      const texts: ReadonlyArray<string> = log.events
        .slice(read)
        .flatMap((event) => (event._tag === "TextDelta" ? [event.text] : []))
      read = log.events.length
      if (isReadonlyArrayNonEmpty(texts)) return Effect.succeed(texts)
      if (hasEnded || log.state !== "open") return Cause.done()
      return Effect.flatMap(
        log.until(() => log.events.length > read || hasEnded || log.state !== "open"),
        () => pull
      )
    })
    return Stream.fromPull(Effect.succeed(pull))
  }
  return {
    stream,
    end: () => {
      hasEnded = true
      log.wake()
    }
  }
}
