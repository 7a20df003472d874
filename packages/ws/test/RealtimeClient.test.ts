/** The client of the realtime socket before its connection is open. */
import { assert, it } from "@effect/vitest"
import { type ClientConnection, RealtimeClient } from "../src/client/RealtimeClient.ts"

it("a session that is stopped while it is being opened does not begin", async () => {
  let isClosed = false
  const sent: Array<unknown> = []
  const opened: Array<() => void> = []
  const closed: Array<(event: { readonly code: number; readonly reason: string }) => void> = []
  function addEventListener(type: "open" | "message" | "close", listener: never): void {
    if (type === "open") opened.push(listener)
    if (type === "close") closed.push(listener)
  }
  const connection: ClientConnection = {
    binaryType: "",
    readyState: 0,
    send: (data) => void sent.push(data),
    close: () => {
      isClosed = true
      for (const listener of closed) listener({ code: 1006, reason: "" })
    },
    addEventListener
  }
  const client = new RealtimeClient({
    url: "ws://example.test/threads/realtime",
    first: { provider: "voice", model: "voice-1" },
    open: () => connection,
    onEvent: () => {}
  })
  assert.lengthOf(opened, 1)
  const stopped = client.stop()
  assert.isTrue(isClosed)
  await stopped
  assert.deepStrictEqual(sent, [])
})
