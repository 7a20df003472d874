import { Agent, type Model, run } from "@openai/agents"

const gateway: Model = {
  getResponse: () => Promise.reject(new Error("Only streams")),
  getStreamedResponse: async function* ({ input, signal, systemInstructions }) {
    const response = await fetch(process.env["GATEWAY_URL"] ?? "http://127.0.0.1:8080", {
      method: "POST",
      body: JSON.stringify({ system: systemInstructions, messages: input }),
      signal: signal ?? null
    })
    if (!response.ok || response.body === null) {
      throw Object.assign(new Error("The gateway refused"), { status: response.status })
    }
    yield { type: "response_started" }
    let text = ""
    for await (const delta of response.body.pipeThrough(new TextDecoderStream())) {
      text += delta
      yield { type: "output_text_delta", delta }
    }
    const content = [{ type: "output_text" as const, text }]
    const output = [{ type: "message" as const, role: "assistant" as const, status: "completed" as const, content }]
    const usage = { inputTokens: 0, outputTokens: 0, totalTokens: 0 }
    yield { type: "response_done", response: { id: "1", output, usage } }
  }
}
const agent = new Agent({ name: "House", instructions: "Answer.", model: gateway })
try {
  const stream = await run(agent, "Hello", { stream: true })
  for await (const text of stream.toTextStream()) process.stdout.write(text)
  await stream.completed
} catch (error) {
  process.stdout.write(String(error))
}
