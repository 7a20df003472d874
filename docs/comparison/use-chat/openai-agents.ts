import { Agent, run } from "@openai/agents"
import { createAiSdkUiMessageStream } from "@openai/agents-extensions/ai-sdk-ui"
import { createUIMessageStreamResponse, readUIMessageStream, type UIMessage, UI_MESSAGE_STREAM_HEADERS } from "ai"
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs"

const { DATA_DIR: folder = "data" } = process.env
mkdirSync(folder, { recursive: true })
const threadFile = (user: string, id: string) => `${folder}/${encodeURIComponent(`${user} ${id}`)}.json`
const save = (file: string, messages: ReadonlyArray<UIMessage>) => writeFileSync(file, JSON.stringify(messages))
export const begin = (_user: string) => crypto.randomUUID()
export const load = (user: string, id: string): Array<UIMessage> =>
  existsSync(threadFile(user, id)) ? JSON.parse(readFileSync(threadFile(user, id), "utf8")) : []
const agent = new Agent({ name: "Chat", instructions: "Answer.", model: "gpt-5" })
const messageText = ({ parts }: UIMessage) => parts.map((part) => (part.type === "text" ? part.text : "")).join("")

// Answers that are being written, for a page that is loaded again.
const live = new Map<string, ReadableStream<string>>()

export const POST = async (request: Request) => {
  const user = request.headers.get("x-user")
  if (user === null) return new Response(null, { status: 401 })
  const { id, messages: sent } = await request.json()
  const file = threadFile(user, id)
  const messages: Array<UIMessage> = [...load(user, id), sent.at(-1)]
  save(file, messages)
  const items = messages.map((message) =>
    message.role === "user"
      ? { role: "user" as const, content: messageText(message) }
      : {
          role: "assistant" as const,
          status: "completed" as const,
          content: [{ type: "output_text" as const, text: messageText(message) }]
        }
  )
  const [shown, saved] = createAiSdkUiMessageStream(await run(agent, items, { stream: true })).tee()
  void (async () => {
    for await (const message of readUIMessageStream({ stream: saved })) save(file, [...messages, message])
    live.delete(file)
  })()
  return createUIMessageStreamResponse({
    stream: shown,
    consumeSseStream: ({ stream }) => void live.set(file, stream)
  })
}

export const GET = async (request: Request) => {
  const user = request.headers.get("x-user") ?? ""
  const file = threadFile(user, new URL(request.url).pathname.split("/").at(-2) ?? "")
  const [now, later] = live.get(file)?.tee() ?? []
  if (now === undefined || later === undefined) return new Response(null, { status: 204 })
  live.set(file, later)
  return new Response(now.pipeThrough(new TextEncoderStream()), { headers: UI_MESSAGE_STREAM_HEADERS })
}
