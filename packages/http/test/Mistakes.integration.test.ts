/** Mistakes of a host that mounts the API: each is answered by a sentence that names the cause and what to do. */
import { assert, describe, it } from "@effect/vitest"
import express, { type RequestHandler } from "express"
import { toNodeHandler } from "../src/node/index.ts"
import { keys, open } from "./Service.ts"
import { listen } from "./Sockets.ts"

const message = (body: string) => ({
  method: "POST",
  headers: { "x-api-key": keys.ada, "content-type": "application/json" },
  body
})

/** Reads a body and keeps nothing of it. */
const eats: RequestHandler = (request, _response, next) => {
  request.resume()
  request.once("end", () => next())
}

describe("a mistake of the host", () => {
  it("a mount without its basePath", async () => {
    await using service = await open([])
    const app = express()
    app.use("/ai", service.node)
    await using server = await listen(app)
    const answer = await fetch(`${server.url}/ai/threads/messages`, message('{"content":"Hi"}'))
    assert.strictEqual(answer.status, 404)
    assert.deepStrictEqual(await answer.json(), {
      detail: 'Not Found. If this API is mounted under "/ai", give its handler `basePath: "/ai"`.'
    })
    const other = await fetch(`${server.url}/ai/nothing`, { headers: { "x-api-key": keys.ada } })
    assert.deepStrictEqual(await other.json(), { detail: "Not Found" })
  })

  it("a body that a parser has taken", async () => {
    await using service = await open([], { http: { basePath: "/ai" } })
    for (const handler of [service.node, toNodeHandler(service.handler)]) {
      const app = express()
      app.use(eats)
      app.use("/ai", handler)
      await using server = await listen(app)
      const answer = await fetch(`${server.url}/ai/threads/messages`, message('{"content":"Hi"}'))
      assert.strictEqual(answer.status, 500)
      assert.include(await answer.text(), "was read before the request came to this API")
    }
    const request = new Request("http://localhost/ai/threads/messages", message('{"content":"Hi"}'))
    await request.text()
    const answer = await service.handler(request)
    assert.strictEqual(answer.status, 500)
    assert.include(await answer.text(), "Mount the API before parsers of bodies")
  })
})
