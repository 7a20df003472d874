/** What is written to a connection that is not read: one listener waits for room, however many pieces were written. */
import { assert, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { createServer } from "node:http"
import { text } from "node:stream/consumers"
import { NodeSink } from "../src/node/NodeSink.ts"
import { listen } from "./Sockets.ts"

const pieces = 200
const piece = new Uint8Array(64 * 1024).fill(97)

it("waits for room with one listener, and goes on when there is room", async () => {
  const listeners: Array<number> = []
  const server = createServer((_request, response) => {
    const sink = new NodeSink(response)
    for (let written = 0; written < pieces; written++) sink.write(piece)
    listeners.push(response.listenerCount("drain"))
    assert.isFalse(sink.hasRoom())
    void Effect.runPromise(sink.room).then(() => response.end(sink.hasRoom() ? "room" : "full"))
  })
  await using running = await listen(server)
  const answer = await fetch(running.url)
  assert.isNotNull(answer.body)
  const read = await text(answer.body ?? [])
  assert.strictEqual(read.length, pieces * piece.length + "room".length)
  assert.isTrue(read.endsWith("room"))
  assert.deepStrictEqual(listeners, [1])
})
