/** Compares a list of messages with the messages themselves. Used by the contract of `ThreadStore`. */
import type { Message, ThreadId } from "@colloquy/core"
import { isPlain, type ListedMessage, type PlainMessage, ThreadStore, usualStop } from "@colloquy/core/adapters"
import { assert } from "@effect/vitest"
import * as Effect from "effect/Effect"

/** A text message in the form in which `ThreadStore.listed` may return it: without its sequence and its size, which lists do not show. */
export const toPlain = (message: Message): PlainMessage => ({
  threadId: message.threadId,
  createdAt: message.createdAt,
  usage: message.usage,
  json: {
    id: JSON.stringify(message.id),
    runId: JSON.stringify(message.runId),
    role: JSON.stringify(message.role),
    status: JSON.stringify(message.status),
    content: JSON.stringify(message.content),
    provider: JSON.stringify(message.provider),
    model: JSON.stringify(message.model),
    metadata: JSON.stringify(message.metadata),
    assistantId: JSON.stringify(message.assistant?.id ?? null),
    assistantVersion: JSON.stringify(message.assistant?.version ?? null)
  }
})

const listedFields = (message: Message) => ({
  ...toPlain(message),
  calls: [...message.toolCalls, ...message.toolResults, ...message.steps],
  supplements: message.supplements,
  fault: message.fault,
  stopReason: message.stopReason
})

const nothingElse = { calls: [], supplements: null, fault: null }

const expectListed = (listed: ReadonlyArray<ListedMessage>, messages: ReadonlyArray<Message>): void => {
  assert.strictEqual(listed.length, messages.length)
  for (const [index, message] of messages.entries()) {
    const found = listed[index]
    if (found === undefined || !isPlain(found)) assert.deepStrictEqual(found, message)
    else {
      const { createdAt, json, threadId, usage } = found
      assert.deepStrictEqual(
        { threadId, createdAt, usage, json: { ...json }, ...nothingElse, stopReason: usualStop(message) },
        listedFields(message)
      )
    }
  }
}

/** Returns the messages, after checking that the list of the same threads shows the same. */
export const messagesAsListed = Effect.fnUntraced(function* (ids: ReadonlyArray<ThreadId>) {
  const store = yield* ThreadStore
  const messages = yield* store.messages(ids)
  expectListed(yield* store.listed(ids), messages)
  return messages
})
