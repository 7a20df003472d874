/**
 * Pure: which part of a conversation goes into the model's window. A *unit* is everything that one run wrote (question, answer, calls
 * and results), so that a call never stands without its result. The newest units stay, the oldest go first.
 *
 * What goes is cut in coarse strides, measured from the start of the thread: the first unit that stays is then the same for many turns
 * in a row, and the prefix of the prompt stays byte-equal, which is what providers' caches need.
 */
import type { History, Message } from "../threads/Message.ts"

/** What a message adds to a prompt besides its text. */
export const tokensPerMessage = 4

export interface Unit {
  readonly messages: ReadonlyArray<Message>
  readonly tokens: number
}

export interface Packed {
  readonly kept: ReadonlyArray<Unit>
  readonly keptTokens: number
  readonly leftOut: { readonly messages: number; readonly tokens: number }
}

/** Consecutive messages of one run are one unit; a message without a run is one of its own. */
export const toUnits = (messages: ReadonlyArray<Message>): ReadonlyArray<Unit> => {
  const units: Array<Array<Message>> = []
  for (const message of messages) {
    const last = units.at(-1)
    if (last !== undefined && message.runId !== null && last[0]?.runId === message.runId) last.push(message)
    else units.push([message])
  }
  return units.map((unit) => ({ messages: unit, tokens: unit.reduce((sum, each) => sum + sizeOf(each), 0) }))
}

export const sizeOf = (message: Message): number =>
  message.tokens + tokensPerMessage * (1 + 2 * message.toolCalls.length + 2 * message.steps.length)

/** `stride` is how many tokens are given up at once when something has to go. */
export const pack = (
  units: ReadonlyArray<Unit>,
  older: History["older"],
  budget: number,
  stride: number
): Packed => {
  const total = units.reduce((sum, unit) => sum + unit.tokens, 0)
  const excess = Math.max(0, total - budget)
  const barely = dropFrom(units, excess)
  const even = dropFrom(units, excess === 0 ? 0 : Math.ceil((older.tokens + excess) / stride) * stride - older.tokens)
  // A unit larger than a stride would take its newer neighbours with it: then only what must go goes.
  const { first, gone } = (total - even.gone) * 2 >= total - barely.gone ? even : barely
  const lost = units.slice(0, first)
  return {
    kept: units.slice(first),
    keptTokens: total - gone,
    leftOut: {
      messages: older.messages + lost.reduce((sum, unit) => sum + unit.messages.length, 0),
      tokens: older.tokens + gone
    }
  }
}

/** Drops whole units from the front until at least `tokens` are gone. */
const dropFrom = (units: ReadonlyArray<Unit>, tokens: number): { readonly first: number; readonly gone: number } => {
  let gone = 0
  let first = 0
  while (first < units.length && gone < tokens) gone += units[first++]?.tokens ?? 0
  return { first, gone }
}
