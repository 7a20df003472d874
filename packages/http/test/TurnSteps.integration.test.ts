/**
 * How many steps of Effect's runtime a plain turn takes, from the request to the answer, behind Node's server. What is known at once is a
 * result and takes none: a step more for each of a turn's decisions would be a tenth of its CPU time.
 */
import { say } from "@colloquy/testing"
import { assert, it } from "@effect/vitest"
import * as Layer from "effect/Layer"
import { MixedScheduler, Scheduler } from "effect/Scheduler"
import { createServer } from "node:http"
import { keys, open } from "./Service.ts"
import { listen } from "./Sockets.ts"

/** The runtime asks the scheduler before each step whether the fiber should let others go first. */
class CountingScheduler extends MixedScheduler {
  steps = 0

  override shouldYield(fiber: Parameters<MixedScheduler["shouldYield"]>[0]): boolean {
    this.steps++
    return super.shouldYield(fiber)
  }
}

it("a turn of a known thread takes at most 270 steps, with all rooms installed", async () => {
  const scheduler = new CountingScheduler()
  await using service = await open([say("1"), say("2"), say("3")], { extra: Layer.succeed(Scheduler, scheduler) })
  await using server = await listen(createServer(service.node))
  const send = async (path: string) => {
    const answer = await fetch(`${server.url}${path}`, {
      method: "POST",
      headers: { "x-api-key": keys.ada, "content-type": "application/json" },
      body: JSON.stringify({ content: "Hello" })
    })
    assert.strictEqual(answer.status, 200)
    return JSON.parse(await answer.text())
  }
  const { thread_id: threadId } = await send("/threads/messages")
  await send(`/threads/${threadId}/messages`)
  scheduler.steps = 0
  await send(`/threads/${threadId}/messages`)
  assert.isAtMost(scheduler.steps, 270)
})
