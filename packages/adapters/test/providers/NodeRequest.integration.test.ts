/**
 * Requests with Node's own client against real servers, good and bad: what `fetch` would do with an answer is done with it here, too. What
 * becomes of it in an answer of a model is told in the tests of the transport.
 */
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { AsyncLocalStorage } from "node:async_hooks"
import { execFile } from "node:child_process"
import { once } from "node:events"
import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import * as Http from "node:http"
import * as Https from "node:https"
import * as Net from "node:net"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { setImmediate as nextTurn } from "node:timers/promises"
import { fileURLToPath } from "node:url"
import * as Zlib from "node:zlib"
import type { Exchange, HttpRequest, Read } from "../../src/protocols/Exchange.ts"
import { sendByNode } from "../../src/protocols/NodeRequest.ts"
import { collectGarbage } from "../../../../test/garbage.ts"
import { localCertificate } from "./LocalCertificate.ts"

/** A server in the scope of a test; gives its address without the scheme. */
const listen = (server: Net.Server, host = "127.0.0.1") =>
  Effect.map(
    Effect.acquireRelease(
      Effect.promise(async () => {
        const sockets = new Set<Net.Socket>()
        server.on("connection", (socket: Net.Socket) => sockets.add(socket))
        server.listen(0, host)
        await once(server, "listening")
        return sockets
      }),
      (sockets) =>
        Effect.promise(async () => {
          for (const socket of sockets) socket.destroy()
          server.close()
          await once(server, "close")
        })
    ),
    () => {
      const address = server.address()
      assert(typeof address === "object" && address !== null)
      return `${host.includes(":") ? `[${host}]` : host}:${address.port}`
    }
  )

const serve = (listener: Http.RequestListener) =>
  Effect.map(listen(Http.createServer(listener)), (at) => `http://${at}`)

/** A server that answers the first bytes of each connection with these, and closes it when `ends` says so. */
const serveBytes = (bytes: string, ends: boolean) =>
  Effect.map(
    listen(
      Net.createServer((socket) => {
        socket.on("error", () => {})
        socket.once("data", () => (ends ? socket.end(bytes) : socket.write(bytes)))
      })
    ),
    (at) => `http://${at}`
  )

interface Sent {
  readonly exchange: Exchange
  readonly isAnswered: boolean
}

const send = (url: string, more: Partial<HttpRequest> = {}) =>
  Effect.acquireRelease(
    Effect.promise(
      () =>
        new Promise<Sent>((resolve) => {
          const by = sendByNode ?? assert.fail("this is not Node")
          const exchange = by({ url, headers: {}, body: null, ...more }, (isAnswered) =>
            resolve({ exchange, isAnswered })
          )
        })
    ),
    ({ exchange }) => Effect.sync(() => exchange.release())
  )

const read = (exchange: Exchange): Promise<Read> => new Promise((resolve) => exchange.read(resolve))

/** The whole body, and how it ended. */
const readAll = (exchange: Exchange) =>
  Effect.promise(async () => {
    const pieces: Array<Uint8Array> = []
    let next = await read(exchange)
    while (typeof next !== "string") {
      pieces.push(next)
      next = await read(exchange)
    }
    return { text: Buffer.concat(pieces).toString(), ended: next }
  })

/** Asks, reads all, leaves. */
const ask = (url: string, more: Partial<HttpRequest> = {}) =>
  Effect.scoped(
    Effect.flatMap(send(url, more), ({ exchange, isAnswered }) =>
      isAnswered
        ? Effect.map(readAll(exchange), (body) => ({ status: exchange.status(), ...body }))
        : Effect.succeed(null)
    )
  )

describe("a request", () => {
  it.live("carries path, query, headers and body as they are, and what gateways expect of everybody", () =>
    Effect.gen(function* () {
      const url = yield* serve((request, response) => {
        request.setEncoding("utf8").once("data", (body) => {
          const { connection: _, ...headers } = request.headers
          response.end(JSON.stringify([request.method, request.url, headers, body]))
        })
      })
      const answer = yield* ask(`${url}/base/chat?key=a%20b`, {
        headers: { "X-Title": "Colloquy", authorization: " Bearer sk-1\n" },
        body: "Grüße"
      })
      assert.deepStrictEqual(JSON.parse(answer?.text ?? ""), [
        "POST",
        "/base/chat?key=a%20b",
        {
          accept: "*/*",
          "user-agent": "node",
          "x-title": "Colloquy",
          authorization: "Bearer sk-1",
          host: new URL(url).host,
          "content-length": "7"
        },
        "Grüße"
      ])
    })
  )

  it.live("lets a large body go when the head of its answer has come", () =>
    Effect.gen(function* () {
      const url = yield* serve((request, response) => {
        request.resume().once("end", () => response.write("Hello"))
      })
      // In a function of its own, so that nothing of this test holds the body.
      const begin = () => {
        const body = new Uint8Array(1_000_000)
        const { promise, resolve } = Promise.withResolvers<boolean>()
        const by = sendByNode ?? assert.fail("this is not Node")
        return { exchange: by({ url, headers: {}, body }, resolve), head: promise, kept: new WeakRef(body) }
      }
      const { exchange, head, kept } = begin()
      yield* Effect.addFinalizer(() => Effect.sync(() => exchange.release()))
      assert.isTrue(yield* Effect.promise(() => head))
      // A weak reference holds its object until the turn of the event loop ends.
      yield* Effect.promise(() => nextTurn())
      collectGarbage()
      assert.isUndefined(kept.deref())
    })
  )

  it.live("goes to an address of version 6, where the machine has one", () =>
    Effect.gen(function* () {
      const server = Http.createServer((request, response) => response.end(request.headers.host))
      const at = yield* Effect.option(Effect.exit(listen(server, "::1")).pipe(Effect.flatten))
      if (at._tag === "None") return
      assert.strictEqual((yield* ask(`http://${at.value}/`))?.text, at.value)
    })
  )

  for (const [name, url] of [
    ["an address with a user", "http://user:word@127.0.0.1:9/"],
    ["an address of another kind", "file:///etc/hostname"],
    ["no address", "127.0.0.1"]
  ] as const)
    it.live(`has no answer for ${name}`, () => Effect.map(ask(url), (answer) => assert.isNull(answer)))
})

describe("an answer", () => {
  const content = "data: a long story, a long story, a long story\n\n"
  for (const [coding, encode] of [
    ["gzip", Zlib.gzipSync],
    ["deflate", Zlib.deflateSync],
    ["br", Zlib.brotliCompressSync]
  ] as const)
    it.live(`that came as ${coding} is decoded`, () =>
      Effect.gen(function* () {
        const url = yield* serve((_, response) =>
          response.writeHead(200, { "content-encoding": coding }).end(encode(content))
        )
        assert.deepStrictEqual(yield* ask(url), { status: 200, text: content, ended: "end" })
      })
    )

  it.live("that is compressed as it comes is decoded as it comes", () =>
    Effect.gen(function* () {
      const gzip = Zlib.createGzip()
      const url = yield* serve((_, response) => {
        gzip.pipe(response.writeHead(200, { "content-encoding": "gzip" }))
        gzip.write(content)
        gzip.flush()
      })
      const { exchange } = yield* send(url)
      const first = yield* Effect.promise(() => read(exchange))
      assert.strictEqual(Buffer.from(first).toString(), content)
      gzip.end()
      assert.deepStrictEqual(yield* readAll(exchange), { text: "", ended: "end" })
    })
  )

  it.live("whose compression is broken is broken", () =>
    Effect.gen(function* () {
      const url = yield* serve((_, response) =>
        response.writeHead(200, { "content-encoding": "gzip" }).end("no gzip at all")
      )
      assert.strictEqual((yield* ask(url))?.ended, "broken")
    })
  )

  it.live("whose compression is broken is not read any further once it is left", () =>
    Effect.gen(function* () {
      const closed = Promise.withResolvers<void>()
      const url = yield* serve((_, response) => {
        response.once("close", closed.resolve)
        response.writeHead(200, { "content-encoding": "gzip" }).write("no gzip at all")
      })
      assert.strictEqual((yield* ask(url))?.ended, "broken")
      yield* Effect.promise(() => closed.promise)
    })
  )

  it.live("whose coding nobody knows is left as it is", () =>
    Effect.gen(function* () {
      const url = yield* serve((_, response) => response.writeHead(200, { "content-encoding": "rot13" }).end("nuts"))
      assert.deepStrictEqual(yield* ask(url), { status: 200, text: "nuts", ended: "end" })
    })
  )

  for (const coding of ["identity", "gzip"])
    it.live(`that nobody reads waits in the network (${coding})`, () =>
      Effect.gen(function* () {
        let written = 0
        const block = Buffer.alloc(65_536, coding)
        const url = yield* serve((_, response) => {
          const body = coding === "gzip" ? Zlib.createGzip({ level: 0 }) : response
          response.writeHead(200, coding === "gzip" ? { "content-encoding": coding } : {})
          if (body !== response) body.pipe(response)
          const write = (): void => {
            if (written > 512 * block.length) return void body.end()
            body.write(block, write)
            written += block.length
          }
          write()
        })
        const { exchange } = yield* send(url)
        // Written more than the network's own buffers hold, it would have gone on to the end.
        yield* Effect.promise(async () => {
          for (let last = -1; last < written;) {
            last = written
            for (let turn = 0; turn < 200; turn++) await nextTurn()
          }
        })
        assert.isBelow(written, 512 * block.length)
        const { text, ended } = yield* readAll(exchange)
        assert.strictEqual(ended, "end")
        assert.strictEqual(text.length, written)
      })
    )

  it.live("comes in one piece when one packet brought its chunks", () =>
    Effect.gen(function* () {
      const chunks = ["a", "b", "c"].map((chunk) => `1\r\n${chunk}\r\n`).join("")
      const url = yield* serveBytes(`HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n${chunks}0\r\n\r\n`, false)
      const { exchange } = yield* send(url)
      const first = yield* Effect.promise(() => read(exchange))
      assert.strictEqual(Buffer.from(first).toString(), "abc")
      assert.isTrue(exchange.isOver())
      assert.deepStrictEqual(yield* readAll(exchange), { text: "", ended: "end" })
    })
  )

  it.live("may end with its connection", () =>
    Effect.gen(function* () {
      const url = yield* serveBytes("HTTP/1.1 200 OK\r\n\r\nHello", true)
      assert.deepStrictEqual(yield* ask(url), { status: 200, text: "Hello", ended: "end" })
    })
  )

  it.live("comes after the hints that go before it", () =>
    Effect.gen(function* () {
      const hints = "HTTP/1.1 103 Early Hints\r\nlink: </a>\r\n\r\n"
      const url = yield* serveBytes(`${hints}HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nHi`, false)
      assert.deepStrictEqual(yield* ask(url), { status: 200, text: "Hi", ended: "end" })
    })
  )

  const head = "HTTP/1.1 200 OK\r\n"
  const noAnswers: ReadonlyArray<readonly [name: string, bytes: string]> = [
    ["a status line that is none", "HELLO 1\r\n\r\n"],
    ["half a head", `${head}content-ty`],
    ["a head without an end", `${head}x: ${"y".repeat(200_000)}`],
    ["two lengths", `${head}content-length: 1\r\ncontent-length: 2\r\n\r\nab`],
    ["leave to go on, for which nobody asked", "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\n\r\n"],
    ["another protocol", "HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: nonsense\r\n\r\n"],
    ["nothing", ""]
  ]
  for (const [name, bytes] of noAnswers)
    it.live(`is none when it is ${name}`, () =>
      Effect.gen(function* () {
        const url = yield* serveBytes(bytes, true)
        assert.isNull(yield* ask(url))
      })
    )

  for (const [name, bytes] of [
    ["ends early", `${head}content-length: 10\r\n\r\nHello`],
    ["ends between its chunks", `${head}transfer-encoding: chunked\r\n\r\n5\r\nHello\r\n`],
    ["has half an end", `${head}transfer-encoding: chunked\r\n\r\n5\r\nHello\r\n0\r\n`]
  ] as const)
    it.live(`is broken when it ${name}`, () =>
      Effect.gen(function* () {
        const url = yield* serveBytes(bytes, true)
        assert.deepStrictEqual(yield* ask(url), { status: 200, text: "Hello", ended: "broken" })
      })
    )

  it.live("is broken when it has a chunk that is none", () =>
    Effect.gen(function* () {
      const url = yield* serveBytes(`${head}transfer-encoding: chunked\r\n\r\n5\r\nHello\r\nzz\r\n`, false)
      assert.strictEqual((yield* ask(url))?.ended, "broken")
    })
  )

  it.live("ends where its length says, whatever comes behind it", () =>
    Effect.gen(function* () {
      const url = yield* serveBytes(`${head}content-length: 5\r\n\r\nHello, and more`, false)
      assert.deepStrictEqual(yield* ask(url), { status: 200, text: "Hello", ended: "end" })
    })
  )
})

describe("a connection", () => {
  /** A connection is used again from the next turn of the event loop on. */
  const isKept = Effect.promise(() => nextTurn())

  /** Counts connections, and does on each what the function says about its requests, from 0. */
  const counting = (
    listener: (request: Http.IncomingMessage, response: Http.ServerResponse, number: number) => void
  ) => {
    const requests = new Map<Net.Socket, number>()
    return Effect.map(
      serve((request, response) => {
        const number = requests.get(request.socket) ?? 0
        requests.set(request.socket, number + 1)
        listener(request, response, number)
      }),
      (url) => ({ url, counts: () => [...requests.values()] })
    )
  }

  it.live("is used again after an answer that was read, and after one that was left when it was over", () =>
    Effect.gen(function* () {
      const { url, counts } = yield* counting((_, response) => response.end("Hello"))
      yield* ask(url)
      yield* isKept
      yield* Effect.scoped(Effect.flatMap(send(url), ({ exchange }) => Effect.promise(() => read(exchange))))
      yield* isKept
      yield* ask(url)
      assert.deepStrictEqual(counts(), [3])
    })
  )

  it.live("calls back in the context of each request that uses it", () =>
    Effect.gen(function* () {
      const { url, counts } = yield* counting((_, response) => response.end("Hello"))
      const context = new AsyncLocalStorage<string>()
      const seen: Array<string | undefined> = []
      for (const name of ["ada", "bob"]) {
        yield* Effect.promise(() =>
          context.run(
            name,
            () =>
              new Promise<void>((resolve) => {
                const by = sendByNode ?? assert.fail("this is not Node")
                const exchange = by({ url, headers: {}, body: null }, () => {
                  seen.push(context.getStore())
                  exchange.read(() => {
                    seen.push(context.getStore())
                    exchange.release()
                    resolve()
                  })
                })
              })
          )
        )
        yield* isKept
      }
      assert.deepStrictEqual(seen, ["ada", "ada", "bob", "bob"])
      assert.deepStrictEqual(counts(), [2])
    })
  )

  it.live("is closed when an answer is left before its end", () =>
    Effect.gen(function* () {
      const closed = Promise.withResolvers<void>()
      const { url, counts } = yield* counting((_, response, number) => {
        response.once("close", closed.resolve)
        if (number === 0) response.write("Hello")
      })
      yield* Effect.scoped(Effect.flatMap(send(url), ({ exchange }) => Effect.promise(() => read(exchange))))
      yield* Effect.promise(() => closed.promise)
      assert.deepStrictEqual(counts(), [1])
    })
  )

  it.live.each([2, 200_000])("that was kept and is gone is replaced (a body of %s bytes)", (length) =>
    Effect.gen(function* () {
      const waiting: Array<Http.ServerResponse> = []
      const received: Array<number> = []
      const { url, counts } = yield* counting((request, response, number) => {
        if (number > 0) return void request.socket.resetAndDestroy()
        let bytes = 0
        request.on("data", (piece: Buffer) => (bytes += piece.length))
        request.on("end", () => {
          received.push(bytes)
          waiting.push(response)
          if (waiting.length >= 3) for (const each of waiting) each.end("Hello")
        })
      })
      yield* Effect.all([ask(url), ask(url), ask(url)], { concurrency: 3 })
      yield* isKept
      assert.deepStrictEqual(yield* ask(url, { body: "ü".repeat(length / 2) }), {
        status: 200,
        text: "Hello",
        ended: "end"
      })
      assert.deepStrictEqual(
        counts().toSorted((a, b) => a - b),
        [1, 1, 1, 2]
      )
      assert.deepStrictEqual(received, [0, 0, 0, length])
    })
  )

  it.live("is replaced once only, and only when it was kept", () =>
    Effect.gen(function* () {
      let asked = 0
      const { url } = yield* counting((request, response) => {
        if (asked++ === 0) response.end("Hello")
        else request.socket.resetAndDestroy()
      })
      yield* ask(url)
      yield* isKept
      assert.isNull(yield* ask(url))
      assert.strictEqual(asked, 3)
      assert.isNull(yield* ask(url))
      assert.strictEqual(asked, 4)
    })
  )

  it.live("is not replaced when something of the answer came", () =>
    Effect.gen(function* () {
      let asked = 0
      const { url } = yield* counting((request, response) => {
        if (asked++ === 0) response.end("Hello")
        else request.socket.write("HTTP/1.1 200", () => request.socket.destroy())
      })
      yield* ask(url)
      yield* isKept
      assert.isNull(yield* ask(url))
      assert.strictEqual(asked, 2)
    })
  )
})

describe("the process", () => {
  const answer = 'data: {"choices":[{"delta":{"content":"Hello"},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n'
  const reply: Http.RequestListener = (_, response) =>
    response.writeHead(200, { "content-type": "text/event-stream" }).end(answer)

  /** Asks in a process of its own, because its environment is read when it starts. */
  const askApart = (url: string, environment: object, options: ReadonlyArray<string> = []) =>
    Effect.promise(async () => {
      const script = fileURLToPath(new URL("./AskProcess.ts", import.meta.url))
      const { NODE_EXTRA_CA_CERTS: _, NODE_USE_ENV_PROXY: __, ...inherited } = process.env
      const { promise, resolve, reject } = Promise.withResolvers<string>()
      execFile(
        process.execPath,
        ["--conditions=colloquy-source", ...options, script, url],
        { env: { ...inherited, NO_PROXY: "", no_proxy: "", ...environment } },
        (error, out) => (error === null ? resolve(out) : reject(error))
      )
      return JSON.parse(await promise)
    })

  const secure = Effect.gen(function* () {
    const names: Array<string | undefined> = []
    const certificate = localCertificate()
    const server = Https.createServer(certificate, reply)
    server.on("secureConnection", (socket) =>
      names.push("servername" in socket ? String(socket.servername) : undefined)
    )
    const at = yield* listen(server)
    const folder = mkdtempSync(join(tmpdir(), "colloquy-"))
    yield* Effect.addFinalizer(() => Effect.sync(() => rmSync(folder, { recursive: true })))
    const trusted = join(folder, "localhost.pem")
    writeFileSync(trusted, certificate.cert)
    return { url: `https://localhost:${at.split(":")[1]}`, names, trusted }
  })

  it.live("trusts whom it was told to trust, and asks for him by name", () =>
    Effect.gen(function* () {
      const { url, names, trusted } = yield* secure
      const heard = yield* askApart(url, { NODE_EXTRA_CA_CERTS: trusted })
      assert.deepStrictEqual(heard, { text: "Hello", reason: null, fetched: 0 })
      assert.deepStrictEqual(names, ["localhost"])
    })
  )

  it.live("has no answer from a server that nobody vouches for", () =>
    Effect.gen(function* () {
      const { url } = yield* secure
      assert.isNull(yield* ask(url))
    })
  )

  /** A proxy, and the server to which all its tunnels lead; gives the environment for it, and what both are asked. */
  const proxyTo = Effect.fnUntraced(function* (listener: Http.RequestListener) {
    const asked: Array<string | undefined> = []
    const proxying = Http.createServer()
    const behind = Http.createServer((request, response) => {
      asked.push(request.url)
      listener(request, response)
    })
    proxying.on("connect", (request, socket) => {
      asked.push(request.url)
      socket.write("HTTP/1.1 200 Connection established\r\n\r\n")
      behind.emit("connection", socket)
    })
    const proxy = `http://${yield* listen(proxying)}`
    return { environment: { http_proxy: proxy, HTTP_PROXY: proxy, NODE_USE_ENV_PROXY: "1" }, asked }
  })

  it.live("asks through the proxy of its environment when it is told to", () =>
    Effect.gen(function* () {
      const { asked, environment } = yield* proxyTo(reply)
      const heard = yield* askApart("http://models.example", environment)
      assert.deepStrictEqual(heard, { text: "Hello", reason: null, fetched: 0 })
      assert.deepStrictEqual(asked, ["models.example:80", "/v1/chat/completions"])
    })
  )

  it.live("asks twice at most through a proxy whose tunnels break, though each looks like a kept connection", () =>
    Effect.gen(function* () {
      const { asked, environment } = yield* proxyTo(({ socket }) => void socket.destroy())
      const heard = yield* askApart("http://models.example", environment)
      assert.deepStrictEqual(heard, { text: null, reason: "connection", fetched: 0 })
      const each = ["models.example:80", "/v1/chat/completions"]
      assert.deepStrictEqual(asked, [...each, ...each])
    })
  )

  it.live("asks through the dispatcher that the host has set for `fetch`", () =>
    Effect.gen(function* () {
      const url = yield* serve(reply)
      yield* ask(url)
      // The package `undici` sets its dispatchers there.
      const symbol = Symbol.for("undici.globalDispatcher.1")
      const before = Object.getOwnPropertyDescriptor(globalThis, symbol) ?? assert.fail("Node has no dispatcher")
      const asked: Array<string> = []
      const value = {
        dispatch: (options: { readonly path: string }, handler: object) => {
          asked.push(options.path)
          return before.value.dispatch(options, handler)
        }
      }
      Object.defineProperty(globalThis, symbol, { ...before, value })
      yield* Effect.addFinalizer(() => Effect.sync(() => Object.defineProperty(globalThis, symbol, before)))
      assert.strictEqual((yield* ask(`${url}/models`))?.text, answer)
      assert.deepStrictEqual(asked, ["/models"])
    })
  )

  it.live("asks through fetch when it does not say that it is Node", () =>
    Effect.gen(function* () {
      const url = yield* serve(reply)
      const heard = yield* askApart(url, {}, ["--no-experimental-global-navigator"])
      assert.deepStrictEqual(heard, { text: "Hello", reason: null, fetched: 1 })
    })
  )
})
