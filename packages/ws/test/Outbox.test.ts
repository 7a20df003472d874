// What waits for a slow client, and what overtakes it.
import { assert, describe, it } from "@effect/vitest"
import { WebSocket } from "ws"
import { makeOutbox } from "../src/Outbox.ts"
import { collectGarbage } from "../../../test/garbage.ts"
import { loopTurn } from "../../../test/until.ts"

/** A socket that takes everything and lets nothing go until it is told to. */
const slowSocket = () => {
  const sent: Array<string> = []
  const pending: Array<() => void> = []
  let buffered = 0
  const socket = {
    readyState: WebSocket.OPEN,
    get bufferedAmount() {
      return buffered
    },
    send: (data: string | Buffer, _isAudio: boolean, done?: () => void) => {
      sent.push(data.toString())
      buffered += data.length
      if (done !== undefined) pending.push(done)
    }
  }
  const drain = () => {
    buffered = 0
    for (const done of pending.splice(0)) done()
  }
  return { socket, sent, drain }
}

const nobody = { onBehind: () => {}, onFull: () => {} }

describe("Outbox", () => {
  it("lets interrupted overtake the audio that waits", () => {
    const { drain, sent, socket } = slowSocket()
    const outbox = makeOutbox(socket, nobody, { inSocket: 10, behind: 1000, events: 100 })
    for (let index = 0; index < 5; index++) outbox.send(`audio-${index}`, true)
    outbox.send("words", false)
    outbox.dropAudio()
    outbox.send("interrupted", false)
    for (let round = 0; round < 5; round++) drain()
    assert.deepStrictEqual(sent, ["audio-0", "audio-1", "words", "interrupted"])
  })

  it("keeps the order of everything else, and says when the client is behind and when it is not any more", () => {
    const { drain, sent, socket } = slowSocket()
    const told: Array<boolean> = []
    const outbox = makeOutbox(
      socket,
      { ...nobody, onBehind: (isBehind) => told.push(isBehind) },
      { inSocket: 5, behind: 40, events: 100 }
    )
    for (let index = 0; index < 9; index++) outbox.send(`piece-${index}`, true)
    assert.deepStrictEqual(told, [true])
    for (let round = 0; round < 9; round++) drain()
    assert.deepStrictEqual(told, [true, false])
    assert.deepStrictEqual(
      sent,
      Array.from({ length: 9 }, (_, index) => `piece-${index}`)
    )
  })

  it("says when too many events wait, whatever their size, and when half of them are gone; audio does not count", () => {
    const { drain, socket } = slowSocket()
    const told: Array<boolean> = []
    const limits = { inSocket: 0, behind: 1_000_000, events: 4 }
    const outbox = makeOutbox(socket, { ...nobody, onFull: (isFull) => told.push(isFull) }, limits)
    for (let index = 0; index < 20; index++) outbox.send("audio", true)
    for (let index = 0; index < 4; index++) outbox.send("e", false)
    assert.deepStrictEqual(told, [])
    outbox.send("e", false)
    outbox.send("e", false)
    assert.deepStrictEqual(told, [true])
    outbox.dropAudio()
    for (let round = 0; round < 3; round++) drain()
    assert.deepStrictEqual(told, [true])
    drain()
    assert.deepStrictEqual(told, [true, false])
  })

  it("keeps nothing of what it has handed over, however long something waits", async () => {
    const { drain, socket } = slowSocket()
    const outbox = makeOutbox({ ...socket, send: (_data, isAudio, done) => socket.send("", isAudio, done) }, nobody, {
      inSocket: -1,
      behind: 1000,
      events: 100
    })
    const send = (letter: string) => {
      const data = Buffer.from(letter)
      outbox.send(data, true)
      return new WeakRef(data)
    }
    const handedOver = Array.from({ length: 500 }, (_, index) => {
      const piece = send(`piece ${index}`)
      if (index > 0) drain()
      return piece
    })
    outbox.send("waits", true)
    // What a WeakRef was made of in a job stays until the job is over.
    await loopTurn()
    collectGarbage()
    assert.isAtMost(handedOver.filter((each) => each.deref() !== undefined).length, 2)
  })

  it("hands everything over before the end", () => {
    const { sent, socket } = slowSocket()
    const outbox = makeOutbox(socket, nobody, { inSocket: 5, behind: 40, events: 100 })
    for (const data of ["one", "two", "ended"]) outbox.send(data, false)
    outbox.flush()
    assert.deepStrictEqual(sent, ["one", "two", "ended"])
  })
})
