/** Use cases with a conversation as a whole: import, fork, rewind. `Turns` has those that also send a message: regenerate, edit. */
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import type { Principal } from "../access/Principal.ts"
import { AssistantNotFound } from "../assistants/Assistant.ts"
import { TokenCounter } from "../models/TokenCounter.ts"
import { type AssistantId, type MessageId, newId, type RunId, ThreadId } from "../primitives/Ids.ts"
import type { StoreUnavailable } from "../primitives/StoreUnavailable.ts"
import { traced, tracedFn } from "../primitives/Traced.ts"
import type { BranchOutcome, Located } from "../runs/Branches.ts"
import { FollowUps } from "../runs/FollowUps.ts"
import type { IdempotencyKey } from "../runs/Idempotency.ts"
import { RunStore } from "../runs/RunStore.ts"
import { type Metadata, Thread, ThreadInSession, ThreadNotFound } from "../threads/Thread.ts"
import { removeLater } from "./ScratchThreads.ts"
import { ThreadStore } from "../threads/ThreadStore.ts"
import { type ImportRefused, readImport, rewriteImported } from "./Import.ts"
import type { PartError } from "./RegisteredPart.ts"
import { Rewinds } from "./Rewinds.ts"
import { rewriteBy } from "./Rewriting.ts"
import { answeredBefore, IdempotencyConflict, keptAnswer } from "../runs/AnsweredBefore.ts"
import { MessageNotFound, ThreadBusy, ThreadChanged } from "./TurnErrors.ts"
import { TurnParts } from "./TurnParts.ts"
import { TurnSettings } from "./TurnSettings.ts"

/** Messages of a conversation that happened elsewhere. */
export interface ImportRequest {
  readonly assistantId: AssistantId
  readonly metadata?: Metadata
  /** Each entry must be an `ImportedMessage`; an entry that is none is told with its position. */
  readonly messages: ReadonlyArray<unknown>
  /** True: the thread and its runs stand in no list, and it is deleted after a day. */
  readonly scratch?: boolean
  readonly idempotency?: IdempotencyKey
}

/** A thread, and the last message that the fork shall have. */
export interface ForkRequest {
  readonly threadId: ThreadId
  /** The last message of the fork; absent: the newest. */
  readonly messageId?: MessageId
  readonly metadata?: Metadata
  readonly idempotency?: IdempotencyKey
}

/** The message to go back to, and whether the rest is kept as a thread. */
export interface RewindRequest {
  readonly threadId: ThreadId
  /** The message that becomes the newest. */
  readonly messageId: MessageId
  /** False: the messages that are taken back are deleted. Default true. */
  readonly keep?: boolean
  /** True: rooms undo what they have learned from these messages. Default false. */
  readonly forget?: boolean
  readonly idempotency?: IdempotencyKey
}

/** The shorter thread, and where the rest is kept. */
export interface Rewound {
  readonly thread: Thread
  /** The thread that has the whole conversation as it was; null: nothing was taken back, or it was deleted. */
  readonly keptAs: ThreadId | null
}

export type BranchError =
  | ThreadNotFound
  | MessageNotFound
  | ThreadBusy
  | ThreadInSession
  | ThreadChanged
  | IdempotencyConflict
  | StoreUnavailable

export class Conversations extends Context.Service<
  Conversations,
  {
    /** A thread of messages that were said elsewhere. They are no runs and no usage. */
    readonly import: (
      request: ImportRequest
    ) => Effect.Effect<
      Thread,
      AssistantNotFound | ImportRefused | PartError | IdempotencyConflict | StoreUnavailable,
      Principal
    >
    /** A new thread with the messages up to and with one of this thread, which stays as it is. */
    readonly fork: (request: ForkRequest) => Effect.Effect<Thread, BranchError, Principal>
    /** Takes back everything after a message. */
    readonly rewind: (request: RewindRequest) => Effect.Effect<Rewound, BranchError, Principal>
  }
>()("@colloquy/core/turns/Conversations") {
  static readonly layer: Layer.Layer<Conversations, never, FollowUps | Rewinds | RunStore | ThreadStore | TurnParts> =
    Layer.effect(
      Conversations,
      Effect.gen(function* () {
        const runs = yield* RunStore
        const threads = yield* ThreadStore
        const rewinds = yield* Rewinds
        const followUps = yield* FollowUps
        const counter = yield* TokenCounter
        const parts = yield* TurnParts
        const { imports } = yield* TurnSettings

        /** No turn says which parts are concerned, so all of them rewrite. */
        const importRewriting = (threadId: ThreadId, assistantId: AssistantId) =>
          rewriteBy(parts.all(), { kind: "message", threadId, assistantId })

        const locate = Effect.fnUntraced(function* (threadId: ThreadId, messageId: MessageId | null) {
          const [found, thread] = yield* Effect.all([runs.locate(threadId, messageId), threads.get(threadId)])
          if (Option.isNone(thread)) return yield* new ThreadNotFound({ threadId })
          if (Option.isNone(found) && messageId !== null) return yield* new MessageNotFound({ messageId })
          return { thread: thread.value, located: Option.getOrNull(found) }
        })

        const runsBehind = Effect.fnUntraced(function* (threadId: ThreadId, { count, message }: Located) {
          const found = new Set<RunId>()
          for (let before = count + 1; before > message.sequence + 1; before -= pageSize) {
            for (const { runId, sequence } of yield* threads.messagesBefore(threadId, before, pageSize)) {
              if (runId !== null && sequence > message.sequence) found.add(runId)
            }
          }
          return [...found]
        })

        const fork = Effect.fnUntraced(function* (request: ForkRequest) {
          const { idempotency, threadId } = request
          const answered = yield* answeredBefore(runs, idempotency, decodeThread)
          if (answered !== undefined) return answered
          const { located, thread: source } = yield* locate(threadId, request.messageId ?? null)
          const now = new Date(yield* Clock.currentTimeMillis)
          const createdAt = located === null || located.message.createdAt < now ? now : located.message.createdAt
          const thread: Thread = {
            id: yield* newId(ThreadId),
            assistantId: source.assistantId,
            metadata: request.metadata ?? null,
            createdAt: now,
            updatedAt: createdAt,
            assistantVersion: source.assistantVersion,
            ...(source.actingAssistantId === undefined ? {} : { actingAssistantId: source.actingAssistantId }),
            ...(located === null ? {} : { forkedFrom: { threadId, messageId: located.message.id } })
          }
          const outcome = yield* runs.forkThread({
            from: { threadId, keeps: located?.message.sequence ?? 0, newest: located?.newest ?? null },
            thread,
            once: keptAnswer(idempotency, encodeThread(thread))
          })
          yield* acceptOutcome(threadId, outcome)
          return thread
        })

        const rewind = Effect.fnUntraced(function* (request: RewindRequest) {
          const { forget = false, idempotency, keep = true, messageId, threadId } = request
          const answered = yield* answeredBefore(runs, idempotency, decodeRewound)
          if (answered !== undefined) return answered
          const { located, thread } = yield* locate(threadId, messageId)
          if (located === null) return yield* new MessageNotFound({ messageId })
          const isBehind = located.count > located.message.sequence
          const keptAs = keep && isBehind ? yield* newId(ThreadId) : null
          const rewound: Rewound = { thread, keptAs }
          const forgotten =
            forget && isBehind
              ? yield* rewinds.followUps({
                  assistantId: thread.assistantId,
                  runIds: yield* runsBehind(threadId, located)
                })
              : []
          const outcome = yield* runs.rewindThread({
            threadId,
            keeps: located.message.sequence,
            newest: located.newest,
            keptAs,
            at: new Date(yield* Clock.currentTimeMillis),
            followUps: forgotten,
            once: keptAnswer(idempotency, encodeRewound(rewound))
          })
          yield* acceptOutcome(threadId, outcome)
          if (forgotten.length > 0) followUps.wake()
          return rewound
        })

        return Conversations.of({
          import: tracedFn("Conversations.import")(function* (request: ImportRequest) {
            const { assistantId, idempotency, metadata = null, scratch = false } = request
            const answered = yield* answeredBefore(runs, idempotency, decodeThread)
            if (answered !== undefined) return answered
            const at = new Date(yield* Clock.currentTimeMillis)
            const id = yield* newId(ThreadId)
            const read = yield* readImport(request.messages, { threadId: id, at, counter, limits: imports })
            const rewriting = importRewriting(id, assistantId)
            const messages =
              rewriting === null
                ? read
                : yield* Effect.forEach(read, (message) => rewriteImported(message, rewriting, counter))
            const made: Thread = { id, assistantId, metadata, assistantVersion: null, createdAt: at, updatedAt: at }
            const thread: Thread = scratch ? { ...made, scratch } : made
            if (scratch) yield* removeLater(followUps, id, at)
            const once = keptAnswer(idempotency, encodeThread(thread))
            const outcome = yield* runs.importThread({ thread, messages, once })
            if (outcome._tag === "Done") return thread
            if (outcome._tag === "ThreadMissing") return yield* new AssistantNotFound({ assistantId })
            return (yield* answeredBefore(runs, idempotency, decodeThread)) ?? (yield* new IdempotencyConflict())
          }),
          fork: (request) => again(fork(request)).pipe(traced("Conversations.fork")),
          rewind: (request) => again(rewind(request)).pipe(traced("Conversations.rewind"))
        })
      })
    )
}

const pageSize = 500

/** Something else was stored at the same moment: another message, or the answer to the same key. */
const again = <A, E, R>(act: Effect.Effect<A, E | ThreadChanged, R>): Effect.Effect<A, E | ThreadChanged, R> =>
  Effect.retry(act, { times: 3, while: (error) => error instanceof ThreadChanged })

const threadCodec = Schema.toCodecJson(Thread)
const encodeThread = Schema.encodeSync(threadCodec)
const decodeThread = Schema.decodeUnknownOption(threadCodec)
const rewoundCodec = Schema.toCodecJson(Schema.Struct({ thread: Thread, keptAs: Schema.NullOr(ThreadId) }))
const encodeRewound = Schema.encodeSync(rewoundCodec)
const decodeRewound = Schema.decodeUnknownOption(rewoundCodec)

/** Fails with the error that an outcome means; `ThreadChanged` if the same request should look again. */
export const acceptOutcome = (
  threadId: ThreadId,
  outcome: BranchOutcome
): Effect.Effect<void, ThreadNotFound | ThreadBusy | ThreadInSession | ThreadChanged | IdempotencyConflict> => {
  switch (outcome._tag) {
    case "Done":
      return Effect.void
    case "ThreadMissing":
      return Effect.fail(new ThreadNotFound({ threadId }))
    case "Busy":
      return Effect.fail(new ThreadBusy({ threadId, runId: outcome.runId }))
    case "InSession":
      return Effect.fail(new ThreadInSession({ threadId }))
    case "Answered":
      // Without an answer, the key is that of a message.
      return Effect.fail(outcome.answer === null ? new IdempotencyConflict() : new ThreadChanged({ threadId }))
    case "Changed":
      return Effect.fail(new ThreadChanged({ threadId }))
  }
}
