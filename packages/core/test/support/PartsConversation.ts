/** The conversation in which tests of dying processes let three parts take part: a hosted tool, a tool of the client, and its output. */
import { Assistants, type ThreadId, Turns } from "@colloquy/core"
import { type ChatEvent, type ChatRequest, firstPage, UsageLedger } from "@colloquy/core/adapters"
import * as Effect from "effect/Effect"
import { weather } from "./Story.ts"
import { toyOptions } from "./ToyParts.ts"

const finished: ChatEvent = { _tag: "Finished", reason: "stop", model: null, providerData: null }

const call = (name: string, id: string): ReadonlyArray<ChatEvent> => [
  { _tag: "ToolCallStart", id, name },
  { _tag: "ToolCallReady", call: { id, name, arguments: "{}" } }
]

export const answer = ({ messages }: ChatRequest): ReadonlyArray<ChatEvent> => {
  const results = messages.filter(({ role }) => role === "tool").length
  if (results === 0) return [{ _tag: "TextDelta", text: "One." }, ...call("find_more", "h1"), finished]
  if (results === 1) return [{ _tag: "TextDelta", text: "Two." }, ...call("weather", "c1"), finished]
  return [{ _tag: "TextDelta", text: "Three." }, finished]
}

export const openThread = Effect.gen(function* () {
  const assistants = yield* Assistants
  const { id } = yield* assistants.create({ name: "a" })
  return (yield* assistants.createThread(id, null)).id
})

export const submit = (threadId: ThreadId) =>
  Turns.use((turns) =>
    Effect.flatMap(
      turns.submitToolOutputs({ threadId, outputs: [{ toolCallId: "c1", output: "sun" }], stream: true }),
      (next) => next.reply
    )
  )

export const converse = (threadId: ThreadId) =>
  Effect.gen(function* () {
    const request = { content: "Look.", threadId, tools: [weather], options: toyOptions, stream: true }
    yield* (yield* Turns.use((turns) => turns.start(request))).reply
    yield* submit(threadId)
  })

/** What the searches of the owner have cost. */
export const spentIn = UsageLedger.use((ledger) =>
  Effect.map(ledger.recent(firstPage), ({ days }) =>
    days.filter(({ purpose }) => purpose === "search").reduce((sum, { usage }) => sum + (usage.costUsd ?? 0), 0)
  )
)
