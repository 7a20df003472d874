/**
 * Limits the memory of live events (mostly audio). The leg keeps only the newest live events, up to a fixed number of characters, so a
 * client that reads slowly or not at all costs a bounded amount of memory. A reader that is further behind misses the older ones, as it
 * misses reasoning. Live events are never stored.
 */
import type * as Schema from "effect/Schema"
import type { RunLog } from "../runs/RunLog.ts"
import type { TurnEvent } from "./TurnEvent.ts"

/** Characters of live events that one leg keeps: three minutes of speech at 128 kbit/s, as base64. */
const liveCharacters = 4 * 1024 * 1024

export class LiveWindow {
  private readonly log: RunLog<TurnEvent>
  private readonly kept: Array<{ readonly sequence: number; readonly size: number }> = []
  /** Index in `kept` of the oldest event that is still in the log. */
  private oldest = 0
  private size = 0

  constructor(log: RunLog<TurnEvent>) {
    this.log = log
  }

  /** Counts an event that was pushed, and drops the oldest events if there are too many characters. */
  add({ sequence }: TurnEvent, data: Schema.Json): void {
    const size = dataSize(data)
    this.kept.push({ sequence, size })
    this.size += size
    while (this.size > liveCharacters) this.dropOldest()
    if (this.oldest < 1024) return
    this.kept.splice(0, this.oldest)
    this.oldest = 0
  }

  private dropOldest(): void {
    const first = this.kept[this.oldest++]
    if (first === undefined) return
    this.log.replace({ _tag: "LiveMissed", sequence: first.sequence })
    this.size -= first.size
  }
}

/** Counts the characters of texts only: other values are short. */
const dataSize = (data: Schema.Json): number => {
  if (typeof data === "string") return data.length
  if (typeof data !== "object" || data === null) return 0
  let size = 0
  for (const value of Object.values(data)) size += dataSize(value)
  return size
}
