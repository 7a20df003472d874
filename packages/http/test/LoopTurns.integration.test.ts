/** Many requests that compute, behind Node's server: none of them holds the event loop until all others have had their step. */
import { assert, describe, it } from "@effect/vitest"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as HttpServerResponse from "effect/http/HttpServerResponse"
import { MixedScheduler, Scheduler } from "effect/Scheduler"
import { longestStretch } from "../../../test/LongestStretch.ts"
import { usedTime } from "../../../test/processorTime.ts"
import { nodeHandler } from "../src/node/NodeHandler.ts"
import { listen } from "./Sockets.ts"

const step = 5
const crowd = 50

/** Computes for some milliseconds of the processor. */
const compute = () => {
  const end = usedTime() + step
  while (usedTime() < end);
}

const answer = Effect.gen(function* () {
  for (let left = 5; left > 0; left--) {
    yield* Effect.yieldNow
    compute()
  }
  return HttpServerResponse.text("done")
})

const stretchOf = async (services: Context.Context<never>): Promise<number> => {
  const app = { answer, services }
  await using server = await listen(
    nodeHandler({ whenNeeded: () => Promise.resolve(app), secondsToRetry: () => 1, bodyTimeout: 10_000 })
  )
  assert.strictEqual(await (await fetch(server.url)).text(), "done")
  const all = Array.from({ length: crowd }, () => fetch(server.url).then((response) => response.text()))
  const stretch = longestStretch()
  assert.deepStrictEqual(new Set(await Promise.all(all)), new Set(["done"]))
  return stretch.end()
}

describe("requests that compute", () => {
  it("share the event loop", async () => {
    assert.isBelow(await stretchOf(Context.empty()), (crowd * step) / 2)
  })

  it("are scheduled by the host's own scheduler, if it has chosen one", async () => {
    let made = 0
    class Own extends MixedScheduler {
      override makeDispatcher() {
        made++
        return super.makeDispatcher()
      }
    }
    await stretchOf(Context.make(Scheduler, new Own()))
    assert.isAtLeast(made, crowd)
  })
})
