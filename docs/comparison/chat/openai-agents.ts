import { Agent, type AgentInputItem, run, type Session } from "@openai/agents"
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs"
import { createInterface } from "node:readline/promises"

const { DATA_DIR: folder = "data" } = process.env
mkdirSync(folder, { recursive: true })
const file = `${folder}/items.json`
const items: Array<AgentInputItem> = existsSync(file) ? JSON.parse(readFileSync(file, "utf8")) : []
const save = () => writeFileSync(file, JSON.stringify(items))

const session: Session = {
  getSessionId: async () => "ada",
  getItems: async (limit) => (limit === undefined ? [...items] : items.slice(-limit)),
  addItems: async (added) => {
    items.push(...added)
    save()
  },
  popItem: async () => {
    const last = items.pop()
    save()
    return last
  },
  clearSession: async () => {
    items.length = 0
    save()
  }
}
const agent = new Agent({ name: "Chat", instructions: "Answer.", model: "gpt-5" })

for await (const content of createInterface({ input: process.stdin })) {
  const stream = await run(agent, content, { session, stream: true })
  for await (const text of stream.toTextStream()) process.stdout.write(text)
  await stream.completed
  process.stdout.write("\n")
}
