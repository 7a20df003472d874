/** Streams over real connections: many at once, readers that stall or leave, proxies that compress, and peers that talk nonsense. */
import { assert, describe, it } from "@effect/vitest"
import { gate, say, type ScriptStep } from "@colloquy/testing"
import { createServer, type IncomingMessage, request as send, type ServerResponse } from "node:http"
import { constants, createGzip } from "node:zlib"
import { toNodeHandler } from "../src/node/index.ts"
import { keys, open, readEvents, type Service, type SseEvent } from "./Service.ts"
import { listen, portIn, type Running, talk } from "./Sockets.ts"

const headers = { "x-api-key": keys.ada, "content-type": "application/json" }

const stream = (server: Running, content = "Hello", signal: AbortSignal | null = null) =>
  fetch(`${server.url}/threads/messages`, {
    method: "POST",
    headers,
    body: JSON.stringify({ content, stream: true }),
    signal
  })

/** The event of a type, when it comes. */
const until = async (events: AsyncGenerator<SseEvent>, type: string): Promise<SseEvent> => {
  for (let next = await events.next(); !next.done; next = await events.next())
    if (next.value.data.type === type) return next.value
  return assert.fail(`the stream ended without ${type}`)
}

const listThreads = async (service: Service) => (await service.call("GET", "/threads?limit=200")).body

/** Resolves when the owner's runs have all ended, as their own streams tell. */
const settled = async (service: Service) => {
  for (const { messages, thread_id } of await listThreads(service)) {
    await service.call("GET", `/threads/${thread_id}/runs/${messages[0].run_id}/events`)
  }
  return listThreads(service)
}

describe("connections", () => {
  it("carry 500 slow streams at once", async () => {
    const count = 500
    const step: ScriptStep = [say("slowly"), gate(), say(" done")]
    await using service = await open(Array.from({ length: count }, () => step))
    await using server = await listen(service.node)
    const streams = await Promise.all(
      Array.from({ length: count }, async () => {
        const events = readEvents(await stream(server))
        await until(events, "content_streaming")
        return events
      })
    )
    const begun = performance.now()
    assert.strictEqual((await fetch(`${server.url}/threads?limit=1`, { headers })).status, 200)
    assert.isBelow(performance.now() - begun, 5000)
    await service.run(service.model.release())
    const ends = await Promise.all(streams.map((events) => until(events, "run_ended")))
    assert.isTrue(ends.every(({ data }) => data.content === "slowly done"))
  })

  it("that nobody reads hold neither the run nor the memory", async () => {
    const piece = "x".repeat(1000)
    await using service = await open([say("begin", ...Array.from({ length: 30_000 }, () => piece))])
    const mounted = service.node
    let waiting = 0
    await using server = await listen((request, response) => {
      const write = response.write.bind(response)
      response.write = ((...args: Parameters<typeof write>) => {
        const result = write(...args)
        waiting = Math.max(waiting, response.writableLength)
        return result
      }) as typeof response.write
      mounted(request, response)
    })
    const stalled = send(`${server.url}/threads/messages`, { method: "POST", headers }, (response) => response.pause())
    stalled.end(JSON.stringify({ content: "Much", stream: true }))
    await new Promise((resolve) => stalled.once("response", resolve))
    const [thread] = await settled(service)
    assert.lengthOf(thread.messages[1].content, 5 + 30_000 * piece.length)
    assert.isBelow(waiting, 2 * 1024 * 1024)
    stalled.destroy()
  })

  it("that are dropped in the middle change nothing", async () => {
    await using service = await open([[say("One, "), gate(), say("two.")]])
    const closed = Promise.withResolvers<void>()
    const mounted = service.node
    await using server = await listen((request, response) => {
      response.once("close", closed.resolve)
      mounted(request, response)
    })
    const leave = new AbortController()
    const events = readEvents(await stream(server, "Count", leave.signal))
    await until(events, "content_streaming")
    leave.abort()
    await closed.promise
    await service.run(service.model.release())
    const [thread] = await settled(service)
    assert.deepStrictEqual([thread.messages[1].status, thread.messages[1].content], ["COMPLETED", "One, two."])
  })

  it.each(["that compresses all", "that leaves alone what says no-transform"])(
    "through a proxy %s bring events while the run goes on",
    async (kind) => {
      await using service = await open([[say("early"), gate(), say(" late")]])
      await using server = await listen(service.node)
      await using front = await listen(
        createServer((request, response) => forward(server, request, response, kind.includes("all")))
      )
      const response = await stream(front)
      assert.strictEqual(response.headers.get("content-encoding"), kind.includes("all") ? "gzip" : null)
      const events = readEvents(response)
      assert.strictEqual((await until(events, "content_streaming")).data.content, "early")
      await service.run(service.model.release())
      assert.strictEqual((await until(events, "run_ended")).data.content, "early late")
    }
  )

  it("with bodies over the limit are answered, and serve the next request", async () => {
    await using service = await open([], { http: { limits: { body: 1000, upload: 1000 } } })
    await using server = await listen(service.node)
    const huge = "x".repeat(3 * 1024 * 1024)
    for (const type of ["application/json", "multipart/form-data; boundary=b", "text/plain"]) {
      const answer = await fetch(`${server.url}/threads/messages`, {
        method: "POST",
        headers: { ...headers, "content-type": type },
        body: huge
      })
      assert.strictEqual(answer.status, 413, await answer.text())
    }
    assert.strictEqual((await fetch(`${server.url}/threads`, { headers })).status, 200)
  })

  it("stay usable after an answer that came before the body was read", async () => {
    await using service = await open([])
    await using server = await listen(service.node)
    const port = portIn(server)
    const body = "x".repeat(500_000)
    const refused = `POST /threads/messages HTTP/1.1\r\nhost: x\r\ncontent-length: ${body.length}\r\n\r\n${body}`
    const wrong = `POST /assistants HTTP/1.1\r\nhost: x\r\nx-api-key: ${keys.ada}\r\ncontent-type: text/plain\r\ncontent-length: ${body.length}\r\n\r\n${body}`
    const last = `GET /threads HTTP/1.1\r\nhost: x\r\nx-api-key: ${keys.ada}\r\nconnection: close\r\n\r\n`
    const statuses = [...(await talk(port, refused + wrong + last, false)).matchAll(/HTTP\/1\.1 (\d+)/gu)].map(
      ([, status]) => status
    )
    assert.deepStrictEqual(statuses, ["401", "415", "200"])
  })

  it("of peers that talk nonsense or hang up in a body do no harm", async () => {
    await using service = await open([])
    await using server = await listen(service.node)
    const port = portIn(server)
    const key = `x-api-key: ${keys.ada}\r\n`
    const lines = [
      "GET // HTTP/1.1\r\nhost: x\r\n\r\n",
      "GET http://[bad HTTP/1.1\r\nhost: x\r\n\r\n",
      "OPTIONS * HTTP/1.1\r\nhost: x\r\n\r\n",
      "TRACE / HTTP/1.1\r\nhost: x\r\n\r\n",
      "GET /threads HTTP/1.1\r\nhost: \x01\r\n\r\n",
      `GET /threads/%ff%fe?skip=%zz HTTP/1.1\r\nhost: x\r\n${key}\r\n`,
      `POST /threads/messages HTTP/1.1\r\nhost: x\r\n${key}content-length: 1000\r\n\r\n{"content"`,
      `POST /threads/messages HTTP/1.1\r\nhost: x\r\n${key}transfer-encoding: chunked\r\n\r\nnonsense\r\n`,
      `POST /threads/messages HTTP/1.1\r\nhost: x\r\n${key}content-type: multipart/form-data; boundary=b\r\ncontent-length: 99\r\n\r\n--b\r\nContent-Disposition: form-data; name="files"; filename="a.txt"\r\n\r\nabc`
    ]
    for (const line of lines) assert.notMatch(await talk(port, line), /^HTTP\/1\.1 5\d\d/)
    assert.strictEqual((await fetch(`${server.url}/threads`, { headers })).status, 200)
  })

  it("answer an unusable kernel with a fault that says nothing", async () => {
    await using server = await listen(toNodeHandler(() => Promise.reject(new Error("password"))))
    const answer = await fetch(server.url)
    assert.deepStrictEqual([answer.status, await answer.json()], [500, { detail: "Internal Server Error" }])
  })
})

/** A proxy that compresses, piece by piece as proxies in front of event streams do. */
const forward = (server: Running, request: IncomingMessage, response: ServerResponse, all: boolean): void => {
  const upstream = send(
    `${server.url}${request.url}`,
    { method: request.method ?? "GET", headers: request.headers },
    (answer) => {
      const isLeftAlone = !all && String(answer.headers["cache-control"]).includes("no-transform")
      if (isLeftAlone) {
        response.writeHead(answer.statusCode ?? 502, answer.headers)
        answer.pipe(response)
        return
      }
      const gzip = createGzip({ flush: constants.Z_SYNC_FLUSH })
      response.writeHead(answer.statusCode ?? 502, { ...answer.headers, "content-encoding": "gzip" })
      answer.pipe(gzip).pipe(response)
    }
  )
  request.pipe(upstream)
}
