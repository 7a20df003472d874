/** A long stored run that goes out as fast as the connection takes it leaves the event loop to other requests between its pieces. */
import { say } from "@colloquy/testing"
import { assert, describe, it } from "@effect/vitest"
import { get, type IncomingMessage } from "node:http"
import { straight, throughWeb, type Way } from "./BothWays.ts"
import { allEvents, keys, open } from "./Service.ts"
import { listen } from "./Sockets.ts"

const ways: ReadonlyArray<readonly [string, Way]> = [
  ["straight from Node", straight],
  ["through a function of web requests", throughWeb]
]

/** So many words are some twenty pieces of bytes. */
const words = Array.from({ length: 5000 }, (_, index) => `word ${index} `)

describe.each(ways)("a long run %s", (_name, way) => {
  it("goes out over many turns of the event loop", async () => {
    await using service = await open([say(...words)])
    // A turn that nobody streams keeps what came together as one event.
    const begun = await service.fetch("POST", "/threads/messages", { content: "Talk", stream: true })
    const [first] = await allEvents(begun)
    const serve = way(service)
    let turn = 0
    let isOver = false
    const count = () => {
      turn++
      if (!isOver) setImmediate(count)
    }
    const bytesOfTurns = new Map<number, number>()
    await using server = await listen((message, response) => {
      const send = response.write.bind(response)
      response.write = ((piece: Uint8Array) => {
        bytesOfTurns.set(turn, (bytesOfTurns.get(turn) ?? 0) + piece.byteLength)
        return send(piece)
      }) as typeof response.write
      serve(message, response)
    })
    count()
    const path = `/threads/${first?.data.thread_id}/runs/${first?.data.run_id}/events`
    const answer = await new Promise<IncomingMessage>((resolve) => {
      get(`${server.url}${path}`, { headers: { "x-api-key": keys.ada } }, resolve)
    })
    let text = ""
    for await (const piece of answer) text += String(piece)
    isOver = true
    assert.include(text, '"run_ended"')
    assert.isAbove(text.length, 500_000)
    assert.isBelow(Math.max(...bytesOfTurns.values()), 150_000)
  })
})
