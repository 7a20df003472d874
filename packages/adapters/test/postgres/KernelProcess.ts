/** A process with a kernel of its own, for a `Worker`. Its model says something and then nothing more, or answers at once. */
import { Principal, type RunId, type StartedTurn, type ThreadId, Turns } from "@colloquy/core"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as ManagedRuntime from "effect/ManagedRuntime"
import * as Option from "effect/Option"
import * as Stream from "effect/Stream"
import { hang, say, ScriptedModel, TestKernel } from "@colloquy/testing"
import { leaseSettings } from "./Lease.ts"
import { databaseFromArguments, databaseStores, type Orders, serve } from "./Serve.ts"

interface Order {
  readonly owner: string
  readonly threadId: ThreadId
  readonly runId: RunId
}

const stores = Layer.orDie(databaseStores(databaseFromArguments(process.argv)))
const runtime = ManagedRuntime.make(
  TestKernel.layer([], {
    stores,
    settings: leaseSettings(process.argv[3]),
    quota: JSON.parse(process.argv[4] ?? "{}")
  })
)

const turnPlace = ({ runId, threadId }: StartedTurn) => ({ runId, threadId })

const orders: Orders<Order, Turns | ScriptedModel> = {
  open: () => Effect.succeed("open"),

  /** Begins a turn whose model says half of an answer and then hangs; answers where it takes place. */
  hang: ({ owner }) =>
    Effect.gen(function* () {
      ;(yield* ScriptedModel).append([say("Half of", " an answer"), hang])
      return turnPlace(yield* (yield* Turns).start({ content: "Tell me all.", stream: true }))
    }).pipe(Principal.provide(owner)),

  /** A whole turn on a thread. */
  turn: ({ owner, threadId }) =>
    Effect.gen(function* () {
      ;(yield* ScriptedModel).append(say("Fine."))
      return (yield* (yield* Turns).send({ threadId, content: "How are you?" })).content
    }).pipe(Principal.provide(owner)),

  /** Turns with long answers, until the quota refuses one. Answers how many were begun. */
  spend: ({ owner }) =>
    Effect.gen(function* () {
      const turns = yield* Turns
      const model = yield* ScriptedModel
      for (let begun = 0; ; begun++) {
        model.append(say("word ".repeat(700)))
        const turn = yield* Effect.option(turns.send({ content: "Tell me all." }))
        if (Option.isNone(turn)) return begun
      }
    }).pipe(Principal.provide(owner)),

  /** Follows a run to its end; answers the tags of its events. */
  follow: ({ owner, runId, threadId }) =>
    Effect.gen(function* () {
      const events = yield* Stream.runCollect(yield* (yield* Turns).follow(threadId, runId, 0))
      return events.map(({ _tag }) => _tag)
    }).pipe(Principal.provide(owner))
}

await serve(runtime, orders)
