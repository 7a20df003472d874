/** Every answer of the service, written down. A change here is a change for everybody's clients. */
import { assert, describe, expect, it } from "@effect/vitest"
import { callTool, fail, gate, say, think, uses } from "@colloquy/testing"
import { written } from "../../../test/written.ts"
import { allEvents, named, open, type Service, tool } from "./Service.ts"

/** Plays requests and writes down what came, with ids and times as names. */
const recorder = (service: Service) => {
  const lines: Array<string> = []
  const name = named()
  return {
    lines,
    call: async (method: string, path: string, body?: unknown) => {
      const answer = await service.call(method, path, body)
      const shown = answer.body === undefined ? answer.text : written(answer.body)
      lines.push(name(`${method} ${path}\n${answer.status} ${answer.headers.get("content-type")}\n${shown}\n`))
      return answer.body
    }
  }
}

describe("records", () => {
  it("of assistants", async () => {
    await using service = await open([])
    const { call, lines } = recorder(service)
    const full = {
      name: "Guide",
      description: "What it is for",
      system_prompt: "You are a guide.",
      llm_provider: "scripted",
      model_name: "some-model",
      tools: [tool("weather")],
      tok_k: 7,
      embedding_model_name: "small",
      embedding_dims: 256,
      custom_fact_extraction_prompt: "facts",
      custom_update_memory_prompt: "updates",
      metadata: { team: "a" }
    }
    const { assistant_id } = await call("POST", "/assistants", full)
    await call("POST", "/assistants", { name: "Plain" })
    await call("GET", "/assistants?skip=0&limit=2")
    await call("GET", "/assistants?name=Plain")
    await call("GET", `/assistants/${assistant_id}`)
    await call("PUT", `/assistants/${assistant_id}`, { name: "Guide 2", tools: [], system_prompt: "New", tok_k: null })
    await call("PUT", `/assistants/${assistant_id}`, { embedding_dims: 512, embedding_model_name: "small" })
    await call("POST", `/assistants/${assistant_id}/clone`)
    await call("POST", `/assistants/${assistant_id}/clone`, {
      name: "Other",
      system_prompt: "Else",
      copy_memories: false
    })
    await call("POST", `/assistants/${assistant_id}/threads`, { metadata: { from: "test" } })
    await call("GET", `/assistants/${assistant_id}/threads`)
    await call("DELETE", `/assistants/${assistant_id}`)
    await call("GET", `/assistants/${assistant_id}`)
    expect(lines.join("\n")).toMatchSnapshot("assistants")
  })

  it("of threads, messages and runs", async () => {
    const service = await open([
      [think("Hm."), say("Hello, ", "Ada."), uses({ inputTokens: 12, outputTokens: 4, costUsd: 0.25 })],
      [say("Let me look."), callTool("weather", { city: "Paris" })],
      say("It is sunny."),
      [say("Now it"), fail("refused")]
    ])
    await using _ = service
    const { call, lines } = recorder(service)
    const { assistant_id } = await call("POST", "/assistants", { name: "Guide" })
    const { thread_id } = await call("POST", `/assistants/${assistant_id}/threads`)
    await call("POST", `/threads/${thread_id}/messages`, { content: "Hello", metadata: '{"a":1}' })
    const { run_id, tool_calls } = await call("POST", `/threads/${thread_id}/messages`, {
      content: "Weather?",
      tools: [tool("weather")],
      json_output: true
    })
    await call("POST", "/threads/tool-outputs", {
      thread_id,
      tool_outputs: [{ tool_call_id: tool_calls[0].id, output: "sunny" }]
    })
    await call("POST", `/threads/${thread_id}/messages`, {
      content: "And now?",
      custom_timestamp: "2020-01-01T00:00:00Z"
    })
    await call("POST", `/threads/${thread_id}/messages`, { content: "A note", send_to_llm: "false" })
    await call("GET", `/threads/${thread_id}`)
    await call("GET", "/threads?include_messages=false")
    await call("GET", `/threads/${thread_id}/runs/${run_id}`)
    await call("POST", `/threads/${thread_id}/runs/${run_id}/cancel`)
    await call("DELETE", `/threads/${thread_id}`)
    await call("GET", `/threads/${thread_id}`)
    expect(lines.join("\n")).toMatchSnapshot("threads")
  })

  it("of what is refused", async () => {
    await using service = await open([])
    const { call, lines } = recorder(service)
    const nobody = "00000000-0000-0000-0000-000000000000"
    await call("GET", "/nothing/here")
    await call("PATCH", "/assistants")
    await call("GET", "/threads/not-a-uuid")
    await call("GET", `/threads/${nobody}`)
    await call("GET", `/threads/${nobody}/runs/x/events?after=-1`)
    await call("POST", "/assistants")
    await call("POST", "/assistants", "{")
    await call("POST", "/assistants", {
      name: "x".repeat(256),
      tools: [{ type: "function", function: { name: "a b" } }],
      tok_k: 0
    })
    await call("POST", "/threads/messages", {})
    await call("POST", "/threads/messages", { content: "Hi", llm_provider: "nobody" })
    await call("POST", `/threads/${nobody}/messages`, { content: "Hi" })
    await call("POST", "/threads/tool-outputs", { thread_id: nobody, tool_outputs: [] })
    expect(lines.join("\n")).toMatchSnapshot("refusals")
  })
})

describe("transcripts", () => {
  const transcript = async (service: Service, path: string, body: unknown, name = named()) =>
    name(await (await service.fetch("POST", path, body)).text())

  it("of an answer with reasoning", async () => {
    await using service = await open([[think("Well", ", well."), say("Hello,\n", "  Ada. \u2028é")]])
    const response = await service.fetch("POST", "/threads/messages", { content: "Hello", stream: true })
    assert.deepInclude(Object.fromEntries(response.headers), {
      "content-type": "text/event-stream",
      "cache-control": "no-cache, no-transform",
      "x-accel-buffering": "no"
    })
    expect(named()(await response.text())).toMatchSnapshot("reasoning")
  })

  it("without the reasoning that was not wanted", async () => {
    await using service = await open([[think("Secret."), say("Hello.")]])
    const text = await transcript(service, "/threads/messages", {
      content: "Hello",
      stream: true,
      thinking: { exclude_reasoning: true }
    })
    assert.notInclude(text, "reasoning")
    assert.include(text, "run_ended")
  })

  it("of tool calls and their outputs, and of a failure", async () => {
    const calls = [say("Let me look."), callTool("weather", { city: "Paris" }), callTool("time", "")]
    await using service = await open([calls, say("Sunny."), [say("I am "), fail("overloaded")]])
    const name = named()
    const first = await service.fetch("POST", "/threads/messages", {
      content: "?",
      stream: true,
      tools: [tool("weather"), tool("time")]
    })
    const events = await allEvents(first)
    const { run_id, thread_id, tool_calls } = events.at(-1)?.data ?? {}
    expect(name(written(events))).toMatchSnapshot("tool calls")
    const outputs = { tool_outputs: tool_calls.map(({ id }: { id: string }) => ({ tool_call_id: id, output: "42" })) }
    const path = `/threads/${thread_id}/runs/${run_id}/submit-tool-outputs?stream=true`
    expect(await transcript(service, path, outputs, name)).toMatchSnapshot("outputs")
    expect(
      await transcript(service, `/threads/${thread_id}/messages`, { content: "Go on", stream: true }, name)
    ).toMatchSnapshot("failure")
  })

  it("of a cancelled run and of a message that is only saved", async () => {
    await using service = await open([[say("One, "), gate(), say("two")]])
    const name = named()
    const response = await service.fetch("POST", "/threads/messages", { content: "Count", stream: true })
    await service.run(service.model.reached())
    const [thread] = (await service.call("GET", "/threads")).body
    await service.call("POST", `/threads/${thread.thread_id}/runs/${thread.messages[0].run_id}/cancel`)
    expect(name(await response.text())).toMatchSnapshot("cancelled")
    const saved = { content: "A note", stream: true, send_to_llm: false }
    expect(await transcript(service, `/threads/${thread.thread_id}/messages`, saved, name)).toMatchSnapshot("saved")
  })
})
