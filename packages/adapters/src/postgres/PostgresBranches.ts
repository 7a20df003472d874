/**
 * The operations of `RunStore` that make threads from messages. The messages of a new thread are sent in portions, each a statement of its
 * own; the last statement makes the thread. A draft that was not finished is deleted by the next one of its owner, after an hour.
 */
import { type MessageId, type OwnerId, Principal, type StoreUnavailable, type ThreadId } from "@colloquy/core"
import type { AnsweredOnce, BranchOutcome, Located, NewMessage, RunStore } from "@colloquy/core/adapters"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import type * as Schema from "effect/Schema"
import { type Arguments, call, type Database } from "./Database.ts"
import { followUpsArgument } from "./FollowUpRecord.ts"
import type { KnownHistories } from "./KnownHistories.ts"
import { decodeMessages, messageArguments } from "./MessageRecord.ts"
import { functionName } from "./schema/FunctionNames.ts"
import { knownId, newRowId } from "./StoredId.ts"
import { fromJson, toJson, toKey, toText } from "./StoredText.ts"

type Branches = Pick<
  typeof RunStore.Service,
  "findAnswered" | "locate" | "importThread" | "forkThread" | "rewindThread"
>

/** How many messages, and about how many characters, one statement stores. */
const mostMessages = 150
const mostCharacters = 200_000

const done: BranchOutcome = { _tag: "Done" }

export const branches = (database: Database, histories: KnownHistories): Branches => {
  const { brief, query, schema } = database

  const act = (operation: string, name: string, args: Arguments): Effect.Effect<BranchOutcome, StoreUnavailable> =>
    Effect.map(
      query<{ readonly outcome: string }>(
        `RunStore.${operation}`,
        `select ${call(database, name, args)} as outcome`,
        Object.values(args)
      ),
      ([row]) => fromJson<BranchOutcome>(row?.outcome ?? '{"_tag":"ThreadMissing"}')
    )

  const fillDraft = `select ${schema}.${functionName("fill_draft")}($1, $2, $3, $4, $5::uuid[], $6, $7, $8, $9, $10, $11)`

  return {
    findAnswered: (key) =>
      Principal.use(({ ownerId }) =>
        Effect.map(
          brief<{ readonly fingerprint: string; readonly answer: string }>(
            "RunStore.findAnswered",
            `select fingerprint, answer from ${schema}.idempotency_keys
             where owner = $1 and key = $2 and answer is not null and created_at > clock_timestamp() - interval '24 hours'`,
            [toText(ownerId), toKey(key)]
          ),
          ([row]) =>
            Option.map(Option.fromNullishOr(row), ({ answer, fingerprint }) => ({
              fingerprint,
              answer: fromJson<Schema.Json>(answer)
            }))
        )
      ),

    locate: (threadId, id) =>
      Principal.use(({ ownerId }) => {
        const named = { owner: toText(ownerId), thread: knownId(threadId), message: id === null ? null : knownId(id) }
        if (id !== null && named.message === null) return Effect.succeed(Option.none())
        const lookFrom = (before: number | null): Effect.Effect<Option.Option<Located>, StoreUnavailable> => {
          const args = { ...named, before }
          return Effect.flatMap(
            query<LocatedRow>(
              "RunStore.locate",
              `select message, question, count, newest, before from ${call(database, "locate_message", args)}`,
              Object.values(args)
            ),
            ([row]) =>
              row === undefined || row.before === null
                ? Effect.succeed(Option.flatMap(Option.fromNullishOr(row), located))
                : Effect.andThen(Effect.yieldNow, lookFrom(row.before))
          )
        }
        return lookFrom(null)
      }),

    importThread: Effect.fnUntraced(function* ({ messages, once, thread }) {
      const { ownerId } = yield* Principal
      const owner = toText(ownerId)
      const id = newRowId(thread.id)
      if (!(yield* openDraft(database, "importThread", owner, id))) return done
      let after = 0
      let before = 0
      for (const portion of portions(messages)) {
        const rows = portion.map(messageArguments)
        yield* query("RunStore.importThread", fillDraft, [
          owner,
          id,
          after,
          before,
          rows.map((row) => row.message_id),
          rows.map((row) => row.message_role),
          rows.map((row) => row.message_status),
          rows.map((row) => row.message_tokens),
          rows.map((row) => row.message_at.toISOString()),
          rows.map((row) => row.message_body),
          rows.map((row) => row.message_results)
        ])
        // A database in this process answers within one turn of the event loop, so others would wait until the last portion.
        yield* Effect.yieldNow
        after += portion.length
        before += portion.reduce((sum, { tokens }) => sum + tokens, 0)
      }
      return yield* act("importThread", "import_thread", {
        owner,
        thread: id,
        assistant: knownId(thread.assistantId),
        metadata: toJson(thread.metadata),
        created_at: thread.createdAt,
        count: messages.length,
        scratch: thread.scratch === true,
        ...onceArguments(once)
      })
    }),

    forkThread: Effect.fnUntraced(function* ({ from, once, thread }) {
      const { ownerId } = yield* Principal
      const owner = toText(ownerId)
      const id = newRowId(thread.id)
      if (!(yield* openDraft(database, "forkThread", owner, id))) return done
      yield* copyMessages(
        database,
        "forkThread",
        { owner, from: from.threadId, thread: id, keeps: from.keeps, after: 0 },
        from.keeps
      )
      return yield* act("forkThread", "fork_thread", {
        owner,
        from: knownId(from.threadId),
        newest: from.newest,
        count: from.keeps,
        thread: id,
        metadata: toJson(thread.metadata),
        created_at: thread.createdAt,
        forked_at: thread.forkedFrom?.messageId ?? null,
        ...onceArguments(once)
      })
    }),

    rewindThread: Effect.fnUntraced(function* ({ at, followUps, keeps, keptAs, newest, once, threadId }) {
      const { ownerId } = yield* Principal
      const owner = toText(ownerId)
      yield* fillKept(database, ownerId, threadId, { keeps, keptAs })
      const outcome = yield* act("rewindThread", "rewind_thread", {
        owner,
        thread: knownId(threadId),
        newest,
        keeps,
        kept_as: keptAs,
        at,
        follow_ups: followUpsArgument(followUps),
        ...onceArguments(once)
      })
      histories.forget(ownerId, threadId)
      return outcome
    })
  }
}

interface LocatedRow {
  readonly message: string | null
  readonly question: string | null
  readonly count: number
  readonly newest: MessageId
  /** Not null: the message was not among those that were read. Earlier messages have smaller sequences than this. */
  readonly before: number | null
}

const located = ({ count, message, newest, question }: LocatedRow): Option.Option<Located> => {
  if (message === null) return Option.none()
  const [found, asked = null] = decodeMessages([
    { messages: `[${question === null ? message : `${message},${question}`}]` }
  ])
  return found === undefined ? Option.none() : Option.some({ message: found, question: asked, count, newest })
}

/**
 * Begins a draft: a thread that gets its messages in several statements, and that nobody sees before the last one. False: an earlier try of this
 * call has made the thread.
 */
export const openDraft = (database: Database, operation: string, owner: string, thread: string) =>
  Effect.map(
    database.query<{ readonly opened: boolean }>(
      `RunStore.${operation}`,
      `select ${call(database, "open_draft", { owner, thread })} as opened`,
      [owner, thread]
    ),
    ([row]) => row?.opened === true
  )

/** Copies messages to the draft, portion by portion. Returns the sequence of the last one. */
const copyMessages = Effect.fnUntraced(function* (
  database: Database,
  operation: string,
  { after, from, keeps, owner, thread }: Copying,
  through: number | null
): Effect.fn.Return<number, StoreUnavailable> {
  for (let last = after; ;) {
    if (through !== null && last >= through) return last
    const args = { owner, from: knownId(from), thread, after: last, keeps, through }
    const [row] = yield* database.query<{ readonly last: number | null }>(
      `RunStore.${operation}`,
      `select ${call(database, "copy_to_draft", args)} as last`,
      Object.values(args)
    )
    // There are no more messages, or the thread has become shorter meanwhile. The last statement detects the latter.
    if (row === undefined || row.last === null) return last
    last = row.last
    yield* Effect.yieldNow
  }
})

interface Copying {
  readonly owner: string
  readonly from: ThreadId
  readonly thread: string
  /** Messages behind this sequence keep their ids. */
  readonly keeps: number
  readonly after: number
}

/** Prepares the thread that keeps what a rewind takes back: with a copy of everything but the newest messages, which the rewind moves. */
export const fillKept = Effect.fnUntraced(function* (
  database: Database,
  ownerId: OwnerId,
  from: ThreadId,
  { keeps, keptAs }: { readonly keeps: number; readonly keptAs: ThreadId | null }
): Effect.fn.Return<void, StoreUnavailable> {
  if (keptAs === null) return
  const [owner, thread] = [toText(ownerId), newRowId(keptAs)]
  if (!(yield* openDraft(database, "rewindThread", owner, thread))) return
  const copying = { owner, from, thread, keeps }
  const last = yield* copyMessages(database, "rewindThread", { ...copying, after: 0 }, keeps)
  if (last === keeps) yield* copyMessages(database, "rewindThread", { ...copying, after: keeps }, null)
})

export const onceArguments = (once: AnsweredOnce | null) => ({
  key: once === null ? null : toKey(once.key),
  fingerprint: once === null ? null : toText(once.fingerprint),
  answer: once === null ? null : JSON.stringify(once.answer)
})

function* portions(messages: ReadonlyArray<NewMessage>): Generator<ReadonlyArray<NewMessage>> {
  let from = 0
  let size = 0
  for (const [index, message] of messages.entries()) {
    size += JSON.stringify([message.content, message.steps, message.toolResults]).length
    if (index + 1 - from < mostMessages && size < mostCharacters) continue
    yield messages.slice(from, index + 1)
    from = index + 1
    size = 0
  }
  if (from < messages.length) yield messages.slice(from)
}
