import { ChatOpenAI, OpenAIEmbeddings } from "@langchain/openai"
import { readFileSync } from "node:fs"
import { basename } from "node:path"
import { extractText } from "unpdf"

const question = "How many days of holiday do employees have?"
const model = new OpenAIEmbeddings({ model: "text-embedding-3-small" })
const pages = await Promise.all(
  process.argv.slice(2).map(async (file) => {
    const { text } = await extractText(new Uint8Array(readFileSync(file)))
    return text.map((words, index) => ({ file: basename(file), page: index + 1, words }))
  })
)
const excerpts = pages.flat()
const embeddings = await model.embedDocuments(excerpts.map(({ words }) => words))
const embedding = await model.embedQuery(question)
const similarity = (other: Array<number> = []) =>
  other.reduce((sum, value, at) => sum + value * (embedding[at] ?? 0), 0)
const best = excerpts
  .map((excerpt, index) => ({ ...excerpt, score: similarity(embeddings[index]) }))
  .sort((a, b) => b.score - a.score)
  .slice(0, 3)

const prompt = [...best.map(({ words }, index) => `[d${index + 1}] ${words}`), question].join("\n\n")
const { text } = await new ChatOpenAI({ model: "gpt-5" }).invoke([
  ["system", "Answer from the excerpts, and write the marker of each that you use."],
  ["user", prompt]
])
console.log(text)
for (const [, number] of text.matchAll(/\[d(\d+)\]/gu)) {
  const cited = best[Number(number) - 1]
  if (cited !== undefined) console.log(`${cited.file}, page ${cited.page}`)
}
