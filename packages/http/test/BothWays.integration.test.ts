/**
 * The service runs on Node's messages as they are; a function that a host wraps around it is called with web requests. Whatever a client
 * sends, byte by byte, he gets the same by both ways.
 */
import { assert, describe, it } from "@effect/vitest"
import { connect as connectHttp2, createServer as createHttp2, type IncomingHttpHeaders } from "node:http2"
import { InMemory } from "@colloquy/adapters/in-memory"
import { gate, say } from "@colloquy/testing"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import express from "express"
import type { AddressInfo } from "node:net"
import { createServer } from "node:http"
import { webHandler } from "../src/index.ts"
import { keys, named, open, openEndless } from "./Service.ts"
import { straight, throughWeb } from "./BothWays.ts"
import { listen, portIn, talk } from "./Sockets.ts"

const key = `x-api-key: ${keys.ada}\r\n`
const id = "00000000-0000-4000-8000-000000000000"
const json = (text: string) =>
  `content-type: application/json\r\ncontent-length: ${Buffer.byteLength(text)}\r\n\r\n${text}`
const typed = (type: string, text: string) =>
  `content-type: ${type}\r\ncontent-length: ${Buffer.byteLength(text)}\r\n\r\n${text}`

const lines: ReadonlyArray<readonly [string, string]> = [
  ["GET /ai/threads", `${key}\r\n`],
  ["GET /ai/threads/", `${key}\r\n`],
  ["GET //ai//threads", `${key}\r\n`],
  ["GET /ai/threads?limit=1&skip=0", `${key}\r\n`],
  ["GET /ai/threads?limit=x&skip=%zz", `${key}\r\n`],
  ["GET /ai/threads?limit='\"<>", `${key}\r\n`],
  ["GET /ai/x/../threads", `${key}\r\n`],
  ["GET /ai/%2e%2E/threads", `${key}\r\n`],
  ["GET /ai/./threads", `${key}\r\n`],
  ["GET /../../ai/threads", `${key}\r\n`],
  ["GET /ai\\threads", `${key}\r\n`],
  ["GET /ai/threads#x", `${key}\r\n`],
  ["GET http://elsewhere/ai/threads", `${key}\r\n`],
  ["GET http://user:word@elsewhere/ai/threads", `${key}\r\n`],
  ["GET http://[bad", `${key}\r\n`],
  ["GET /ai/threads/%ff%fe", `${key}\r\n`],
  ["GET /ai/models/acme/m-1?x=1", `${key}\r\n`],
  ["GET /ai/nothing", `${key}\r\n`],
  ["GET /elsewhere", `${key}\r\n`],
  ["GET /ai/threads", "\r\n"],
  ["GET /ai/threads", `x-api-key: no\r\n${key}\r\n`],
  ["GET /ai/threads", `__proto__: x\r\nconstructor: y\r\ncookie: a=1\r\ncookie: b=2\r\n${key}\r\n`],
  [`GET /ai/threads/${id}/runs/${id}/events`, `${key}last-event-id: nobody\r\n\r\n`],
  ["HEAD /ai/threads", `${key}\r\n`],
  ["HEAD /ai/nothing", `${key}\r\n`],
  ["OPTIONS *", `${key}\r\n`],
  ["OPTIONS /ai/threads", `${key}\r\n`],
  ["TRACE /ai/threads", `${key}\r\n`],
  ["PATCH /ai/threads", `${key}\r\n`],
  ["PROPFIND /ai/threads", `${key}\r\n`],
  ["DELETE /ai/threads", `${key}\r\n`],
  [`DELETE /ai/threads/${id}`, `${key}\r\n`],
  ["POST /ai/threads/messages", `${key}\r\n`],
  ["POST /ai/threads/messages", `${key}content-length: 0\r\n\r\n`],
  ["POST /ai/threads/messages", `${key}${json('{"content":"Gr\\u00fc\\u00dfe"}')}`],
  ["POST /ai/threads/messages", `${key}${json("{} {}")}`],
  ["POST /ai/threads/messages", `${key}${json("{")}`],
  ["POST /ai/threads/messages", `${key}${json('{"content":1,"tools":[{}]}')}`],
  ["POST /ai/threads/messages", `idempotency-key: \r\n${key}${json('{"content":1}')}`],
  ["POST /ai/threads/messages", `${key}${json(`{"content":"${"x".repeat(3000)}"}`)}`],
  ["POST /ai/threads/messages", `${key}${typed("text/plain", "hello")}`],
  ["POST /ai/threads/messages", `${key}${typed("application/x-www-form-urlencoded", "content=Hello+there")}`],
  ["POST /ai/threads/messages", `${key}${typed("multipart/form-data; boundary=b", "nonsense")}`],
  [
    "POST /ai/threads/messages",
    `${key}${typed("multipart/form-data; boundary=b", '--b\r\nContent-Disposition: form-data; name="content"\r\n\r\nHello\r\n--b--\r\n')}`
  ],
  [
    "POST /ai/threads/messages",
    `${key}transfer-encoding: chunked\r\n\r\n3\r\n{"c\r\n10\r\nontent":"Hello"}\r\n0\r\n\r\n`
  ],
  ["POST /ai/threads/messages", `${key}transfer-encoding: chunked\r\n\r\nbb8\r\n${"x".repeat(3000)}\r\n0\r\n\r\n`],
  ["POST /ai/threads/messages", `${key}expect: 100-continue\r\n${json('{"content":"Hello"}')}`],
  ["POST /ai/threads/messages", `${key}${json('{"content":"Hello","stream":true}')}`]
]

/** What differs from one call to the next, and the order of headers, say nothing. */
const plain = (answer: string): ReadonlyArray<string> => {
  const [head = "", ...body] = answer.replace("HTTP/1.1 100 Continue\r\n\r\n", "").split("\r\n\r\n")
  const headers = head
    .split("\r\n")
    .filter((line) => !/^(date|x-request-id|keep-alive):/iu.test(line))
    .map((line) => line.replace(/^[^:]+:/u, (name) => name.toLowerCase()))
  // A stream may be cut into pieces anywhere.
  const text = body.join("\r\n\r\n").replaceAll(/(?:^|\r\n)[0-9a-f]+\r\n|\r\n$/giu, "")
  return [...headers.sort(), named()(text).replaceAll(/"latency_ms":\d+/gu, "")]
}

/** Bodies are small here. */
const limits = { body: 2000, upload: 2000 }

const script = (count: number) => Array.from({ length: count }, () => say("Hello, ", "Ada."))

describe("by both ways", () => {
  it.each(lines.map(([line, rest], index) => [index, line, rest] as const))("%i: %s", async (_index, line, rest) => {
    const answers: Array<ReadonlyArray<string>> = []
    for (const way of [straight, throughWeb]) {
      await using service = await openEndless(InMemory.layer, { basePath: "/ai", limits })
      await using server = await listen(way(service))
      const port = portIn(server)
      answers.push(plain(await talk(port, `${line} HTTP/1.1\r\nhost: x\r\nconnection: close\r\n${rest}`, false)))
    }
    assert.deepStrictEqual(answers[0], answers[1])
  })

  it("a kernel that cannot be built is told", async () => {
    const broken = webHandler({ kernel: Layer.effectContext(Effect.fail("no database")) })
    for (const way of [straight, throughWeb]) {
      await using server = await listen(way(broken))
      const answer = await fetch(server.url)
      const told = [answer.status, await answer.json()]
      assert.deepStrictEqual(told, [503, { detail: "The service could not be started" }])
    }
    await broken.dispose()
  })

  it("a client that goes away before his reply leaves a finished run", async () => {
    for (const way of [straight, throughWeb]) {
      await using service = await open([[gate(), say("Done.")]])
      const closed = Promise.withResolvers<void>()
      const serve = way(service)
      await using server = await listen((request, response) => {
        response.once("close", closed.resolve)
        serve(request, response)
      })
      const leave = new AbortController()
      const reply = fetch(`${server.url}/threads/messages`, {
        method: "POST",
        headers: { "x-api-key": keys.ada, "content-type": "application/json" },
        body: '{"content":"?"}',
        signal: leave.signal
      }).catch(() => "gone")
      await service.run(service.model.reached())
      leave.abort()
      await closed.promise
      assert.strictEqual(await reply, "gone")
      await service.run(service.model.release())
      const [thread] = (await service.call("GET", "/threads")).body
      await service.call("GET", `/threads/${thread.thread_id}/runs/${thread.messages[0].run_id}/events`)
      assert.strictEqual((await service.call("GET", `/threads/${thread.thread_id}`)).body.messages[1].content, "Done.")
    }
  })

  it("what a parser of the host has read is taken, though it is not written as it was", async () => {
    for (const way of [straight, throughWeb]) {
      await using service = await open(script(2))
      const app = express()
      app.use(express.json(), express.text({ type: "text/*" }), express.urlencoded({ extended: true }))
      app.use(way(service))
      await using server = await listen(createServer(app))
      const post = async (type: string, body: string) => {
        const headers = { "x-api-key": keys.ada, "content-type": type }
        const answer = await fetch(`${server.url}/threads/messages`, { method: "POST", headers, body })
        return answer.status
      }
      assert.strictEqual(await post("application/json", '{ "content" : "Hello" }'), 200)
      assert.strictEqual(await post("application/x-www-form-urlencoded", "content=a&content=Hello&metadata[a]=1"), 200)
      assert.strictEqual(await post("text/plain", "Hello"), 415)
      assert.strictEqual(await post("application/json", '{"content":""}'), 422)
    }
  })

  it("headers that the host has set go out with the answer", async () => {
    for (const way of [straight, throughWeb]) {
      await using service = await open([])
      const serve = way(service)
      await using server = await listen((request, response) => {
        response.setHeader("x-host", "mine")
        serve(request, response)
      })
      const answer = await fetch(`${server.url}/threads`, { headers: { "x-api-key": keys.ada } })
      assert.deepStrictEqual([answer.status, answer.headers.get("x-host")], [200, "mine"])
      assert.strictEqual(answer.headers.get("content-type"), "application/json")
    }
  })

  it("an answer that the host has begun himself is cut off", async () => {
    for (const way of [straight, throughWeb]) {
      await using service = await open([])
      const serve = way(service)
      await using server = await listen((request, response) => {
        response.writeHead(200)
        response.write("mine")
        serve(request, response)
      })
      const answer = await fetch(`${server.url}/threads`, { headers: { "x-api-key": keys.ada } })
      assert.strictEqual(await answer.text().catch(() => "cut off"), "cut off")
    }
  })
})

describe("over HTTP/2", () => {
  it("the service answers, streams, and outlives a client that resets his stream", async () => {
    await using service = await open([say("Hello, ", "Ada."), [say("One, "), gate(), say("two.")]])
    const server = createHttp2((request, response) => {
      // Node gives the same events and methods to both kinds of messages.
      service.node(request as never, response as never)
    })
    await new Promise<void>((resolve) => {
      server.listen(0, "127.0.0.1", resolve)
    })
    const client = connectHttp2(`http://127.0.0.1:${(server.address() as AddressInfo).port}`)
    const call = (method: string, path: string, body?: string) => {
      const type = body === undefined ? {} : { "content-type": "application/json" }
      const stream = client.request({ ":method": method, ":path": path, "x-api-key": keys.ada, ...type })
      stream.setEncoding("utf8").end(body)
      return stream
    }
    const read = async (stream: ReturnType<typeof call>): Promise<readonly [number | undefined, string]> => {
      const head = await new Promise<IncomingHttpHeaders>((resolve) => {
        stream.once("response", resolve)
      })
      let text = ""
      for await (const piece of stream) text += String(piece)
      return [Number(head[":status"]), text]
    }
    assert.deepStrictEqual(await read(call("GET", "/nothing")), [404, '{"detail":"Not Found"}'])
    assert.deepStrictEqual(await read(call("HEAD", "/threads")), [200, ""])
    const [status, events] = await read(call("POST", "/threads/messages", '{"content":"Hi","stream":true}'))
    assert.deepStrictEqual([status, events.includes('"content":"Hello, Ada."')], [200, true])
    const left = call("POST", "/threads/messages", '{"content":"Count","stream":true}')
    for await (const piece of left) if (String(piece).includes("One, ")) break
    left.close()
    await service.run(service.model.release())
    assert.deepStrictEqual((await read(call("GET", "/threads?limit=1")))[0], 200)
    client.close()
    await new Promise((resolve) => {
      server.close(resolve)
    })
  })
})
