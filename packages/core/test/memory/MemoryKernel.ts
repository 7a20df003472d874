/** A kernel with the wing `memory` over the in-memory stores, and what the model writes after a turn. */
import { InMemory } from "@colloquy/adapters/in-memory"
import { say, type ScriptStep, ScriptedModel, TestKernel } from "@colloquy/testing"
import { type AssistantId, type Principal, Providers, type RunId, Turns } from "@colloquy/core"
import type { ChatRequest } from "@colloquy/core/adapters"
import { Memory, Memories, type MemoryStore } from "@colloquy/core/memory"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import type * as Scope from "effect/Scope"
import * as TestClock from "effect/testing/TestClock"

export type Services = TestKernel.Services | Memories | MemoryStore | Providers

/** Another kernel over the same state is another process over one database. */
export const memoryKernel = (
  steps: ReadonlyArray<ScriptStep>,
  state: InMemory.State,
  options: TestKernel.TestKernelOptions = {},
  memories: Layer.Layer<MemoryStore> = InMemory.layerFrom(state)
): Layer.Layer<Services> => {
  const providers = Layer.unwrap(
    Effect.map(ScriptedModel, ({ provider }) =>
      Providers.layer({ providers: [provider], defaults: { provider: provider.id, model: `${provider.id}-model` } })
    )
  )
  return Memory.layer().pipe(
    Layer.provideMerge(providers),
    Layer.provideMerge(TestKernel.layer(steps, { stores: InMemory.layerFrom(state), ...options })),
    Layer.provideMerge(memories),
    Layer.fresh
  )
}

export interface Operation {
  readonly op: "ADD" | "UPDATE" | "DELETE" | "NONE"
  readonly target?: number
  readonly text?: string
  readonly message?: number
  readonly quote?: string
  readonly from?: string
  readonly until?: string
}

export const operations = (...all: ReadonlyArray<Operation>): string => JSON.stringify({ operations: all })

/** An answer of the model, and what it writes when it is asked what to remember. */
export const learns = (answer: string, ...all: ReadonlyArray<Operation>): ReadonlyArray<ScriptStep> => [
  say(answer),
  say(operations(...all))
]

/** Lets everything that is due be done. */
export const settle = TestClock.adjust("1 second")

/** A turn under `Auto`, and its learning. */
export const tell = Effect.fnUntraced(function* (content: string, assistantId?: AssistantId) {
  const place = assistantId === undefined ? {} : { assistantId }
  const reply = yield* (yield* Turns).send({ content, ...place, options: { memory: { mode: "Auto" } } })
  yield* settle
  return reply
})

export const remembered = Effect.fnUntraced(function* (assistantId: AssistantId) {
  return (yield* (yield* Memories).list(assistantId, null)).memories.map(({ content }) => content)
})

export const memoryOperation = Effect.fnUntraced(function* (reply: { readonly runId: RunId }) {
  return Option.getOrThrow(yield* (yield* Memories).operation(reply.runId))
})

export type Body = Effect.Effect<void, unknown, Services | Principal | Scope.Scope>

/** What a model was asked, without its instructions. */
export const askedText = (request: ChatRequest | undefined): string =>
  (request?.messages ?? [])
    .flatMap((message) => {
      if (message.role === "tool") return [message.output]
      if (message.role === "assistant") return [message.content]
      return message.content.flatMap((part) => (part.type === "text" ? [part.text] : []))
    })
    .join("\n")
