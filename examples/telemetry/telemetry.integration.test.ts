/** The service of this folder, a collector that accepts its telemetry, and a reader of `/metrics`. */
import { assert, describe, it } from "@effect/vitest"
import { once } from "node:events"
import { readFile } from "node:fs/promises"
import parsePrometheus from "parse-prometheus-text-format"
import { openCollector } from "../../test/Collector.ts"

const secret = "the parcel of Mrs. Ferguson"

describe("a watched service", () => {
  it("is what the guide shows", async () => {
    const guide = await readFile(new URL("../../docs/operations.md", import.meta.url), "utf8")
    const text = await readFile(new URL("service.ts", import.meta.url), "utf8")
    assert.include(guide, text.slice(text.indexOf("*/\n") + 3).trim())
  })

  it("sends spans and metrics of the GenAI conventions, without a word of what was said, and shows them to Prometheus", async () => {
    const collector = await openCollector()
    process.env["OTEL_EXPORTER_OTLP_ENDPOINT"] = collector.url
    const { ai, server } = await import("./service.ts")
    await once(server.listen(0, "127.0.0.1"), "listening")
    const address = server.address()
    const url = `http://127.0.0.1:${typeof address === "object" ? address?.port : ""}`
    const send = async (body: object) => {
      const headers = { "content-type": "application/json", "x-api-key": "sk-secret-key" }
      const answer = await fetch(`${url}/ai/threads/messages`, { method: "POST", headers, body: JSON.stringify(body) })
      assert.strictEqual(answer.status, 200)
      return JSON.parse(await answer.text())
    }
    const reply = await send({ content: `What time is it? It is about ${secret}.`, system_prompt: secret })
    assert.strictEqual(reply.status, "COMPLETED")

    const scraped = await fetch(`${url}/metrics`)
    const shown = await scraped.text()
    const families = parsePrometheus(shown)
    await ai.dispose()
    server.closeAllConnections()
    server.close()
    await collector.stop()

    assert.deepStrictEqual(collector.refused, [])
    assert.deepStrictEqual([...collector.services], ["support-chat"])

    const spans = collector.spans()
    const chats = spans.filter(({ name }) => name === "chat demo-1")
    assert.lengthOf(chats, 2, "one asks for the tool, one tells what it found")
    for (const { attributes, kind } of chats) {
      assert.strictEqual(kind, 3, "a client's span")
      assert.deepInclude(attributes, {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": "demo",
        "gen_ai.request.model": "demo-1",
        "gen_ai.conversation.id": reply.thread_id
      })
      assert.isAbove(Number(attributes["gen_ai.usage.input_tokens"]), 0)
      assert.isAbove(Number(attributes["gen_ai.usage.output_tokens"]), 0)
    }
    assert.deepStrictEqual(
      chats.map(({ attributes }) => attributes["gen_ai.response.finish_reasons"]),
      [[{ stringValue: "tool_calls" }], [{ stringValue: "stop" }]]
    )
    const [tool] = spans.filter(({ name }) => name.startsWith("execute_tool "))
    assert.deepInclude(tool?.attributes, {
      "gen_ai.operation.name": "execute_tool",
      "gen_ai.tool.name": "server_clock",
      "gen_ai.tool.type": "function"
    })
    const leg = spans.find(({ name }) => name === "invoke_agent")
    for (const span of [...chats, tool]) assert.strictEqual(span?.traceId, leg?.traceId)

    const model = { "gen_ai.operation.name": "chat", "gen_ai.provider.name": "demo", "gen_ai.request.model": "demo-1" }
    const [duration] = collector.metric("gen_ai.client.operation.duration")
    assert.deepInclude(duration, { count: 2, unit: "s" })
    assert.deepInclude(duration?.attributes, model)
    assert.strictEqual(duration?.explicitBounds?.[0], 0.01)
    const tokens = collector.metric("gen_ai.client.token.usage")
    assert.sameMembers(
      tokens.map(({ attributes }) => attributes["gen_ai.token.type"]),
      ["input", "output"]
    )
    for (const { attributes, count, unit } of tokens) {
      assert.deepStrictEqual([count, unit], [2, "{token}"])
      assert.deepInclude(attributes, model)
    }
    const output = tokens.find(({ attributes }) => attributes["gen_ai.token.type"] === "output")
    assert.strictEqual(
      output?.sum,
      chats.reduce((sum, { attributes }) => sum + Number(attributes["gen_ai.usage.output_tokens"]), 0)
    )

    const family = (name: string) => families.find((each) => each.name === name) ?? assert.fail(`There is no ${name}`)
    assert.match(scraped.headers.get("content-type") ?? "", /^text\/plain; version=0\.0\.4/u)
    assert.strictEqual(family("gen_ai_client_operation_duration").type, "HISTOGRAM")
    const [histogram] = family("gen_ai_client_operation_duration").metrics
    assert.deepInclude(histogram?.buckets, { "0.01": "0", "81.92": "2", "+Inf": "2" })
    const labels = 'gen_ai_operation_name="chat",gen_ai_provider_name="demo",gen_ai_request_model="demo-1"'
    assert.include(shown, `\ngen_ai_client_operation_duration_count{${labels}} 2\n`)
    const [turns] = family("colloquy_turns").metrics
    assert.deepInclude(turns, { value: "1" })
    assert.deepInclude(turns?.labels, { status: "COMPLETED" })

    const all = collector.bodies.join("\n")
    for (const word of [secret, "Ferguson", "sk-secret-key", reply.content]) assert.notInclude(all, word)
  })
})
