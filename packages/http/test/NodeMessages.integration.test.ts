/** Requests and answers straight over Node's messages: every kind of body, whoever reads it and however it ends. */
import { assert, describe, it } from "@effect/vitest"
import * as ByteSize from "effect/ByteSize"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as HttpBody from "effect/http/HttpBody"
import { HttpServerRequest, MaxBodySize } from "effect/http/HttpServerRequest"
import * as HttpServerResponse from "effect/http/HttpServerResponse"
import * as Option from "effect/Option"
import type * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import { type IncomingMessage, request as send, type ServerResponse } from "node:http"
import { respondWithTexts, textPiece } from "../src/encoding/TextPieces.ts"
import { nodeHandler } from "../src/node/NodeHandler.ts"
import { listen, portIn, type Running, talk } from "./Sockets.ts"

type Answer = Effect.Effect<HttpServerResponse.HttpServerResponse, unknown, HttpServerRequest | Scope.Scope>

const serve = (answer: Answer): Promise<Running> => {
  const app = { response: answer, services: Context.empty() }
  return listen(nodeHandler({ whenNeeded: async () => app, secondsToRetry: () => 1, bodyTimeout: 30_000 }))
}

const bytes = (text: string) => new TextEncoder().encode(text)

const byText = (a = "", b = "") => (a < b ? -1 : 1)

/** What goes over the wire, without what Node adds. */
const raw = async (answer: Answer, method = "GET") => {
  await using server = await serve(answer)
  const text = await talk(portIn(server), `${method} / HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n`, false)
  const [head = "", body] = text.split("\r\n\r\n")
  return [...head.split("\r\n").filter((line) => !/^(?:date|connection):/iu.test(line)), body]
}

describe("an answer", () => {
  it.each([
    ["nothing", HttpServerResponse.empty({ status: 200 }), ["HTTP/1.1 200 OK", "content-length: 0", ""]],
    ["204", HttpServerResponse.empty(), ["HTTP/1.1 204 No Content", ""]],
    ["205", HttpServerResponse.empty({ status: 205 }), ["HTTP/1.1 205 Reset Content", "content-length: 0", ""]],
    [
      "304",
      HttpServerResponse.text("x", { status: 304 }),
      ["HTTP/1.1 304 Not Modified", "content-type: text/plain", "content-length: 1", ""]
    ],
    [
      "text",
      HttpServerResponse.text("Grüße".slice(0, 2)),
      ["HTTP/1.1 200 OK", "content-type: text/plain", "content-length: 2", "Gr"]
    ],
    [
      "bytes",
      HttpServerResponse.uint8Array(bytes("abc")),
      ["HTTP/1.1 200 OK", "content-type: application/octet-stream", "content-length: 3", "abc"]
    ],
    [
      "a reason",
      HttpServerResponse.empty({ status: 404, statusText: "Not Here" }),
      ["HTTP/1.1 404 Not Here", "content-length: 0", ""]
    ],
    [
      "a stream",
      HttpServerResponse.stream(Stream.make(bytes("a"), bytes("bc"))),
      [
        "HTTP/1.1 200 OK",
        "content-type: application/octet-stream",
        "Transfer-Encoding: chunked",
        "1\r\na\r\n2\r\nbc\r\n0"
      ]
    ],
    [
      "an empty stream",
      HttpServerResponse.stream(Stream.empty),
      ["HTTP/1.1 200 OK", "content-type: application/octet-stream", "Transfer-Encoding: chunked", "0"]
    ]
  ] as const)("of %s", async (_name, response, expected) => {
    const [status, ...rest] = await raw(Effect.succeed(response))
    const lines = rest.map((line) => line?.replace(/\r\n$/u, ""))
    assert.deepStrictEqual([status, ...lines.sort(byText)], [expected[0], ...expected.slice(1).sort(byText)])
  })

  it("to HEAD has the head and no body, and does not run a stream", async () => {
    const text = Effect.succeed(HttpServerResponse.text("abc"))
    assert.deepStrictEqual((await raw(text, "HEAD")).sort(byText), [
      "",
      "HTTP/1.1 200 OK",
      "content-length: 3",
      "content-type: text/plain"
    ])
    const never = Effect.succeed(HttpServerResponse.stream(Stream.die("was run")))
    assert.strictEqual((await raw(never, "HEAD"))[0], "HTTP/1.1 200 OK")
  })

  it("may set cookies, be a form, or be what the platform reads", async () => {
    const cookies = HttpServerResponse.empty().pipe(
      HttpServerResponse.setCookieUnsafe("a", "1"),
      HttpServerResponse.setCookieUnsafe("b", "2")
    )
    await using first = await serve(Effect.succeed(cookies))
    assert.deepStrictEqual((await fetch(first.url)).headers.getSetCookie(), ["a=1", "b=2"])
    const fields = new FormData()
    fields.append("name", "Ada")
    await using second = await serve(Effect.succeed(HttpServerResponse.formData(fields)))
    assert.strictEqual((await (await fetch(second.url)).formData()).get("name"), "Ada")
    const readable = new Response("from afar").body
    await using third = await serve(
      Effect.succeed(HttpServerResponse.setBody(HttpServerResponse.empty({ status: 200 }), HttpBody.raw(readable)))
    )
    assert.strictEqual(await (await fetch(third.url)).text(), "from afar")
  })

  it("with a head that cannot be sent is a fault", async () => {
    const bad = (status: number) => Effect.succeed(HttpServerResponse.empty({ status, headers: { "x-bad": "a\nb" } }))
    await using server = await serve(bad(200))
    const answer = await fetch(server.url)
    assert.deepStrictEqual([answer.status, await answer.json()], [500, { detail: "Internal Server Error" }])
    await using bodiless = await serve(bad(204))
    assert.strictEqual(await fetch(bodiless.url).catch(() => "cut off"), "cut off")
  })

  it("that is a stream begins before its first piece, and ends with its client and the scope of the request", async () => {
    const left = Promise.withResolvers<void>()
    const closed = Promise.withResolvers<void>()
    const silent = Stream.never.pipe(Stream.onExit((exit) => Effect.sync(() => Exit.isFailure(exit) && left.resolve())))
    await using server = await serve(
      Effect.as(
        Effect.addFinalizer(() => Effect.sync(closed.resolve)),
        HttpServerResponse.stream(silent)
      )
    )
    const leave = new AbortController()
    assert.strictEqual((await fetch(server.url, { signal: leave.signal })).status, 200)
    leave.abort()
    await left.promise
    await closed.promise
  })

  it("that is a stream is asked for no more than the client takes", async () => {
    const piece = new Uint8Array(64 * 1024)
    const ended = Promise.withResolvers<void>()
    let asked = 0
    const endless = Stream.fromEffectRepeat(Effect.sync(() => (asked++, piece))).pipe(
      Stream.onExit(() => Effect.sync(ended.resolve))
    )
    await using server = await serve(Effect.succeed(HttpServerResponse.stream(endless)))
    const first = Promise.withResolvers<void>()
    const stalled = send(server.url, (answer) => answer.once("data", () => (answer.pause(), first.resolve())))
    stalled.on("error", () => {}).end()
    await first.promise
    await fetch(`${server.url}/`, { method: "HEAD" })
    assert.isBelow(asked, 2000)
    stalled.destroy()
    await ended.promise
  })

  it("that is a long text reaches a client that reads late as it is, and waits for the client", async () => {
    const pieces = Array.from({ length: 500 }, (_, index) => `${index} häß 👩‍👩‍👧, `.repeat(4000))
    const groups = pieces.map((piece) => [textPiece(piece), textPiece("\n")])
    const whole = pieces.map((piece) => `${piece}\n`).join("")
    const app = {
      response: Effect.sync(() => respondWithTexts(groups, { contentType: "text/plain" })),
      services: Context.empty()
    }
    const handle = nodeHandler({ whenNeeded: async () => app, secondsToRetry: () => 1, bodyTimeout: 30_000 })
    const handled: Array<ServerResponse> = []
    await using server = await listen((request, response) => (handled.push(response), handle(request, response)))
    const [head, begun] = [Promise.withResolvers<IncomingMessage>(), Promise.withResolvers<void>()]
    send(server.url, (answer) => {
      head.resolve(answer)
      answer.once("readable", begun.resolve)
    }).end()
    const answer = await head.promise
    await begun.promise
    await fetch(server.url, { method: "HEAD" })
    assert.strictEqual(answer.headers["content-length"], String(Buffer.byteLength(whole)))
    assert.isAbove(Buffer.byteLength(whole), 50_000_000)
    assert.isBelow(handled[0]?.writableLength ?? Infinity, 2_000_000)
    const read: Array<Buffer> = []
    for await (const piece of answer) read.push(piece)
    assert.isTrue(Buffer.concat(read).equals(Buffer.from(whole)))
  })

  it("that is a stream and breaks off is not taken for whole", async () => {
    const broken = Stream.concat(Stream.succeed(bytes("half")), Stream.die("fault"))
    await using server = await serve(Effect.succeed(HttpServerResponse.stream(broken)))
    const answer = await fetch(server.url).catch(() => null)
    assert.strictEqual(answer === null ? "cut off" : await answer.text().catch(() => "cut off"), "cut off")
  })
})

/** Answers with what `read` makes of the request. */
const told = (read: (request: HttpServerRequest) => Effect.Effect<unknown, unknown>): Answer =>
  Effect.flatMap(HttpServerRequest, (request) =>
    Effect.map(Effect.result(read(request)), (result) => HttpServerResponse.jsonUnsafe(result))
  )

const post = async (server: Running, body: string, path = "/") =>
  (await (await fetch(server.url + path, { method: "POST", body })).json()) as {
    readonly _tag: string
    readonly value?: unknown
  }

describe("a request", () => {
  it("is read as text, JSON, form and pieces", async () => {
    await using server = await serve(
      told((request) => {
        switch (request.url) {
          case "/text":
            return request.text
          case "/json":
            return request.json
          case "/form":
            return Effect.map(request.urlParamsBody, String)
          default:
            return Stream.mkString(Stream.decodeText(request.stream))
        }
      })
    )
    assert.strictEqual((await post(server, "Grüße", "/text")).value, "Grüße")
    assert.deepStrictEqual((await post(server, '{"a":1}', "/json")).value, { a: 1 })
    assert.strictEqual((await post(server, "{", "/json"))._tag, "Failure")
    assert.isDefined((await post(server, "a=1&b=2", "/form")).value)
    assert.strictEqual((await post(server, "x".repeat(300_000), "/stream")).value, "x".repeat(300_000))
    assert.deepStrictEqual(await (await fetch(server.url)).json(), { _id: "Result", _tag: "Success", value: "" })
  })

  it("is read once, whoever asks again, and in a changed copy too", async () => {
    await using server = await serve(
      told((request) => {
        const copy = request.modify({ url: "/other", remoteAddress: Option.some("1.2.3.4") })
        const both = Effect.all([request.text, copy.text], { concurrency: "unbounded" })
        return Effect.map(Effect.all([both, copy.text]), ([two, again]) => [
          ...two,
          again,
          copy.url,
          request.url,
          Option.getOrNull(copy.remoteAddress),
          Option.getOrNull(request.remoteAddress)
        ])
      })
    )
    const expected = ["abc", "abc", "abc", "/other", "/", "1.2.3.4", "127.0.0.1"]
    assert.deepStrictEqual((await post(server, "abc")).value, expected)
  })

  it("over the limit is refused, said before or found out, and the connection goes on", async () => {
    await using server = await serve(
      Effect.flatMap(HttpServerRequest, ({ arrayBuffer }) =>
        arrayBuffer.pipe(
          Effect.map(({ byteLength }) => HttpServerResponse.text(String(byteLength))),
          Effect.provideService(MaxBodySize, ByteSize.bytes(1000))
        )
      )
    )
    const big = "x".repeat(100_000)
    const chunk = `${big.length.toString(16)}\r\n${big}\r\n0\r\n\r\n`
    const wire = [
      `POST / HTTP/1.1\r\nhost: x\r\ncontent-length: ${big.length}\r\n\r\n${big}`,
      `POST / HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\n${chunk}`,
      `POST / HTTP/1.1\r\nhost: x\r\nconnection: close\r\ncontent-length: 3\r\n\r\nabc`
    ]
    const answers = await talk(portIn(server), wire.join(""), false)
    assert.deepStrictEqual(
      [...answers.matchAll(/HTTP\/1\.1 (\d+)/gu)].map(([, status]) => status),
      ["413", "413", "200"]
    )
  })

  it("whose client hangs up in the body ends what reads it", async () => {
    const reading = Promise.withResolvers<void>()
    const ended = Promise.withResolvers<Exit.Exit<unknown, unknown>>()
    await using server = await serve(
      Effect.flatMap(HttpServerRequest, ({ arrayBuffer }) => {
        reading.resolve()
        return Effect.as(
          Effect.onExit(arrayBuffer, (exit) => Effect.sync(() => ended.resolve(exit))),
          HttpServerResponse.empty()
        )
      })
    )
    const client = send(server.url, { method: "POST", headers: { "content-length": "100" } })
    client.on("error", () => {}).write("half")
    await reading.promise
    client.destroy()
    assert.isTrue(Exit.isFailure(await ended.promise))
  })
})
