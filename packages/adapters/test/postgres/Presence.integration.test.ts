/** What a process held that was killed: another process takes it over long before its leases expire. */
import { assert, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import type { RunId, ThreadId } from "@colloquy/core"
import { onPostgres } from "../../../../test/databases.ts"
import { longLease } from "./Lease.ts"
import { scratchSchema } from "./Scratch.ts"
import { startWorker } from "./Worker.ts"

onPostgres((url) => {
  it.live("a thread whose process was killed is free, although the lease lasts for an hour", () =>
    Effect.gen(function* () {
      const owner = "presence"
      const schema = yield* scratchSchema(url)
      const database = { database: "postgres", url, schema } as const
      const [doomed, second, witness] = [
        yield* startWorker(database, "kernel", longLease),
        yield* startWorker(database, "kernel", longLease),
        yield* startWorker(database, "kernel", longLease)
      ]
      const places: Array<{ readonly runId: RunId; readonly threadId: ThreadId }> = []
      for (const worker of [doomed, second]) {
        const place = yield* worker.ask("hang", { owner })
        places.push(place as { readonly runId: RunId; readonly threadId: ThreadId })
        worker.signal("SIGKILL")
        yield* worker.ended
      }
      for (const place of places) assert.strictEqual(yield* witness.ask("turn", { owner, ...place }), "Fine.")
    })
  )
})
