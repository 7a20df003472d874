/**
 * A thread needs an assistant, and OpenAI's clients have none: one is made with a conversation that names only a model. It has a mark in its
 * metadata, is not listed as a model, and is removed with the last of its threads.
 */
import { type AssistantId, Assistants, type ThreadId, Threads } from "@colloquy/core"
import * as Effect from "effect/Effect"
import { isMade, madeForOpenAi } from "../wire/MadeAssistant.ts"

export const makeMadeAssistants = Effect.gen(function* () {
  const assistants = yield* Assistants
  const threads = yield* Threads

  const make = Effect.map(assistants.create({ name: "Assistant", metadata: madeForOpenAi }), ({ id }) => id)

  /** Removes the assistant of a conversation that could not begin. */
  const undo = (id: AssistantId) => Effect.ignore(assistants.remove(id))

  const removeUnused = Effect.fnUntraced(function* (id: AssistantId) {
    if (!isMade(yield* assistants.get(id))) return
    const page = { skip: 0, limit: 1 }
    const left = yield* threads.list({ page, assistantId: id, includeMessages: false })
    if (left.length === 0) yield* assistants.remove(id)
  })

  /** Removes a thread, and the assistant that was made for it when no other thread is left. */
  const removeThread = Effect.fnUntraced(function* (threadId: ThreadId) {
    const { thread } = yield* threads.get(threadId)
    yield* threads.remove(threadId)
    yield* Effect.catchTag(removeUnused(thread.assistantId), "AssistantNotFound", () => Effect.void)
  })

  return { make, undo, removeThread }
})
