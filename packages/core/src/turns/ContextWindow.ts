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
  /** Size in a prompt. */
  readonly tokens: number
  /** Size as the store counts it: the measure of places in the thread. */
  readonly stored: number
}

export interface Packed {
  readonly kept: ReadonlyArray<Unit>
  readonly keptTokens: number
  readonly leftOut: { readonly messages: number; readonly tokens: number }
}

/** All that stands between the first and the last message of a run is one unit; a message without a run is one of its own. */
export const toUnits = (messages: ReadonlyArray<Message>): ReadonlyArray<Unit> => {
  const units: Array<Array<Message>> = []
  const places = new Map<string, number>()
  for (const message of messages) {
    const place = message.runId === null ? units.length : (places.get(message.runId) ?? units.length)
    const unit = [...units.splice(place).flat(), message]
    for (const { runId } of unit) if (runId !== null) places.set(runId, place)
    units.push(unit)
  }
  return units.map((unit) => ({
    messages: unit,
    tokens: unit.reduce((sum, each) => sum + sizeOf(each), 0),
    stored: unit.reduce((sum, each) => sum + each.tokens, 0)
  }))
}

export const sizeOf = (message: Message): number =>
  message.tokens + tokensPerMessage * (1 + 2 * message.toolCalls.length + 2 * message.steps.length)

/**
 * The newest units that fit into the budget. `stride` is how many tokens are given up at once when something has to go. Places are
 * measured in the store's tokens from the start of the thread: they stay the same while the thread grows and the window moves over it.
 */
export const pack = (units: ReadonlyArray<Unit>, older: History["older"], budget: number, stride: number): Packed => {
  const placeOf = (first: number) => older.tokens + units.slice(0, first).reduce((sum, unit) => sum + unit.stored, 0)
  const sizeFrom = (first: number) => units.slice(first).reduce((sum, unit) => sum + unit.tokens, 0)

  // What the store left out may be the beginning of the first unit: an answer does not go in without its question.
  let barely = older.messages > 0 && units[0]?.messages[0]?.role !== "user" ? 1 : 0
  let size = sizeFrom(barely)
  for (; barely < units.length && size > budget; barely++) size -= units[barely]?.tokens ?? 0
  const isWhole = barely === 0 && older.messages === 0
  const target = isWhole ? 0 : Math.ceil(placeOf(barely) / stride) * stride
  let even = barely
  for (let place = placeOf(even); even < units.length && place < target; even++) place += units[even]?.stored ?? 0

  // A unit larger than a stride would take its newer neighbours with it: then only what must go goes.
  const first = sizeFrom(even) * 2 >= size ? even : barely
  return {
    kept: units.slice(first),
    keptTokens: sizeFrom(first),
    leftOut: {
      messages: older.messages + units.slice(0, first).reduce((sum, unit) => sum + unit.messages.length, 0),
      tokens: placeOf(first)
    }
  }
}
