/**
 * The calls inside of helpers for which a run waits. A stored message has the calls that were open when it was written. Readers are shown the
 * calls that are open now: they are read from the threads of the helpers.
 */
import * as Effect from "effect/Effect"
import type { OpenCall, RunIds } from "../tools/ToolCall.ts"
import { isPlain, type ListedMessage } from "./ListedMessage.ts"
import type { Message } from "./Message.ts"

export const unanswered = ({ toolCalls, toolResults }: Message): ReadonlyArray<OpenCall> =>
  toolCalls.filter(({ id }) => toolResults.every(({ toolCallId }) => toolCallId !== id))

/** The newest answer of a run. */
type ReadAnswer<E, R> = (run: RunIds) => Effect.Effect<Message | undefined, E, R>

/** The open calls of a message that waits, with those inside in the place of the calls that wait for them. */
export const openNow = <E, R>(
  message: Message,
  readAnswer: ReadAnswer<E, R>
): Effect.Effect<ReadonlyArray<OpenCall>, E, R> =>
  Effect.map(
    Effect.forEach(unanswered(message), (call) => (call.waitsFor ? inside(call.waitsFor, readAnswer) : one(call))),
    (calls) => calls.flat()
  )

const one = (call: OpenCall) => Effect.succeed([call])

const inside = <E, R>(run: RunIds, readAnswer: ReadAnswer<E, R>): Effect.Effect<ReadonlyArray<OpenCall>, E, R> =>
  Effect.flatMap(readAnswer(run), (answer) => {
    if (answer?.status !== "REQUIRES_ACTION") return Effect.succeed([])
    const of = { threadId: run.threadId, runId: run.runId }
    return Effect.map(openNow(answer, readAnswer), (calls) => calls.map((call) => ({ of, ...call })))
  })

const hasInner = (message: ListedMessage): message is Message =>
  !isPlain(message) && message.toolCalls.some(({ waitsFor }) => waitsFor !== undefined)

/** Messages as they are shown. Of a message that waits no more, a call of a helper is one that waited for an approval. */
export const withInnerCalls = <Each extends ListedMessage, E, R>(
  messages: ReadonlyArray<Each>,
  readAnswer: ReadAnswer<E, R>
): Effect.Effect<ReadonlyArray<Each>, E, R> =>
  messages.some(hasInner)
    ? Effect.forEach(messages, (message) => {
        if (!hasInner(message)) return Effect.succeed(message)
        const open = new Set(message.status === "REQUIRES_ACTION" ? unanswered(message) : [])
        const shown = Effect.forEach(message.toolCalls, (call) =>
          call.waitsFor === undefined
            ? one(call)
            : open.has(call)
              ? inside(call.waitsFor, readAnswer)
              : one(closed(call))
        )
        return Effect.map(shown, (calls) => Object.assign({}, message, { toolCalls: calls.flat() }))
      })
    : Effect.succeed(messages)

const closed = ({ waitsFor: _, ...call }: OpenCall): OpenCall => ({ ...call, approval: { expiresAt: null } })
