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

const fieldDefaults = ({ properties }: { readonly properties: Readonly<Record<string, object>> }) =>
  Object.fromEntries(
    Object.entries(properties).flatMap(([name, schema]) => ("default" in schema ? [[name, schema.default]] : []))
  )

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

  it("has no value without a type, a reference or a choice", () => {
    const schemas: Array<readonly [path: string, schema: object]> = []
    const walk = (value: unknown, path: string): void => {
      if (typeof value !== "object" || value === null) return
      const { anyOf, items, properties, schema } = value as Readonly<Record<string, unknown>>
      for (const [name, each] of Object.entries(properties ?? {})) schemas.push([`${path}/${name}`, each])
      for (const [name, each] of Object.entries(Array.isArray(anyOf) ? anyOf : []))
        schemas.push([`${path}/${name}`, each])
      for (const each of [items, schema]) if (typeof each === "object" && each !== null) schemas.push([path, each])
      for (const [name, each] of Object.entries(value)) walk(each, `${path}/${name}`)
    }
    walk(JSON.parse(readFileSync(file, "utf8")), "")
    assert.isAbove(schemas.length, 1000)
    const typed = ["type", "$ref", "enum", "anyOf", "const"]
    const untyped = schemas.filter(([, schema]) => !typed.some((word) => word in schema))
    assert.deepStrictEqual(untyped, [])
  })

  it("types what speaks to one part of a message, and tells the default of every field that has one", () => {
    const { components, paths } = JSON.parse(readFileSync(file, "utf8"))
    const { MessageRequest, StatelessMessageRequest, StatelessMessageForm } = components.schemas
    for (const { properties } of [MessageRequest, StatelessMessageRequest]) {
      for (const [name, record] of [
        ["system_one", "SystemOneRequest"],
        ["voice", "VoiceRequest"],
        ["image_config", "ImageConfig"]
      ] as const) {
        assert.strictEqual(properties[name].anyOf[0].$ref, `#/components/schemas/${record}`)
        assert.isNotEmpty(components.schemas[record].properties)
      }
    }
    const ofMessages = {
      image_generation: "off",
      stream: false,
      memory: "off",
      memory_response_citation: false,
      memory_citation: false,
      memory_pro: "off",
      web_search: "off",
      send_to_llm: "true",
      json_output: false,
      citations: true,
      background: false
    }
    const words = {
      citations: "true",
      memory_response_citation: "false",
      memory_citation: "false",
      stream: "false",
      json_output: "false",
      background: "false"
    }
    assert.deepStrictEqual(fieldDefaults(MessageRequest), ofMessages)
    assert.deepStrictEqual(fieldDefaults(StatelessMessageRequest), { ...ofMessages, video_generation: "off" })
    assert.deepStrictEqual(fieldDefaults(StatelessMessageForm), { ...ofMessages, ...words, video_generation: "off" })
    assert.deepStrictEqual(fieldDefaults(components.schemas.AssistantCreate), { tok_k: 10 })
    assert.deepStrictEqual(fieldDefaults(components.schemas.AssistantUpdate), {})
    assert.deepStrictEqual(fieldDefaults(components.schemas.AssistantCloneRequest), {
      copy_documents: true,
      copy_memories: true
    })
    assert.deepStrictEqual(fieldDefaults(components.schemas.SubmitToolOutputsRequest), { stream: false })
    assert.deepStrictEqual(fieldDefaults(components.schemas.MemorySearchRequest), { limit: 5 })
    assert.deepStrictEqual(fieldDefaults(components.schemas.Thinking), { exclude_reasoning: false })
    const queries: ReadonlyArray<readonly [path: string, defaults: object]> = [
      ["/assistants", { skip: 0, limit: 100 }],
      ["/threads", { skip: 0, limit: 100, include_messages: true }],
      ["/threads/{thread_id}/runs", { limit: 20 }],
      ["/evals/cases", { limit: 20 }],
      ["/models", { skip: 0, limit: 100 }],
      ["/billing/usage/recent", { page: 1, page_size: 25 }]
    ]
    for (const [path, expected] of queries) {
      const found = paths[path].get.parameters.flatMap(({ name, schema }: { name: string; schema: object }) =>
        "default" in schema ? [[name, schema.default]] : []
      )
      assert.deepStrictEqual(Object.fromEntries(found), expected, path)
    }
  })

  it("tells how many records a page of each list may have", async () => {
    const { paths } = JSON.parse(readFileSync(file, "utf8"))
    await using service = await open([])
    const limits = Object.entries<Record<string, { parameters: ReadonlyArray<{ name: string; schema: object }> }>>(
      paths
    ).flatMap(([path, { get }]) =>
      (get?.parameters ?? []).flatMap(({ name, schema }) =>
        name === "limit" && "maximum" in schema ? [[path, Number(schema.maximum)] as const] : []
      )
    )
    assert.isAtLeast(limits.length, 20)
    for (const [path, most] of limits) {
      const list = path.replaceAll(/\{\w+\}/gu, "00000000-0000-0000-0000-000000000000")
      assert.notStrictEqual((await service.call("GET", `${list}?limit=${most}`)).status, 422, path)
      assert.strictEqual((await service.call("GET", `${list}?limit=${most + 1}`)).status, 422, path)
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
