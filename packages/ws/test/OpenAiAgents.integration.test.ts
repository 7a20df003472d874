/** OpenAI's realtime protocol as a front door, driven by the agents SDK of OpenAI: tools, a handoff between two agents, barge-in. */
import { OpenAIRealtimeWebSocket, RealtimeAgent, RealtimeSession, tool } from "@openai/agents-realtime"
import { assert, it } from "@effect/vitest"
import { ScriptedRealtime } from "@colloquy/testing"
import { openAiRealtime } from "../src/openai/index.ts"
import { startService } from "./Service.ts"
import { z } from "zod"

const { callTool, hang, hear, interrupt, read, say } = ScriptedRealtime

const script = [
  read("I want to pay."),
  callTool("transfer_to_Billing", {}),
  say("Billing here."),
  read("My balance?"),
  callTool("balance", { currency: "EUR" }),
  say("It is ten euros and twenty cents in all."),
  hear("Stop."),
  interrupt(0.5),
  say("Yes?"),
  hang
]

it("runs tools, hands over to another agent and is interrupted, in one session of ours", async () => {
  const service = await startService([script], { doors: [openAiRealtime] })
  const balance = tool({
    name: "balance",
    description: "Tells the balance",
    parameters: z.object({ currency: z.string() }),
    execute: async ({ currency }) => `10.20 ${currency}`
  })
  const billing = new RealtimeAgent({ name: "Billing", instructions: "You know all bills.", tools: [balance] })
  const front = new RealtimeAgent({ name: "Front", instructions: "You greet.", handoffs: [billing] })
  const transport = new OpenAIRealtimeWebSocket({ url: service.url.replace("/threads/realtime", "/v1/realtime") })
  const session = new RealtimeSession(front, { transport, model: "scripted-voice" })
  const heard: Array<{ readonly type: string; readonly [field: string]: unknown }> = []
  const looks = new Set<() => void>()
  const failures: Array<unknown> = []
  session.on("error", ({ error }) => failures.push(error))
  session.on("transport_event", (event) => {
    heard.push(event)
    for (const look of looks) look()
  })
  const until = (isThere: () => boolean): Promise<void> =>
    new Promise((resolve) => {
      const look = () => {
        if (!isThere()) return
        looks.delete(look)
        resolve()
      }
      looks.add(look)
      look()
    })
  const count = (type: string) => heard.filter((event) => event.type === type).length
  let audioBytes = 0
  session.on("audio", ({ data }) => {
    audioBytes += data.byteLength
  })
  await session.connect({ apiKey: service.key })
  session.sendMessage("I want to pay.")
  await until(() => count("response.done") === 2)
  assert.strictEqual(session.currentAgent.name, "Billing")
  session.sendMessage("My balance?")
  await until(() => count("response.done") === 4)
  session.sendAudio(new Uint8Array(4800).fill(7).buffer)
  await until(() => count("input_audio_buffer.speech_started") === 1 && count("response.done") === 5)
  await until(() => count("conversation.item.truncated") === 1)
  assert.deepStrictEqual([failures, heard.filter(({ type }) => type === "error")], [[], []])
  const setups = service.voice.commands.flatMap((each) => (each._tag === "Setup" ? [each] : []))
  assert.strictEqual(service.voice.setups[0]?.instructions, "You greet.")
  assert.deepStrictEqual(
    setups.map(({ instructions, tools }) => [instructions, tools.map(({ name }) => name)]),
    [["You know all bills.", ["balance"]]]
  )
  const outputs = service.voice.commands.flatMap((each) => (each._tag === "ToolOutputs" ? each.outputs : []))
  assert.deepStrictEqual(
    outputs.map(({ output }) => output),
    ['{"assistant":"Billing"}', "10.20 EUR"]
  )
  assert.strictEqual(audioBytes, (2 + 9 + 1) * 4800)
  assert.isAbove(session.usage.totalTokens, 0)
  session.close()
  await service.close()
})
