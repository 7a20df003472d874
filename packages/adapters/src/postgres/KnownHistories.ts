/**
 * A cache of the histories that this process has read or written most recently. The next turn of such a thread does not read its history
 * from the database again; reading it took a quarter of the database's time for a turn.
 *
 * A cached history may be outdated, but never wrong: `begin_run` locks the thread and compares the thread's last message and revision with
 * those of the cached history. If either differs, the caller reads the history from the database.
 */
import type { Message, MessageId, OwnerId, RunId, ThreadId } from "@colloquy/core"
import { type History, type NewMessage, RecentlyUsed } from "@colloquy/core/adapters"

export interface KnownHistory {
  /** The newest messages of the thread in their order, from `floor` on. Never empty. */
  readonly messages: ReadonlyArray<Message>
  readonly older: History["older"]
  /** `messages` contains every message of the thread that has at least this many tokens before it. */
  readonly floor: number
  /** The tokens of every message of the thread, the older ones too. */
  readonly tokens: number
  /** The revision of the thread when the history was read. */
  readonly revision: number
  readonly lastId: MessageId
}

interface Kept extends KnownHistory {
  /** The approximate number of characters in `messages`. */
  readonly size: number
}

export class KnownHistories {
  private readonly kept: RecentlyUsed<Kept>

  /** Keeps at most `maxCharacters` characters of messages. */
  constructor(maxCharacters: number) {
    this.kept = new RecentlyUsed(maxCharacters)
  }

  /** The cached history of a thread, if it contains every message that fits into the budget of tokens before the thread's next message. */
  find(owner: OwnerId, thread: ThreadId, budget: number): KnownHistory | undefined {
    const known = this.kept.get(historyKey(owner, thread))
    return known !== undefined && (known.older.messages === 0 || known.tokens - budget >= known.floor)
      ? known
      : undefined
  }

  /** Stores a history that was read from the database for a run with this budget. */
  addRead(owner: OwnerId, runId: RunId, history: History, budget: number, revision: number, size: number): void {
    const first = history.messages.findIndex((message) => message.runId === runId)
    const floor = tokensBefore(history, first) - budget
    this.keep(owner, history, { floor, tokens: tokensBefore(history, history.messages.length), revision, size })
  }

  /**
   * Adds the message of a turn that began on a cached history, and removes the oldest messages that do not fit into the turn's budget.
   * `size` is the number of characters of the message. Returns the history of the turn.
   */
  addBegun(owner: OwnerId, known: KnownHistory, budget: number, message: NewMessage, size: number): History {
    const floor = known.tokens - budget
    const history = addedTo(startingAt(known, floor), message)
    const before = this.kept.get(historyKey(owner, message.threadId))?.size ?? 0
    const share = history.messages.length / (known.messages.length + 1)
    this.keep(owner, history, {
      floor,
      tokens: known.tokens + message.tokens,
      revision: known.revision,
      size: Math.ceil((before + size) * share)
    })
    return history
  }

  /** Adds the stored answer of a run to the history that the run began with. */
  addAnswer(owner: OwnerId, runId: RunId, answer: NewMessage, size: number): void {
    const known = this.kept.get(historyKey(owner, answer.threadId))
    // A repeated settlement stores the same answer again, which is in the history already.
    if (known === undefined || known.lastId === answer.id) return
    if (known.messages.at(-1)?.runId !== runId) return this.forget(owner, answer.threadId)
    const { floor, revision, tokens } = known
    this.keep(owner, addedTo(known, answer), {
      floor,
      tokens: tokens + answer.tokens,
      revision,
      size: known.size + size
    })
  }

  forget(owner: OwnerId, thread: ThreadId): void {
    this.kept.delete(historyKey(owner, thread))
  }

  private keep(
    owner: OwnerId,
    { messages, older }: History,
    state: Pick<Kept, "floor" | "tokens" | "revision" | "size">
  ): void {
    const last = messages.at(-1)
    if (last === undefined) return
    this.kept.set(historyKey(owner, last.threadId), { messages, older, ...state, lastId: last.id }, state.size)
  }
}

const historyKey = (owner: OwnerId, thread: ThreadId): string => `${thread} ${owner}`

const tokensBefore = ({ messages, older }: History, index: number): number =>
  messages.slice(0, index).reduce((sum, { tokens }) => sum + tokens, older.tokens)

/** The history without the messages that have fewer than `floor` tokens before them. */
const startingAt = ({ messages, older }: History, floor: number): History => {
  let index = 0
  let tokens = older.tokens
  while (index < messages.length && tokens < floor) tokens += messages[index++]?.tokens ?? 0
  return index === 0
    ? { messages, older }
    : { messages: messages.slice(index), older: { messages: older.messages + index, tokens } }
}

const addedTo = ({ messages, older }: History, message: NewMessage): History => ({
  messages: [...messages, { ...message, sequence: older.messages + messages.length + 1 }],
  older
})
