import { toBaseMessages, toUIMessageStream } from "@ai-sdk/langchain"
import { SqliteSaver } from "@langchain/langgraph-checkpoint-sqlite"
import { ChatOpenAI } from "@langchain/openai"
import { createUIMessageStreamResponse, type UIMessage, UI_MESSAGE_STREAM_HEADERS } from "ai"
import { type BaseMessage, createAgent } from "langchain"
import { mkdirSync } from "node:fs"

const { DATA_DIR: folder = "data" } = process.env
mkdirSync(folder, { recursive: true })
const agent = createAgent({
  model: new ChatOpenAI({ model: "gpt-5" }),
  tools: [],
  checkpointer: SqliteSaver.fromConnString(`${folder}/chat.db`)
})
const threadKey = (user: string, id: string) => JSON.stringify([user, id])
const threadConfig = (key: string) => ({ configurable: { thread_id: key } })
export const begin = (_user: string) => crypto.randomUUID()
export const load = async (user: string, id: string): Promise<Array<UIMessage>> => {
  const { values } = await agent.graph.getState(threadConfig(threadKey(user, id)))
  const messages: Array<BaseMessage> = values.messages ?? []
  return messages.map(({ id = crypto.randomUUID(), text, type }) => ({
    id,
    role: type === "human" ? "user" : "assistant",
    parts: [{ type: "text", text }]
  }))
}

// Answers that are being written, for a page that is loaded again.
const live = new Map<string, ReadableStream<string>>()

export const POST = async (request: Request) => {
  const user = request.headers.get("x-user")
  if (user === null) return new Response(null, { status: 401 })
  const { id, messages: sent } = await request.json()
  const key = threadKey(user, id)
  const messages = await toBaseMessages(sent.slice(-1))
  const stream = await agent.stream({ messages }, { ...threadConfig(key), streamMode: ["values", "messages"] })
  return createUIMessageStreamResponse({
    stream: toUIMessageStream(stream),
    consumeSseStream: ({ stream }) => {
      const [drained, kept] = stream.tee()
      live.set(key, kept)
      void drained.pipeTo(new WritableStream()).finally(() => live.delete(key))
    }
  })
}

export const GET = async (request: Request) => {
  const user = request.headers.get("x-user") ?? ""
  const key = threadKey(user, new URL(request.url).pathname.split("/").at(-2) ?? "")
  const [now, later] = live.get(key)?.tee() ?? []
  if (now === undefined || later === undefined) return new Response(null, { status: 204 })
  live.set(key, later)
  return new Response(now.pipeThrough(new TextEncoderStream()), { headers: UI_MESSAGE_STREAM_HEADERS })
}
