import { openai } from "@ai-sdk/openai"
import { type ModelMessage, streamText } from "ai"
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs"
import { createInterface } from "node:readline/promises"

const { DATA_DIR: folder = "data" } = process.env
mkdirSync(folder, { recursive: true })
const file = `${folder}/messages.json`
const messages: Array<ModelMessage> = existsSync(file) ? JSON.parse(readFileSync(file, "utf8")) : []
const save = () => writeFileSync(file, JSON.stringify(messages))

for await (const content of createInterface({ input: process.stdin })) {
  messages.push({ role: "user", content })
  save()
  const result = streamText({ model: openai("gpt-5"), messages })
  for await (const text of result.textStream) process.stdout.write(text)
  process.stdout.write("\n")
  messages.push(...(await result.responseMessages))
  save()
}
