/** Work that kills its process: it is tried a few times, in a new process each time, and then it is given up. */
import type { ThreadId } from "@colloquy/core"
import { assert, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Schedule from "effect/Schedule"
import { onPostgres } from "../../../../test/databases.ts"
import { scratchSchema } from "./Scratch.ts"
import { startWorker, type Worker } from "./Worker.ts"

const statesIn = (worker: Worker, threadId: ThreadId) =>
  Effect.map(
    worker.ask("states", { threadId }),
    (states) => states as ReadonlyArray<readonly [status: string, statusMessage: string | null]>
  )

/** Its runtime is open from the first order on. */
const askUntilEnded = Effect.fnUntraced(function* (worker: Worker, order: string, argument: unknown) {
  yield* Effect.forkChild(Effect.exit(worker.ask(order, argument)))
  yield* worker.ended
})

onPostgres((url) => {
  it.live(
    "a file that kills every process that reads it ends as an error, and the next process lives and works",
    () =>
      Effect.gen(function* () {
        const database = { database: "postgres", url, schema: yield* scratchSchema(url) } as const
        const first = yield* startWorker(database, "dying")
        const threadId = (yield* first.ask("open")) as ThreadId
        yield* askUntilEnded(first, "upload", { threadId, text: "kill" })
        for (let attempt = 2; attempt <= 3; attempt++) {
          yield* askUntilEnded(yield* startWorker(database, "dying"), "states", { threadId })
        }
        const survivor = yield* startWorker(database, "dying")
        yield* survivor.ask("upload", { threadId, text: "Badgers dig setts." })
        const states = yield* statesIn(survivor, threadId).pipe(
          Effect.repeat({
            until: (all) => all.every(([status]) => status !== "processing"),
            schedule: Schedule.spaced("50 millis")
          })
        )
        assert.deepStrictEqual(states, [
          ["error", "This file could not be indexed: the server failed. Upload it again."],
          ["completed", null]
        ])
      }),
    120_000
  )
})
