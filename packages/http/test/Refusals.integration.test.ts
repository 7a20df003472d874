/**
 * What is refused before a handler sees it, and what never comes to its end: answered in JSON, and the connection given back. Also what every
 * answer says to browsers.
 */
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as HttpApiBuilder from "effect/http-api/HttpApiBuilder"
import * as HttpApiEndpoint from "effect/http-api/HttpApiEndpoint"
import * as HttpApiGroup from "effect/http-api/HttpApiGroup"
import * as Schema from "effect/Schema"
import { createServer } from "node:http"
import { connect } from "node:net"
import { inChromium } from "../../../test/browser.ts"
import { docsPage } from "../src/docs-page/index.ts"
import { refuseInJson } from "../src/node/index.ts"
import { served, wingApi } from "../src/wings/WingEndpoints.ts"
import { keys, open, type Service } from "./Service.ts"
import { straight, throughWeb } from "./BothWays.ts"
import { listen, portIn, talk } from "./Sockets.ts"

const serve = (service: Service) => listen(refuseInJson(createServer(service.node)))

/** Status, content type and body of an answer as it came over the wire. */
const read = (answer: string) => {
  const [head = "", body = ""] = answer.split("\r\n\r\n")
  const field = (name: string) => new RegExp(`^${name}: (.*)$`, "imu").exec(head)?.[1]
  return {
    status: Number(/^HTTP\/1\.1 (\d+)/u.exec(head)?.[1]),
    type: field("content-type"),
    sniffing: field("x-content-type-options"),
    length: Number(field("content-length")) - Buffer.byteLength(body),
    detail: typeof JSON.parse(body || "{}").detail
  }
}

const inJson = (status: number): ReturnType<typeof read> => ({
  status,
  type: "application/json",
  sniffing: "nosniff",
  length: 0,
  detail: "string"
})

const long = "x".repeat(40_000)

describe("Node's own refusals", () => {
  it.each([
    [400, "nonsense\r\n\r\n"],
    [400, "GET / HTTP/1.1\r\nhost: x\r\ncontent-length: x\r\n\r\n"],
    [400, "GET /threads HTTP/1.1\r\n\r\n"],
    [400, "GET / HTTP/1.1\r\nhost: x\r\nbad header: \x00\r\n\r\n"],
    [431, `GET /threads HTTP/1.1\r\nhost: x\r\nx-long: ${long}\r\n\r\n`],
    [
      413,
      `POST /threads/messages HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\n1;${long}\r\nx\r\n0\r\n\r\n`
    ],
    [417, "GET /threads HTTP/1.1\r\nhost: x\r\nexpect: miracles\r\n\r\n"]
  ])("%i is JSON", async (status, request) => {
    await using service = await open([])
    await using server = await serve(service)
    assert.deepStrictEqual(read(await talk(portIn(server), request, false)), inJson(status))
  })

  it("leave HTTP/1.0 alone, which has no such header, and a server that does not ask for it", async () => {
    await using service = await open([])
    const lenient = refuseInJson(createServer({ requireHostHeader: false }, service.node))
    await using server = await serve(service)
    await using other = await listen(lenient)
    const get = (version: string) =>
      `GET /threads HTTP/${version}\r\nx-api-key: ${keys.ada}\r\nconnection: close\r\n\r\n`
    assert.strictEqual(read(await talk(portIn(server), get("1.0"), false)).status, 200)
    assert.strictEqual(read(await talk(portIn(other), get("1.1"), false)).status, 200)
  })

  it("do not break into an answer that has begun", async () => {
    const begun = Promise.withResolvers<void>()
    await using server = await listen(
      refuseInJson(
        createServer((_message, response) => {
          response.write("begun")
          begun.resolve()
        })
      )
    )
    const socket = connect(portIn(server), "127.0.0.1", () => socket.write("GET / HTTP/1.1\r\nhost: x\r\n\r\n"))
    let text = ""
    socket.on("data", (bytes) => (text += String(bytes)))
    const closed = new Promise((resolve) => socket.once("close", resolve))
    await begun.promise
    socket.write("nonsense\r\n\r\n")
    await closed
    assert.notInclude(text, "400")
  })
})

describe("a body that is sent by half", () => {
  const start = (type: string, half: string) =>
    `POST /threads/messages HTTP/1.1\r\nhost: x\r\nx-api-key: ${keys.ada}\r\ncontent-type: ${type}\r\ncontent-length: 1000\r\n\r\n${half}`

  it.each([
    ["application/json", '{"content"'],
    ["text/plain", "x"],
    ["application/x-www-form-urlencoded", "content=a"],
    ["multipart/form-data; boundary=b", '--b\r\nContent-Disposition: form-data; name="content"\r\n\r\nHel']
  ])("of %s is 408 after a while, and the connection is given back", async (type, half) => {
    for (const way of [straight, throughWeb]) {
      await using service = await open([], { http: { bodyTimeout: "200 millis" } })
      await using server = await listen(way(service))
      assert.deepStrictEqual(read(await talk(portIn(server), start(type, half), false)), inJson(408))
    }
  })

  it("is 408 at an endpoint of a host's wing, too", async () => {
    const set = HttpApiEndpoint.post("set", "/moods", { payload: Schema.Struct({ mood: Schema.String }) })
    const api = wingApi(HttpApiGroup.make("moods").add(set))
    const handlers = HttpApiBuilder.group(api, "moods", (group) => group.handle("set", () => Effect.void))
    const wings = [{ part: "mood", endpoints: served(api, handlers) }]
    await using service = await open([], { http: { bodyTimeout: "200 millis", wings } })
    await using server = await listen(service.node)
    const half = start("application/json", '{"mood"').replace("/threads/messages", "/moods")
    assert.deepStrictEqual(read(await talk(portIn(server), half, false)), inJson(408))
  })

  it("by a caller who was answered already loses its connection", async () => {
    await using service = await open([], { http: { bodyTimeout: "200 millis" } })
    await using server = await listen(service.node)
    const half = "POST /threads/messages HTTP/1.1\r\nhost: x\r\ncontent-length: 1000\r\n\r\nhalf"
    assert.deepStrictEqual(read(await talk(portIn(server), half, false)), inJson(401))
  })
})

describe("browsers", () => {
  it("are told by every answer to take it for what it says it is", async () => {
    await using service = await open([], { http: { docs: docsPage } })
    for (const path of ["/threads", "/nothing", "/openapi.json", "/docs", "/threads/x"]) {
      const answer = await service.call("GET", path)
      assert.isBelow(answer.status, 500, path)
      assert.strictEqual(answer.headers.get("x-content-type-options"), "nosniff", path)
    }
    for (const method of ["PATCH", "OPTIONS", "POST"])
      assert.strictEqual((await service.call(method, "/threads")).headers.get("x-content-type-options"), "nosniff")
  })

  it("may put the documents in no frame, and run no script but theirs", async () => {
    await using service = await open([], { http: { docs: docsPage } })
    const { headers, text } = await service.call("GET", "/docs", undefined, { key: null })
    const policy = headers.get("content-security-policy") ?? ""
    assert.include(policy, "frame-ancestors 'none'")
    assert.include(policy, "default-src 'none'")
    assert.notMatch(policy, /script-src[^;]*unsafe/u)
    assert.strictEqual(policy.match(/'sha256-/gu)?.length, text.match(/<script>/gu)?.length)
    assert.strictEqual(headers.get("x-frame-options"), "DENY")
  })

  inChromium((launch) => {
    it("show the documents under that policy, and stay in the frame of nobody", async () => {
      await using service = await open([], { http: { basePath: "/ai", docs: docsPage } })
      const serveDocs = service.node
      await using server = await listen((message, response) => {
        if (message.url?.startsWith("/ai")) serveDocs(message, response)
        else response.setHeader("content-type", "text/html").end('<iframe src="/ai/docs"></iframe>')
      })
      const browser = await launch()
      try {
        const page = await browser.newPage()
        const complaints: Array<string> = []
        page.on("console", (message) => void complaints.push(message.text()))
        page.on("pageerror", (error) => void complaints.push(error.message))
        await page.goto(`${server.url}/ai/docs`)
        await page.getByText("Create an assistant").first().waitFor({ timeout: 30_000 })
        assert.deepStrictEqual(
          complaints.filter((each) => /content security policy/iu.test(each) && /script-src/u.test(each)),
          []
        )
        await page.goto(server.url)
        assert.notInclude(await page.frames()[1]?.content(), "Create an assistant")
      } finally {
        await browser.close()
      }
    })
  })
})
