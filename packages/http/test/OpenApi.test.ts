/** `openapi.json` is what the service says of itself, and it is in order. A wanted change is written down with `-u`. */
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { createConfig, lintFromString } from "@redocly/openapi-core"
import { assert, describe, expect, it } from "@effect/vitest"
import * as OpenApi from "effect/http-api/OpenApi"
import { docsPage } from "../src/docs-page/index.ts"
import { Api } from "../src/index.ts"
import { open } from "./Service.ts"

const file = join(import.meta.dirname, "../openapi.json")

describe("the document", () => {
  it("is the one written down", async () => {
    const document = `${JSON.stringify(OpenApi.fromApi(Api), null, 2)}\n`
    await expect(document).toMatchFileSnapshot(file)
  })

  it("passes the linter at its strictest", async () => {
    const config = await createConfig({ extends: ["recommended-strict"] })
    const problems = await lintFromString({ source: readFileSync(file, "utf8"), config })
    assert.deepStrictEqual(
      problems.map(({ location, message, ruleId }) => `${ruleId}: ${message} ${location[0]?.pointer}`),
      []
    )
  })

  it("tells both encodings of replies, every encoding of messages, every event and every error body", () => {
    const document = JSON.parse(readFileSync(file, "utf8"))
    const message = document.paths["/threads/{thread_id}/messages"].post
    assert.sameMembers(Object.keys(message.responses["200"].content), ["application/json", "text/event-stream"])
    assert.sameMembers(Object.keys(message.requestBody.content), [
      "application/json",
      "multipart/form-data",
      "application/x-www-form-urlencoded"
    ])
    assert.isAtLeast(document.components.schemas.StreamEvent.anyOf.length, 15)
    for (const [path, operations] of Object.entries<
      Record<string, { responses: Record<string, { content?: unknown }> }>
    >(document.paths)) {
      for (const [method, { responses }] of Object.entries(operations)) {
        assert.includeMembers(Object.keys(responses), ["401", "422", "429", "500"], `${method} ${path}`)
        for (const [status, { content }] of Object.entries(responses)) {
          assert.strictEqual(content === undefined, status === "204", `${method} ${path} ${status}`)
        }
      }
    }
  })

  it("is served where the service is mounted, with a page that needs no network", async () => {
    await using service = await open([], { http: { basePath: "ai/", docs: docsPage } })
    const served = await service.call("GET", "/ai/openapi.json", undefined, { key: null })
    const { servers, ...rest } = served.body
    const { servers: _, ...written } = JSON.parse(readFileSync(file, "utf8"))
    assert.deepStrictEqual([servers[0].url, rest], ["/ai", written])
    const page = await service.call("GET", "/ai/docs", undefined, { key: null })
    assert.strictEqual(page.status, 200)
    assert.match(page.headers.get("content-type") ?? "", /^text\/html/)
    assert.notMatch(page.text.slice(0, 5000), /<script src=/)
  })

  it("is not served when the host does not want that", async () => {
    await using service = await open([], { http: { docs: false } })
    for (const path of ["/docs", "/openapi.json"]) assert.strictEqual((await service.call("GET", path)).status, 404)
  })

  it("is served without a page when the host gives none", async () => {
    await using service = await open([])
    const statuses = await Promise.all(
      ["/docs", "/openapi.json"].map(async (path) => (await service.call("GET", path)).status)
    )
    assert.deepStrictEqual(statuses, [404, 200])
  })
})
