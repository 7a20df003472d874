/**
 * The histories that this process read or wrote last, so that the next turn of such a thread needs no more from the database than to hear that
 * nothing else was stored: to put a history together, send it and parse it was a quarter of what a turn cost the database.
 *
 * A history here is only ever an older state of what is stored. `begin_run` compares its last message and the thread's revision with the
 * thread that it has locked; unless both are the same, the history is read.
 */
import type { Message, MessageId, OwnerId, RunId, ThreadId } from "@colloquy/core"
import { type History, type NewMessage, RecentlyUsed } from "@colloquy/core/adapters"

export interface KnownHistory {
  /** What is stored of the thread, newest last, back to where `floor` says. Never empty. */
  readonly messages: ReadonlyArray<Message>
  readonly older: History["older"]
  /** Every message with so many or more tokens before it is here. */
  readonly floor: number
  /** Of the thread, when this was read. */
  readonly revision: number
  readonly lastId: MessageId
}

interface Kept extends KnownHistory {
  /** Characters, about. */
  readonly size: number
}

export class KnownHistories {
  private readonly kept: RecentlyUsed<Kept>

  /** Of so many characters together. */
  constructor(longest: number) {
    this.kept = new RecentlyUsed(longest)
  }

  /** What is known of a thread, if it holds all that fits into a budget of tokens before its next message. */
  find(owner: OwnerId, thread: ThreadId, budget: number): KnownHistory | undefined {
    const known = this.kept.get(keyOf(owner, thread))
    return known !== undefined && (known.older.messages === 0 || tokensOf(known) - budget >= known.floor)
      ? known
      : undefined
  }

  /** A history that was read for a run, with the budget that it was read for. */
  read(owner: OwnerId, runId: RunId, history: History, budget: number, revision: number, size: number): void {
    const first = history.messages.findIndex((message) => message.runId === runId)
    const floor = tokensBefore(history, first) - budget
    this.keep(owner, history, { floor, revision, size })
  }

  /** A turn has begun on a known history, which is what fits into its budget; `size` is that of its message. */
  began(owner: OwnerId, known: KnownHistory, budget: number, message: NewMessage, size: number): History {
    const floor = tokensOf(known) - budget
    const history = addedTo(startingAt(known, floor), message)
    const before = this.kept.get(keyOf(owner, message.threadId))?.size ?? 0
    const share = history.messages.length / (known.messages.length + 1)
    this.keep(owner, history, {
      floor,
      revision: known.revision,
      size: Math.ceil((before + size) * share)
    })
    return history
  }

  /** The answer of a run was stored behind the messages that it began with. */
  answered(owner: OwnerId, runId: RunId, answer: NewMessage, size: number): void {
    const known = this.kept.get(keyOf(owner, answer.threadId))
    // A settlement that is repeated is answered like the first one.
    if (known === undefined || known.lastId === answer.id) return
    if (known.messages.at(-1)?.runId !== runId) return this.forget(owner, answer.threadId)
    this.keep(owner, addedTo(known, answer), { ...known, size: known.size + size })
  }

  forget(owner: OwnerId, thread: ThreadId): void {
    this.kept.delete(keyOf(owner, thread))
  }

  private keep(
    owner: OwnerId,
    { messages, older }: History,
    { floor, revision, size }: Pick<Kept, "floor" | "revision" | "size">
  ): void {
    const last = messages.at(-1)
    if (last === undefined) return
    this.kept.set(keyOf(owner, last.threadId), { messages, older, floor, revision, size, lastId: last.id }, size)
  }
}

const keyOf = (owner: OwnerId, thread: ThreadId): string => `${thread} ${owner}`

const tokensBefore = ({ messages, older }: History, place: number): number =>
  messages.slice(0, place).reduce((sum, { tokens }) => sum + tokens, older.tokens)

const tokensOf = (history: History): number => tokensBefore(history, history.messages.length)

/** Without the messages that have fewer tokens before them. */
const startingAt = ({ messages, older }: History, floor: number): History => {
  let place = 0
  let tokens = older.tokens
  while (place < messages.length && tokens < floor) tokens += messages[place++]?.tokens ?? 0
  return place === 0
    ? { messages, older }
    : { messages: messages.slice(place), older: { messages: older.messages + place, tokens } }
}

const addedTo = ({ messages, older }: History, message: NewMessage): History => ({
  messages: [...messages, { ...message, sequence: older.messages + messages.length + 1 }],
  older
})
