import { openai } from "@ai-sdk/openai"
import { Agent } from "@voltagent/core"
import { cosineSimilarity, embed, embedMany } from "ai"
import { readFileSync } from "node:fs"
import { basename } from "node:path"
import { extractText } from "unpdf"

const question = "How many days of holiday do employees have?"
const model = openai.embeddingModel("text-embedding-3-small")
const pages = await Promise.all(
  process.argv.slice(2).map(async (file) => {
    const { text } = await extractText(new Uint8Array(readFileSync(file)))
    return text.map((words, index) => ({ file: basename(file), page: index + 1, words }))
  })
)
const excerpts = pages.flat()
const { embeddings } = await embedMany({ model, values: excerpts.map(({ words }) => words) })
const { embedding } = await embed({ model, value: question })
const best = excerpts
  .map((excerpt, index) => ({ ...excerpt, score: cosineSimilarity(embedding, embeddings[index] ?? []) }))
  .sort((a, b) => b.score - a.score)
  .slice(0, 3)

const prompt = [...best.map(({ words }, index) => `[d${index + 1}] ${words}`), question].join("\n\n")
const agent = new Agent({
  name: "Reader",
  instructions: "Answer from the excerpts, and write the marker of each that you use.",
  model: openai("gpt-5")
})
const { text } = await agent.generateText(prompt)
console.log(text)
for (const [, number] of text.matchAll(/\[d(\d+)\]/gu)) {
  const cited = best[Number(number) - 1]
  if (cited !== undefined) console.log(`${cited.file}, page ${cited.page}`)
}
