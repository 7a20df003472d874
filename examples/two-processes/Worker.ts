/**
 * One of several processes on one database: a kernel on Postgres, here with the demo model. The processes share only the database; each of
 * them may begin a turn, follow it, or end it.
 */
import { Postgres } from "@colloquy/adapters/postgres"
import { Kernel, Principal, Providers, type RunId, type ThreadId, Turns } from "@colloquy/core"
import * as Console from "effect/Console"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import * as Stream from "effect/Stream"
import { demoModelName, demoProvider } from "@colloquy/server/demo"

const providers = Providers.layer({
  providers: [demoProvider()],
  defaults: { provider: "demo", model: demoModelName }
})

export const kernelOn = (url: string, schema: string) =>
  Kernel.layer.pipe(Layer.provide([providers, Postgres.layer({ url: Redacted.make(url), schema })]))

/** Begins a long answer, prints its ids, and works on it to its end, also if another process ends it. */
export const begin = Effect.gen(function* () {
  const turns = yield* Turns
  const turn = yield* turns.start({ content: "count to 1000", stream: true })
  yield* Console.log(JSON.stringify({ threadId: turn.threadId, runId: turn.runId }))
  const { content, status } = yield* turn.reply
  return { status, content }
}).pipe(Principal.provide("ada"))

/** Follows a run of any process, cancels it after some words, and returns the text so far. */
export const followAndCancel = Effect.fnUntraced(function* (threadId: ThreadId, runId: RunId) {
  const turns = yield* Turns
  const events = yield* turns.follow(threadId, runId, 0)
  let heard = 0
  return yield* events.pipe(
    Stream.tap((event) => (event._tag === "TextDelta" && ++heard === 5 ? turns.cancel(threadId, runId) : Effect.void)),
    Stream.runFold(
      () => "",
      (text, event) => (event._tag === "RunCancelled" ? event.content : text)
    )
  )
}, Principal.provide("ada"))
