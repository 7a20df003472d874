/** A process with a kernel that learns, for a `Worker`. Its model remembers the number that it is shown, and tells which it was shown. */
import { type AssistantId, FollowUpSettings, Kernel, Principal, Providers, type RunId, Turns } from "@colloquy/core"
import type { ChatEvent, ChatRequest } from "@colloquy/core/adapters"
import { Memory, Memories } from "@colloquy/core/memory"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Logger from "effect/Logger"
import * as ManagedRuntime from "effect/ManagedRuntime"
import * as Option from "effect/Option"
import * as Redacted from "effect/Redacted"
import * as Stream from "effect/Stream"
import { Postgres } from "../../src/postgres/index.ts"
import { databaseFromArguments, type Orders, serve } from "./Serve.ts"

interface Order {
  readonly owner: string
  readonly number: number
  readonly assistantId: AssistantId | null
  readonly runId: RunId
}

const database = databaseFromArguments(process.argv)
if (database.database !== "postgres") throw new Error("Two processes need a server.")

const shown: Array<number> = []
let heard: (() => void) | undefined
/** The model never answers once it was shown this number. */
const silentAt = Number(process.argv[3] ?? -1)

const counter = {
  id: "counter",
  chat: ({ messages }: ChatRequest) => {
    const number = Number(/number (\d+)/u.exec(JSON.stringify(messages))?.[1])
    shown.push(number)
    heard?.()
    if (number === silentAt) return Stream.never
    const operations = [{ op: "ADD", text: `The user said ${number}.`, message: 1, quote: `number ${number}` }]
    return Stream.fromIterable<ChatEvent>([
      { _tag: "TextDelta", text: JSON.stringify({ operations: [...operations, ...operations] }) },
      { _tag: "Finished", reason: "stop", model: null, providerData: null }
    ])
  }
}

/** The claims of a process that will be killed are short, so that its work is taken over soon. */
const settings = Layer.succeed(FollowUpSettings, {
  claim: process.argv[3] === undefined ? "30 seconds" : "2 seconds",
  poll: "200 millis",
  concurrency: 4,
  attempts: 5,
  firstPause: "1 second",
  longestPause: "5 minutes",
  longestAttempt: "2 hours",
  sweep: "1 minute"
})

const runtime = ManagedRuntime.make(
  Memory.layer().pipe(
    Layer.provideMerge(Kernel.layer),
    Layer.provide([
      Providers.layer({ providers: [counter], defaults: { provider: "counter", model: "m" } }),
      Postgres.layer({ url: Redacted.make(database.url), schema: database.schema }),
      settings,
      Logger.layer([])
    ])
  )
)

const orders: Orders<Order, Turns | Memories> = {
  open: () => Effect.succeed("open"),

  /** Saves a message that is learned from; answers where. */
  tell: ({ assistantId, number, owner }) =>
    Effect.gen(function* () {
      const place = assistantId === null ? {} : { assistantId }
      const options = { memory: { mode: "Auto" } }
      const saved = yield* (yield* Turns).send({ content: `number ${number}`, sendToModel: false, options, ...place })
      return { assistantId: saved.assistantId, runId: saved.runId }
    }).pipe(Principal.provide(owner)),

  /** How the learning of a turn stands. */
  status: ({ owner, runId }) =>
    Effect.map(
      Memories.use((memories) => memories.operation(runId)),
      (found) => Option.getOrNull(found)?.status ?? null
    ).pipe(Principal.provide(owner)),

  /** Answers when the model was shown something. */
  shownFirst: () =>
    Effect.callback<string>((resume) => {
      heard = () => resume(Effect.succeed("shown"))
      if (shown.length > 0) heard()
    }),

  /** What the model of this process was shown, in order. */
  shown: () => Effect.succeed(shown),

  /** The memories, oldest first. */
  remembered: ({ assistantId, owner }) =>
    Effect.gen(function* () {
      if (assistantId === null) return []
      const { memories } = yield* (yield* Memories).list(assistantId, null)
      return memories.map(({ content, source }) => [content, source?.runId])
    }).pipe(Principal.provide(owner))
}

await serve(runtime, orders)
