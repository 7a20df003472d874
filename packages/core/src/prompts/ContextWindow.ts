/**
 * Pure: selects the part of a conversation that fits into the model's window. A *unit* is everything that one run wrote (question, answer,
 * calls and results), so that a call is never without its result. The newest units are kept, the oldest are left out first.
 *
 * The cut moves in large strides, measured from the start of the thread. So the first kept unit stays the same for many turns, and the
 * prefix of the prompt stays byte-equal, which providers' caches need.
 */
import type { History, Message } from "../threads/Message.ts"

/** Tokens that a message adds to a prompt besides its text. */
export const tokensPerMessage = 4

export interface Unit {
  readonly messages: ReadonlyArray<Message>
  /** Size in a prompt. */
  readonly tokens: number
  /** Size as the store counts it, which measures positions in the thread. */
  readonly stored: number
}

export interface Packed {
  readonly kept: ReadonlyArray<Unit>
  readonly keptTokens: number
  readonly leftOut: { readonly messages: number; readonly tokens: number }
}

/** All messages between the first and the last message of a run are one unit. A message without a run is a unit of its own. */
export const toUnits = (messages: ReadonlyArray<Message>): ReadonlyArray<Unit> => {
  const units: Array<OpenUnit> = []
  const unitOfRun = new Map<string, number>()
  for (const message of messages) {
    const index = message.runId === null ? units.length : (unitOfRun.get(message.runId) ?? units.length)
    const unit = (units[index] ??= { messages: [], tokens: 0, stored: 0 })
    if (index + 1 < units.length) {
      for (const each of units.splice(index + 1).flatMap((later) => later.messages)) {
        if (each.runId !== null) unitOfRun.set(each.runId, index)
        add(unit, each)
      }
    }
    if (message.runId !== null) unitOfRun.set(message.runId, index)
    add(unit, message)
  }
  return units
}

interface OpenUnit extends Unit {
  readonly messages: Array<Message>
  tokens: number
  stored: number
}

const add = (unit: OpenUnit, message: Message): void => {
  unit.messages.push(message)
  unit.tokens += messageSize(message)
  unit.stored += message.tokens
}

export const messageSize = (message: Message): number =>
  message.tokens + tokensPerMessage * (1 + 2 * message.toolCalls.length + 2 * message.steps.length)

/** Where a prompt may begin: with as many units as fit (`barely`), or at the next stride (`even`). */
interface Cuts {
  readonly barely: number
  readonly even: number
  /** The tokens that stand before a unit in the thread. */
  readonly positionAt: (index: number) => number
  /** The tokens of a prompt that begins with a unit. */
  readonly sizeFrom: (index: number) => number
}

const findCuts = (units: ReadonlyArray<Unit>, older: History["older"], budget: number, stride: number): Cuts => {
  // For each unit, its position in the thread (`positions`) and in a prompt of all units (`offsets`); the last entry is the end.
  const positions = [older.tokens]
  const offsets = [0]
  for (const unit of units) {
    positions.push((positions.at(-1) ?? 0) + unit.stored)
    offsets.push((offsets.at(-1) ?? 0) + unit.tokens)
  }
  const positionAt = (index: number): number => positions[index] ?? 0
  const sizeFrom = (index: number): number => (offsets.at(-1) ?? 0) - (offsets[index] ?? 0)

  // The store may have left out the beginning of the first unit. An answer without its question is not put into the prompt.
  let barely = older.messages > 0 && units[0]?.messages[0]?.role !== "user" ? Math.min(1, units.length) : 0
  while (barely < units.length && sizeFrom(barely) > budget) barely++
  const isWhole = barely === 0 && older.messages === 0
  const target = isWhole ? 0 : Math.ceil(positionAt(barely) / stride) * stride
  let even = barely
  while (even < units.length && positionAt(even) < target) even++
  return { barely, even, positionAt, sizeFrom }
}

const countBefore = (units: ReadonlyArray<Unit>, older: History["older"], index: number): number =>
  older.messages + units.slice(0, index).reduce((sum, unit) => sum + unit.messages.length, 0)

/**
 * The newest units that fit into the budget. `stride` is the number of tokens that are left out at once. Positions are measured in the
 * store's tokens from the start of the thread, so they stay the same while the thread grows.
 */
export const pack = (units: ReadonlyArray<Unit>, older: History["older"], budget: number, stride: number): Packed => {
  const { barely, even, positionAt, sizeFrom } = findCuts(units, older, budget, stride)
  // With a unit larger than a stride, the stride would leave out many newer units too. In that case only as much as necessary is left out.
  const first = sizeFrom(even) * 2 >= sizeFrom(barely) ? even : barely
  return {
    kept: units.slice(first),
    keptTokens: sizeFrom(first),
    leftOut: { messages: countBefore(units, older, first), tokens: positionAt(first) }
  }
}

/** How many messages `pack` leaves out at most with this budget, or a larger one. */
export const mostLeftOut = (
  units: ReadonlyArray<Unit>,
  older: History["older"],
  budget: number,
  stride: number
): number => countBefore(units, older, findCuts(units, older, budget, stride).even)
