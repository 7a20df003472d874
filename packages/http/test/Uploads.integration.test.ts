/** Uploads over real connections: hostile and broken forms, clients that go away, hosts with body parsers; nothing of a refused one is kept. */
import { InMemory } from "@colloquy/adapters/in-memory"
import { assert, describe, it } from "@effect/vitest"
import express from "express"
import Fastify from "fastify"
import { createServer } from "node:http"
import { connect } from "node:net"
import { toNodeHandler } from "../src/node/index.ts"
import { type DocumentOptions, fileForm, openWithDocuments } from "./DocumentService.ts"
import { keys, type Service } from "./Service.ts"
import { listen, type Running, serverUrl } from "./Sockets.ts"
import { until } from "../../../test/until.ts"

const openRoom = async (options: DocumentOptions = {}) => {
  const state = InMemory.makeState()
  const service = await openWithDocuments(InMemory.layerFrom(state), options)
  const { assistant_id } = (await service.call("POST", `${options.http?.basePath ?? ""}/assistants`, { name: "A" }))
    .body
  return {
    service,
    path: `/assistants/${assistant_id}/documents`,
    names: () => [...state.documents.values()].map(({ document }) => document.filename),
    kept: () => [state.documents.size, state.blobs.size],
    [Symbol.asyncDispose]: () => service[Symbol.asyncDispose]()
  }
}

const head = (disposition: string, type = "text/plain") =>
  `--b\r\nContent-Disposition: ${disposition}\r\nContent-Type: ${type}\r\n\r\n`
const file = (filename: string, content = "Hello") => `${head(`form-data; name="file"; ${filename}`)}${content}\r\n`
const end = "--b--\r\n"
const form = "multipart/form-data; boundary=b"

const ways: ReadonlyArray<readonly [string, (service: Service) => Parameters<typeof listen>[0]]> = [
  ["straight", (service) => service.node],
  ["through web requests", (service) => toNodeHandler(service.handler)]
]

const post = async (server: Running, path: string, body: string | Uint8Array<ArrayBuffer>, type = form) => {
  const answer = await fetch(`${server.url}${path}`, {
    method: "POST",
    headers: { "x-api-key": keys.ada, "content-type": type },
    body
  })
  return { status: answer.status, text: await answer.text() }
}

describe.each(ways)("an upload %s", (_name, way) => {
  const refused: ReadonlyArray<readonly [string, number, string, string?]> = [
    ["without a boundary", 400, file('filename="a.txt"') + end, "multipart/form-data"],
    ["of another boundary", 400, file('filename="a.txt"') + end, "multipart/form-data; boundary=other"],
    ["that ends in the middle of a file", 400, file('filename="a.txt"')],
    ["that ends in the middle of headers", 400, "--b\r\nContent-Disposition: form-data; na"],
    [
      "with headers that never end",
      400,
      `--b\r\nContent-Disposition: form-data; name="file"; filename="a.txt"\r\nX: ${"x".repeat(20_000)}`
    ],
    ["with ten thousand parts", 413, `${head('form-data; name="x"')}1\r\n`.repeat(10_000) + end],
    ["with more files than the limit", 413, file('filename="a.txt"').repeat(21) + end],
    ["with two files", 422, file('filename="a.txt"').repeat(2) + end],
    ["without a file", 422, `${head('form-data; name="metadata"')}{}\r\n${end}`],
    ["whose file has no filename", 422, `${head('form-data; name="file"')}Hello\r\n${end}`],
    ["whose file has an empty name", 422, file('filename=""') + end],
    ["that was left empty", 422, file('filename=""', "") + end],
    ["of an empty file", 422, file('filename="a.txt"', "") + end],
    ["with a name without end", 422, file(`filename="${"x".repeat(2000)}.txt"`) + end],
    [
      "with metadata that is no object",
      422,
      `${head('form-data; name="metadata"')}[]\r\n${file('filename="a.txt"')}${end}`
    ],
    ["of a type that is not on the list", 415, file('filename="a.exe"') + end],
    ["whose content is not what its name says", 415, file('filename="a.txt"', "\x7fELF\x02\x01\x01") + end],
    ["of sound, which only messages take", 415, file('filename="a.mp3"', "ID3xx") + end],
    ["as JSON", 415, '{"file":"x"}', "application/json"],
    [
      "with a disposition that cannot be read",
      422,
      `${head("form-data; name=\"file\"; filename*=latin'x'%zz")}x\r\n${end}`
    ],
    ["that is larger than the limit", 413, file('filename="a.txt"', "x".repeat(3000)) + end]
  ]
  it.each(refused.map(([what, status, body, type = form]) => [what, status, body, type] as const))(
    "%s is refused with %i and leaves nothing",
    async (_what, status, body, type) => {
      await using room = await openRoom({ http: { limits: { file: 2500 } } })
      await using server = await listen(way(room.service))
      const answer = await post(server, room.path, body, type)
      assert.strictEqual(answer.status, status, answer.text)
      assert.isDefined(JSON.parse(answer.text).detail)
      assert.deepStrictEqual(room.kept(), [0, 0])
    }
  )

  it("keeps names as they are, and takes none of them for a path", async () => {
    await using room = await openRoom()
    await using server = await listen(way(room.service))
    const names: ReadonlyArray<readonly [string, string]> = [
      ['filename="../../etc/passwd.txt"', "../../etc/passwd.txt"],
      ['filename="C:\\\\Users\\\\ada\\\\a.txt"', "C:\\\\Users\\\\ada\\\\a.txt"],
      ['filename="résumé 日本語 🏳️‍🌈.txt"', "résumé 日本語 🏳️‍🌈.txt"],
      ["filename*=UTF-8''na%C3%AFve%22.txt", 'naïve".txt'],
      ['filename="say %22hi%22.txt"', 'say "hi".txt'],
      ['filename="/absolute/a.md"', "/absolute/a.md"]
    ]
    for (const [written, name] of names) {
      const answer = await post(server, room.path, file(written) + end)
      assert.strictEqual(answer.status, 200, answer.text)
      const { document_id, filename } = JSON.parse(answer.text)
      assert.strictEqual(filename, name)
      const content = await fetch(`${server.url}/documents/${document_id}/content`, {
        headers: { "x-api-key": keys.ada }
      })
      assert.strictEqual(await content.text(), "Hello")
      const disposition = content.headers.get("content-disposition") ?? ""
      assert.notMatch(disposition, /[/\\]/u)
      assert.match(disposition, /^inline; filename="[\x20-\x7e]*"; filename\*=UTF-8''[\w.%~!#$&+^`|-]+$/u)
    }
    assert.deepStrictEqual(
      room.names(),
      names.map(([, name]) => name)
    )
  })

  it("may come in pieces of any size, and with a preamble and an epilogue", async () => {
    await using room = await openRoom()
    await using server = await listen(way(room.service))
    const body = `before\r\n${file('filename="a.txt"', "a --b in a line\r\n-b\r\n--a\r")}${end}after`
    for (const size of [1, 2, 7, 64]) {
      const answer = await pieces(server, room.path, body, size)
      assert.match(answer, /^HTTP\/1.1 200/u, answer)
    }
    assert.lengthOf(room.names(), 4)
  })

  it("whose client goes away leaves nothing", async () => {
    await using room = await openRoom()
    await using server = await listen(way(room.service))
    const [, port] = server.url.match(/:(\d+)$/u) ?? []
    const start = `POST ${room.path} HTTP/1.1\r\nhost: x\r\nx-api-key: ${keys.ada}\r\ncontent-type: multipart/form-data; boundary=b\r\ncontent-length: 1000000\r\n\r\n`
    const socket = connect(Number(port), "127.0.0.1")
    socket.on("error", () => {})
    const sent = new Promise((resolve) => socket.write(start + file('filename="a.txt"', "x".repeat(200_000)), resolve))
    await sent
    const closed = new Promise((resolve) => socket.once("close", resolve))
    socket.destroy()
    await closed
    // The next request on the same process is answered behind the end of the first.
    assert.strictEqual((await post(server, room.path, file('filename="b.txt"') + end)).status, 200)
    assert.deepStrictEqual(room.names(), ["b.txt"])
    await until(() => room.kept()[1] === 1)
  })
})

/** Sends a body in pieces of so many bytes, each in a packet of its own. */
const pieces = (server: Running, path: string, body: string, size: number): Promise<string> =>
  new Promise((resolve, reject) => {
    const [, port] = server.url.match(/:(\d+)$/u) ?? []
    const bytes = Buffer.from(body)
    let answer = ""
    const socket = connect({ port: Number(port), host: "127.0.0.1", noDelay: true }, () => {
      socket.write(
        `POST ${path} HTTP/1.1\r\nhost: x\r\nconnection: close\r\nx-api-key: ${keys.ada}\r\ncontent-type: multipart/form-data; boundary=b\r\ncontent-length: ${bytes.length}\r\n\r\n`
      )
      for (let at = 0; at < bytes.length; at += size) socket.write(bytes.subarray(at, at + size))
    })
    socket.on("data", (data: Buffer) => (answer += data.toString()))
    socket.on("error", reject)
    socket.on("close", () => resolve(answer))
  })

describe("a host's body parser does not eat an upload", () => {
  it("in Express", async () => {
    await using room = await openRoom({ http: { basePath: "/ai" } })
    const app = express()
    app.use(express.json(), express.urlencoded({ extended: true }), express.text())
    app.use("/ai", room.service.node)
    await using server = await listen(createServer(app))
    await uploads(server, room)
  })

  it("in Express, which hands over what its parser has read as bytes", async () => {
    await using room = await openRoom({ http: { basePath: "/ai" } })
    const app = express()
    app.use(express.raw({ type: "*/*", limit: "1mb" }))
    app.use("/ai", room.service.node)
    await using server = await listen(createServer(app))
    await uploads(server, room)
  })

  it("in Fastify", async () => {
    await using room = await openRoom({ http: { basePath: "/ai" } })
    const app = Fastify()
    await app.register(async (scope) => {
      scope.removeAllContentTypeParsers()
      scope.addContentTypeParser("*", (_request, _body, done) => done(null))
      scope.all("/ai/*", (request, reply) => room.service.node(request.raw, reply.hijack().raw))
    })
    await app.listen({ host: "127.0.0.1", port: 0 })
    try {
      await uploads({ url: serverUrl(app.server), [Symbol.asyncDispose]: async () => {} }, room)
    } finally {
      app.server.closeAllConnections()
      await app.close()
    }
  })

  const uploads = async (server: Running, { names, path }: Awaited<ReturnType<typeof openRoom>>) => {
    const large = "x".repeat(300_000)
    const answer = await fetch(`${server.url}/ai${path}`, {
      method: "POST",
      headers: { "x-api-key": keys.ada },
      body: fileForm({ file: new File([large], "large.txt") })
    })
    assert.strictEqual(answer.status, 200, await answer.clone().text())
    const { document_id } = (await answer.json()) as { readonly document_id: string }
    const content = await fetch(`${server.url}/ai/documents/${document_id}/content`, {
      headers: { "x-api-key": keys.ada }
    })
    assert.strictEqual(await content.text(), large)
    assert.deepStrictEqual(names(), ["large.txt"])
  }
})
