import { callTool, say, TestKernel } from "colloquy/testing"
import assert from "node:assert"

const weather = { name: "weather", description: "The weather of a city.", parameters: null }
const kernel = await TestKernel.open([callTool("weather", { city: "Oslo" }), say("Take an umbrella.")])

const asked = await kernel.send({ content: "Do I need an umbrella?", tools: [weather] })
assert.strictEqual(asked.status, "REQUIRES_ACTION")
const outputs = asked.toolCalls.map(({ id }) => ({ toolCallId: id, output: "rain" }))
const turn = await kernel.submitToolOutputs({ threadId: asked.threadId, outputs })
assert.strictEqual((await turn.reply()).content, "Take an umbrella.")

await kernel.close()
