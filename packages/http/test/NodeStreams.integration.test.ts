/** Streams over a real connection, on both ways from Node: signs of life while nothing is said, and no more of them than that. */
import { gate, say } from "@colloquy/testing"
import { assert, describe, it } from "@effect/vitest"
import * as TestClock from "effect/testing/TestClock"
import { straight, throughWeb, type Way } from "./BothWays.ts"
import { keys, open } from "./Service.ts"
import { listen } from "./Sockets.ts"

const ways: ReadonlyArray<readonly [string, Way]> = [
  ["straight from Node", straight],
  ["through a function of web requests", throughWeb]
]

const pingsIn = (text: string): number => text.split(": ping\n\n").length - 1

describe.each(ways)("a stream %s", (_name, way) => {
  it("begins with a comment, and has one after every quarter of a minute of silence", async () => {
    await using service = await open([[gate(), say("Hi"), gate("second")]], { extra: TestClock.layer() })
    await using server = await listen(way(service))
    const answer = await fetch(`${server.url}/threads/messages`, {
      method: "POST",
      headers: { "x-api-key": keys.ada, "content-type": "application/json" },
      body: JSON.stringify({ content: "?", stream: true })
    })
    const reader = answer.body?.getReader() ?? assert.fail("no body")
    const decoder = new TextDecoder()
    let text = ""
    const until = async (isSo: () => boolean) => {
      while (!isSo()) {
        const { done, value } = await reader.read()
        if (done) assert.fail(`the stream ended: ${text}`)
        text += decoder.decode(value, { stream: true })
      }
    }
    const pass = (time: "1 second" | "14 seconds") => service.run(TestClock.adjust(time))
    await until(() => text.includes("run_started"))
    assert.isTrue(text.startsWith(": ping\n\n"))
    await service.run(service.model.reached())
    for (const pings of [2, 3]) {
      await pass("14 seconds")
      await pass("1 second")
      await until(() => pingsIn(text) === pings)
    }
    await pass("14 seconds")
    await service.run(service.model.release())
    await until(() => text.includes("content_streaming"))
    await pass("14 seconds")
    await service.run(service.model.release("second"))
    await until(() => text.includes("run_ended"))
    assert.strictEqual(pingsIn(text), 3)
  })
})
