/** Five thousand clients follow one run of one process, live. */
import { assert, describe, it } from "@effect/vitest"
import { once } from "node:events"
import { connect, type Socket } from "node:net"
import { onThisMachine } from "../../../test/LongestStretch.ts"
import { startService } from "./ForkedService.ts"

/** The first ones pay for what all share. */
const first = 200
const all = 5000

interface Follower {
  readonly socket: Socket
  readonly ended: Promise<string>
}

/** Begun when the first bytes of the stream are there. */
const follow = async (port: number, head: string): Promise<Follower> => {
  const socket = connect(port, "127.0.0.1")
  let text = ""
  const ended = new Promise<string>((resolve) => {
    socket.on("data", (bytes) => {
      text += bytes.toString("latin1")
      // The last chunk of an answer whose length is not known.
      if (text.endsWith("0\r\n\r\n")) resolve(text)
    })
  })
  socket.write(head)
  await once(socket, "data")
  return { socket, ended }
}

/** What was said, whatever pieces it came in. */
const told = (answer: string): string =>
  [...answer.matchAll(/"type":"content_streaming","content":"([^"]*)"/gu)].map(([, text]) => text).join("")

describe("a run with five thousand followers", () => {
  it(
    "tells each of them everything, leaves the event loop to others, and costs less than 60 KB for each",
    {
      timeout: 120_000
    },
    async () => {
      const { child, next } = startService("FollowersProcess.ts")
      const followers: Array<Follower> = []
      try {
        const { key, path, port } = await next("Listening")
        const residentWith = async (count: number) => {
          while (followers.length < count) {
            const head = `GET ${path} HTTP/1.1\r\nhost: x\r\nx-api-key: ${key}\r\n\r\n`
            followers.push(...(await Promise.all(Array.from({ length: 100 }, () => follow(port, head)))))
          }
          child.send("figures")
          return (await next("Figures")).resident
        }
        const before = await residentWith(first)
        const after = await residentWith(all)
        assert.isBelow((after - before) / (all - first), 60_000)
        child.send("begin")
        const words = Array.from({ length: 20 }, (_, index) => `word ${index} `).join("")
        const answers = new Set((await Promise.all(followers.map(({ ended }) => ended))).map(told))
        assert.deepStrictEqual([...answers], [words])
        child.send("figures")
        // 1,000 and more where each follower is written to as soon as a word comes; about 60, and 150 on a busy machine, as it is.
        assert.isBelow((await next("Figures")).longest, onThisMachine(400))
      } finally {
        for (const { socket } of followers) socket.destroy()
        child.kill("SIGKILL")
      }
    }
  )
})
