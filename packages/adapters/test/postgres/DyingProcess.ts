/** A process with documents, for a `Worker`. It is killed as soon as it reads a file whose text asks for that. */
import { Assistants, FollowUpSettings, Kernel, Principal, Providers, type ThreadId } from "@colloquy/core"
import { Documents, TextExtractor } from "@colloquy/core/documents"
import { unknownPosition } from "@colloquy/core/retrieval"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Logger from "effect/Logger"
import * as ManagedRuntime from "effect/ManagedRuntime"
import * as Redacted from "effect/Redacted"
import * as Stream from "effect/Stream"
import { Postgres } from "../../src/postgres/index.ts"
import { scripted } from "@colloquy/testing"
import { databaseFromArguments, type Orders, serve } from "./Serve.ts"

interface Order {
  readonly text: string
  readonly threadId: ThreadId
}

const database = databaseFromArguments(process.argv)
if (database.database !== "postgres") throw new Error("The next process needs a server.")

const extractor = Layer.succeed(TextExtractor, {
  readable: ["txt"],
  extract: ({ bytes }) =>
    Effect.map(Stream.mkUint8Array(bytes), (all) => {
      const text = new TextDecoder().decode(all)
      if (text.includes("kill")) process.kill(process.pid, "SIGKILL")
      return [{ ...unknownPosition, form: "prose", text }]
    })
})

const settings = Layer.succeed(FollowUpSettings, {
  claim: "1 second",
  poll: "100 millis",
  concurrency: 4,
  attempts: 3,
  firstPause: "1 second",
  longestPause: "5 minutes",
  longestAttempt: "2 hours",
  sweep: "1 minute"
})

const runtime = ManagedRuntime.make(
  Documents.layer().pipe(
    Layer.provideMerge(Kernel.layer),
    Layer.provide([
      Providers.layer({ providers: [scripted([])], defaults: { provider: "scripted", model: "scripted-model" } }),
      extractor,
      settings,
      Logger.layer([])
    ]),
    Layer.provide(Postgres.layer({ url: Redacted.make(database.url), schema: database.schema }))
  )
)

const orders: Orders<Order, Assistants | Documents> = {
  /** Answers the id of a new thread. */
  open: () =>
    Effect.gen(function* () {
      const assistants = yield* Assistants
      const { id } = yield* assistants.create({ name: "Reader" })
      return (yield* assistants.createThread(id, null)).id
    }).pipe(Principal.provide("ada")),

  upload: ({ text, threadId }) =>
    Documents.use((documents) =>
      documents.upload({
        scope: { _tag: "Thread", threadId },
        filename: "a.txt",
        bytes: Stream.make(new TextEncoder().encode(text))
      })
    ).pipe(
      Effect.map(({ id }) => id),
      Principal.provide("ada")
    ),

  /** The states of the documents of the thread, oldest first. */
  states: ({ threadId }) =>
    Documents.use((documents) => documents.list({ threadId }, { skip: 0, limit: 100 })).pipe(
      Effect.map((all) => all.map(({ status, statusMessage }) => [status, statusMessage])),
      Principal.provide("ada")
    )
}

await serve(runtime, orders)
