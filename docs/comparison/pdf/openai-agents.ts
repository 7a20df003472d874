import { Agent, run } from "@openai/agents"
import { readFileSync } from "node:fs"
import { basename } from "node:path"
import OpenAI from "openai"
import { extractText } from "unpdf"

const question = "How many days of holiday do employees have?"
const pages = await Promise.all(
  process.argv.slice(2).map(async (file) => {
    const { text } = await extractText(new Uint8Array(readFileSync(file)))
    return text.map((words, index) => ({ file: basename(file), page: index + 1, words }))
  })
)
const excerpts = pages.flat()
const { data } = await new OpenAI().embeddings.create({
  model: "text-embedding-3-small",
  input: [question, ...excerpts.map(({ words }) => words)]
})
const [embedding = [], ...embeddings] = data.map((each) => each.embedding)
const similarity = (other: Array<number> = []) =>
  other.reduce((sum, value, at) => sum + value * (embedding[at] ?? 0), 0)
const best = excerpts
  .map((excerpt, index) => ({ ...excerpt, score: similarity(embeddings[index]) }))
  .sort((a, b) => b.score - a.score)
  .slice(0, 3)

const prompt = [...best.map(({ words }, index) => `[d${index + 1}] ${words}`), question].join("\n\n")
const agent = new Agent({
  name: "Reader",
  instructions: "Answer from the excerpts, and write the marker of each that you use.",
  model: "gpt-5"
})
const { finalOutput: text = "" } = await run(agent, prompt)
console.log(text)
for (const [, number] of text.matchAll(/\[d(\d+)\]/gu)) {
  const cited = best[Number(number) - 1]
  if (cited !== undefined) console.log(`${cited.file}, page ${cited.page}`)
}
