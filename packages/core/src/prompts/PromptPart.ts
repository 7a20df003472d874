/**
 * What a part of a turn adds to the prompt of that turn only: excerpts of documents, memories, anything recalled. It stands before the
 * user's message and after everything that stays the same from turn to turn; a part that changes rarely stands before the history. If the
 * window is too small, the room is shared by weight.
 */
import * as Schema from "effect/Schema"
import type { TokenCounterPort } from "../models/TokenCounter.ts"

const PromptItem = Schema.Struct({
  text: Schema.String,
  /** Items with the highest rank are left out first. */
  rank: Schema.Finite,
  /** The id of the memory or document that the text belongs to. When that is deleted, nobody is shown the text any more. */
  source: Schema.optionalKey(Schema.String)
})

export const PromptPart = Schema.Struct({
  /** The name in the explanation. */
  name: Schema.String,
  /** Says what the items are, and that they are material and not instructions. */
  intro: Schema.String,
  /** In reading order. */
  items: Schema.Array(PromptItem),
  /** `turn`: before the user's message. `history`: before the oldest kept message, for content that changes rarely. */
  place: Schema.Literals(["turn", "history"]),
  /** Its share of the room when history and parts need more than there is. The history has weight 4. */
  weight: Schema.Finite
})
export type PromptPart = typeof PromptPart.Type

/** The content of a part that fits. */
export interface FittedPart {
  readonly name: string
  readonly text: string
  readonly tokens: number
  readonly items: number
  readonly leftOut: { readonly items: number; readonly tokens: number }
}

export const historyWeight = 4

const separator = "\n\n"

const textOfPart = (intro: string, items: ReadonlyArray<{ readonly text: string }>): string =>
  [intro, ...items.map(({ text }) => text)].join(separator)

/** The tokens of a part without any item left out. */
export const sizeOfPart = (part: PromptPart, counter: TokenCounterPort): number =>
  part.items.length === 0 ? 0 : counter.count(textOfPart(part.intro, part.items))

/** The items with the lowest ranks that fit into the room, in reading order; nothing if not even one fits. */
export const fitPart = (part: PromptPart, room: number, counter: TokenCounterPort): FittedPart => {
  const whole = sizeOfPart(part, counter)
  let kept = part.items
  let tokens = whole
  while (kept.length > 0 && tokens > room) {
    const worst = Math.max(...kept.map(({ rank }) => rank))
    const last = kept.findLastIndex(({ rank }) => rank === worst)
    kept = kept.toSpliced(last, 1)
    tokens = sizeOfPart({ ...part, items: kept }, counter)
  }
  return {
    name: part.name,
    text: kept.length === 0 ? "" : textOfPart(part.intro, kept),
    tokens,
    items: kept.length,
    leftOut: { items: part.items.length - kept.length, tokens: whole - tokens }
  }
}

/**
 * Shares tokens among claims by weight. A claim never gets more than it wants; the rest is shared among the other claims. If all claims
 * fit, each gets what it wants.
 */
export const shareRoom = (
  room: number,
  claims: ReadonlyArray<{ readonly wants: number; readonly weight: number }>
): ReadonlyArray<number> => {
  const given = claims.map(() => 0)
  let open = claims.map((_, index) => index).filter((index) => (claims[index]?.wants ?? 0) > 0)
  let left = Math.max(0, room)
  while (open.length > 0) {
    const weights = open.reduce((sum, index) => sum + (claims[index]?.weight ?? 0), 0)
    const weightedShare = (index: number) => Math.floor((left * (claims[index]?.weight ?? 0)) / weights)
    const satisfied = open.filter((index) => (claims[index]?.wants ?? 0) <= weightedShare(index))
    if (satisfied.length === 0) {
      for (const index of open) given[index] = weightedShare(index)
      return given
    }
    for (const index of satisfied) {
      given[index] = claims[index]?.wants ?? 0
      left -= given[index]
    }
    open = open.filter((index) => !satisfied.includes(index))
  }
  return given
}
