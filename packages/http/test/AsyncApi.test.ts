/** `asyncapi.json` tells of every stream of the API, is in order, and says of its events what `openapi.json` says. */
import { createConfig, lintFromString } from "@redocly/openapi-core"
import { assert, describe, expect, it } from "@effect/vitest"
import * as OpenApi from "effect/http-api/OpenApi"
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { streamDescription } from "../src/docs-page/StreamDescription.ts"
import { Api } from "../src/index.ts"
import { open } from "./Service.ts"

const file = join(import.meta.dirname, "../asyncapi.json")
const spec = OpenApi.fromApi(Api)

describe("the document of streams", () => {
  it("is the one written down", async () => {
    await expect(`${JSON.stringify(streamDescription(spec), null, 2)}\n`).toMatchFileSnapshot(file)
  })

  it("passes the linter", async () => {
    const config = await createConfig({ extends: ["recommended"], rules: { "info-license-strict": "off" } })
    const problems = await lintFromString({ source: readFileSync(file, "utf8"), absoluteRef: "asyncapi.json", config })
    assert.deepStrictEqual(
      problems.map(({ location, message, ruleId }) => `${ruleId}: ${message} ${location[0]?.pointer}`),
      []
    )
  })

  it("has every request that answers with a stream, with the events of its stream", () => {
    const { channels, components } = streamDescription(spec)
    const answers = JSON.stringify(spec.paths).split('"text/event-stream"').length - 1
    assert.lengthOf(Object.keys(channels), answers)
    assert.deepStrictEqual(channels["inbox_events"]?.messages.event.payload, {
      $ref: "#/components/schemas/RunUpdated"
    })
    assert.deepStrictEqual(components.schemas["StreamEvent"], spec.components.schemas["StreamEvent"])
    assert.isDefined(components.schemas["RunSummary"], "what is named by an event")
    assert.isUndefined(components.schemas["WebhookList"], "what no event names")
  })

  it("is served beside openapi.json, with the path of the host", async () => {
    await using service = await open([], { http: { basePath: "ai/" } })
    const served = await service.call("GET", "/ai/asyncapi.json", undefined, { key: null })
    assert.strictEqual(served.body.channels.messages_send.address, "/ai/threads/{thread_id}/messages")
    await using silent = await open([], { http: { docs: false } })
    assert.strictEqual((await silent.call("GET", "/asyncapi.json")).status, 404)
  })
})
