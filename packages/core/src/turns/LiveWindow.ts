/**
 * What parts tell live (audio, above all) stays in the memory of the leg only until so much more was told after it: a client that does not
 * read, or none at all, costs a bounded amount. A reader that is further behind has missed it, like reasoning; nothing live is stored.
 */
import type * as Schema from "effect/Schema"
import type { RunLog } from "../runs/RunLog.ts"
import type { TurnEvent } from "./TurnEvent.ts"

/** Characters of live news of one leg. Three minutes of speech at 128 kbit/s, as base64. */
const liveCharacters = 4 * 1024 * 1024

export class LiveWindow {
  private readonly log: RunLog<TurnEvent>
  private readonly kept: Array<{ readonly sequence: number; readonly size: number }> = []
  /** Place of the oldest entry of `kept` that still counts. */
  private oldest = 0
  private size = 0

  constructor(log: RunLog<TurnEvent>) {
    this.log = log
  }

  /** An event was pushed: the oldest ones make room for it. */
  add({ sequence }: TurnEvent, data: Schema.Json): void {
    const size = sizeOf(data)
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

/** Texts are what can be long. */
const sizeOf = (data: Schema.Json): number => {
  if (typeof data === "string") return data.length
  if (typeof data !== "object" || data === null) return 0
  let size = 0
  for (const value of Object.values(data)) size += sizeOf(value)
  return size
}
