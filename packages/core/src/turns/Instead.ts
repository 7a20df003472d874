/**
 * Regenerate and edit: a question is sent again, and the turn stands instead of it and of everything after it. In its place: the rewind is one
 * step with the beginning of the turn (`Begin.takesBack`), so a refused turn changes nothing. On a fork: the new thread is removed when the
 * turn is refused, and a repeat with the same idempotency key goes on with the fork of a process that died before its turn began.
 */
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import type { Principal } from "../access/Principal.ts"
import type { Assistant } from "../assistants/Assistant.ts"
import { newId, ThreadId } from "../primitives/Ids.ts"
import type { TakeBack } from "../runs/Branches.ts"
import { answeredBefore, keptAnswer } from "../runs/AnsweredBefore.ts"
import type { IdempotencyKey } from "../runs/Idempotency.ts"
import { RunStore } from "../runs/RunStore.ts"
import type { Message } from "../threads/Message.ts"
import { type Thread, ThreadNotFound } from "../threads/Thread.ts"
import { ThreadStore } from "../threads/ThreadStore.ts"
import { hostedMark } from "../tools/ToolDefinition.ts"
import { acceptOutcome, type BranchError } from "./Conversations.ts"
import type { StoredTexts } from "./PartDecisions.ts"
import { MessageNotFound, MessageNotSendable } from "./TurnErrors.ts"
import { TurnParts } from "./TurnParts.ts"
import { decodePlan, type TurnPlan } from "./TurnPlan.ts"
import type { Instead as Wish, TurnRequest } from "./TurnRequest.ts"

/** A message that is sent again: its turn needs the place, whose assistant may have changed since. */
export interface Resent {
  readonly threadId: ThreadId
  /** Null: nothing is taken back, because the thread is a fork that ends before the question. */
  readonly takesBack: TakeBack | null
  readonly requestAt: (assistant: Assistant) => RequestAtPlace
}

export interface RequestAtPlace {
  readonly request: TurnRequest
  /** Null: the message is new. */
  readonly stored: StoredTexts | null
}

interface Begun {
  readonly threadId: ThreadId
}

export type InsteadError = BranchError | MessageNotSendable

export class Instead extends Context.Service<
  Instead,
  {
    readonly use: <A extends Begun, E>(
      request: TurnRequest & { readonly instead: Wish },
      rest: (resent: Resent) => Effect.Effect<A, E, Principal>
    ) => Effect.Effect<A, E | InsteadError, Principal>
  }
>()("@colloquy/core/turns/Instead") {
  static readonly layer: Layer.Layer<Instead, never, RunStore | ThreadStore | TurnParts> = Layer.effect(
    Instead,
    Effect.gen(function* () {
      const runs = yield* RunStore
      const threads = yield* ThreadStore
      const parts = yield* TurnParts

      const locate = Effect.fnUntraced(function* (threadId: ThreadId, { edited, messageId }: Wish) {
        const [found, thread] = yield* Effect.all([runs.locate(threadId, messageId), threads.get(threadId)])
        if (Option.isNone(thread)) return yield* new ThreadNotFound({ threadId })
        if (Option.isNone(found)) return yield* new MessageNotFound({ messageId })
        const { message, question } = found.value
        if (edited !== undefined && message.role !== "user") {
          return yield* new MessageNotSendable({ messageId, reason: "answer" })
        }
        if (question === null) return yield* new MessageNotSendable({ messageId, reason: "no_question" })
        return { ...found.value, question, thread: thread.value }
      })

      const storedPlan = Effect.fnUntraced(function* ({ runId }: Message) {
        const run = runId === null ? Option.none() : yield* runs.get(runId)
        if (Option.isNone(run)) return null
        const plan = decodePlan(run.value.plan)
        return { ...plan, handedTo: plan.handedTo ?? run.value.assistantId }
      })

      /** A part that heard the question gets its options without what it has heard. */
      const askedAgain = (asked: Schema.JsonObject, without: ReadonlyArray<string>): Schema.JsonObject => {
        const again = new Map(parts.all().map((part) => [part.name, part.again]))
        const left = Object.entries(asked).flatMap(([name, options]) => {
          const ofPart = again.get(name)
          const kept = ofPart === undefined ? options : ofPart(options)
          return kept === undefined || without.includes(name) ? [] : [[name, kept] as const]
        })
        return Object.fromEntries(left)
      }

      const fork: (
        source: Thread,
        messageId: Message["id"],
        from: Omit<TakeBack, "keptAs">,
        once: IdempotencyKey | undefined
      ) => Effect.Effect<Fork, InsteadError, Principal> = Effect.fnUntraced(function* (
        source: Thread,
        messageId: Message["id"],
        from: Omit<TakeBack, "keptAs">,
        once: IdempotencyKey | undefined
      ): Effect.fn.Return<Fork, InsteadError, Principal> {
        const before = yield* answeredBefore(runs, once, decodeThreadId)
        if (before !== undefined && Option.isSome(yield* threads.get(before))) return { id: before, isNew: false }
        const at = new Date(yield* Clock.currentTimeMillis)
        const id = yield* newId(ThreadId)
        const forkedFrom = { threadId: source.id, messageId }
        const thread: Thread = {
          id,
          assistantId: source.assistantId,
          metadata: source.metadata,
          assistantVersion: source.assistantVersion,
          ...(source.actingAssistantId === undefined ? {} : { actingAssistantId: source.actingAssistantId }),
          createdAt: at,
          updatedAt: at,
          forkedFrom
        }
        const outcome = yield* runs.forkThread({
          from: { ...from, threadId: source.id },
          thread,
          // The fork of before was removed with a refused turn.
          once: before === undefined ? keptAnswer(once, id) : null
        })
        if (outcome._tag === "Answered" && outcome.answer !== null) return yield* fork(source, messageId, from, once)
        yield* acceptOutcome(source.id, outcome)
        return { id, isNew: true }
      })

      /** A request with the same key may have begun its turn on this fork. */
      const removeUnused = (id: ThreadId) =>
        Effect.flatMap(runs.list(id, { limit: 1 }), (begun) =>
          begun.runs.length === 0 ? threads.remove(id) : Effect.void
        )

      return Instead.of({
        use: Effect.fnUntraced(function* <A extends Begun, E>(
          { instead, ...request }: TurnRequest & { readonly instead: Wish },
          rest: (resent: Resent) => Effect.Effect<A, E, Principal>
        ): Effect.fn.Return<A, E | InsteadError, Principal> {
          const { threadId } = request
          if (threadId === undefined) return yield* new MessageNotFound({ messageId: instead.messageId })
          const { newest, question, thread } = yield* locate(threadId, instead)
          const plan = yield* storedPlan(question)
          const asked = askedAgain(plan?.asked ?? {}, instead.without ?? [])
          const requestAt = (at: ThreadId) => (assistant: Assistant) =>
            resent({ ...request, threadId: at }, { plan, asked, question, instead, assistant })
          const cut = { keeps: question.sequence - 1, newest }
          if (instead.in === "place") {
            const takesBack = { ...cut, keptAs: yield* newId(ThreadId) }
            return yield* rest({ threadId, takesBack, requestAt: requestAt(threadId) })
          }
          const { id, isNew } = yield* fork(thread, instead.messageId, cut, forkKey(request.idempotency))
          const turn = rest({ threadId: id, takesBack: null, requestAt: requestAt(id) })
          if (!isNew) return yield* turn
          return yield* Effect.onExit(turn, (exit) =>
            Exit.isSuccess(exit) && exit.value.threadId === id ? Effect.void : Effect.ignore(removeUnused(id))
          )
        })
      })
    })
  )
}

interface Fork {
  readonly id: ThreadId
  /** False: an earlier request with the same idempotency key has made it. */
  readonly isNew: boolean
}

/** The turn has the key of the request; its fork has one of its own. */
const forkKey = (idempotency: IdempotencyKey | undefined): IdempotencyKey | undefined =>
  idempotency === undefined ? undefined : { ...idempotency, key: `fork of ${idempotency.key}` }

const decodeThreadId = Schema.decodeUnknownOption(ThreadId)

/** The question as it was sent the first time, with what the request changes. */
const resent = (
  request: TurnRequest,
  {
    asked,
    assistant,
    instead,
    plan,
    question
  }: {
    readonly plan: TurnPlan | null
    readonly asked: Schema.JsonObject
    readonly question: Message
    readonly instead: Wish
    readonly assistant: Assistant
  }
): RequestAtPlace => {
  const options: Schema.JsonObject = Object.assign({}, asked, request.options)
  const questionFields: Partial<TurnRequest> = {
    ...(question.metadata === null ? {} : { metadata: question.metadata }),
    ...(plan === null ? {} : plannedOptions(plan, request, assistant))
  }
  const ownOptions = plan?.handedTo === assistant.id ? plan.options : undefined
  const content = instead.edited ?? (plan?.contentGiven === true ? "" : (question.content ?? ""))
  return {
    request: {
      ...questionFields,
      ...request,
      content,
      ...(Object.keys(options).length === 0 ? {} : { options }),
      ...(ownOptions === undefined ? {} : { modelOptions: { ...ownOptions, ...request.modelOptions } })
    },
    stored: {
      content: instead.edited === undefined,
      options: Object.keys(asked).filter((name) => request.options?.[name] === undefined)
    }
  }
}

/**
 * A provider that the request names has a model of its own, and not the one of the first time. So has an assistant to which the conversation
 * was handed over since, with its own instructions and tools.
 */
const plannedOptions = (
  plan: TurnPlan,
  { model, provider }: TurnRequest,
  assistant: Assistant
): Partial<TurnRequest> => {
  const isOther = provider !== undefined && provider !== plan.provider
  const ofAssistant: Partial<TurnRequest> = {
    ...(isOther ? {} : { provider: plan.provider }),
    ...(isOther || model !== undefined ? {} : { model: plan.model }),
    systemPrompt: plan.system ?? "",
    // The marks of hosted tools are no part of a plan: their parts find them among the tools.
    tools: [...plan.tools, ...(assistant.tools ?? []).filter(hostedMark)]
  }
  return {
    ...(plan.handedTo === assistant.id ? ofAssistant : {}),
    ...(plan.thinking === null ? {} : { thinking: plan.thinking }),
    ...(plan.routing === null ? {} : { routing: plan.routing }),
    ...(plan.jsonOutput ? { jsonOutput: true } : {})
  }
}
