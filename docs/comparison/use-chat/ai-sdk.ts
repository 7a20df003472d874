import { openai } from "@ai-sdk/openai"
import {
  convertToModelMessages,
  createUIMessageStreamResponse,
  streamText,
  toUIMessageStream,
  type UIMessage,
  UI_MESSAGE_STREAM_HEADERS
} from "ai"
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs"

const { DATA_DIR: folder = "data" } = process.env
mkdirSync(folder, { recursive: true })
const threadFile = (user: string, id: string) => `${folder}/${encodeURIComponent(`${user} ${id}`)}.json`
const save = (file: string, messages: ReadonlyArray<UIMessage>) => writeFileSync(file, JSON.stringify(messages))
export const begin = (_user: string) => crypto.randomUUID()
export const load = (user: string, id: string): Array<UIMessage> =>
  existsSync(threadFile(user, id)) ? JSON.parse(readFileSync(threadFile(user, id), "utf8")) : []

// Answers that are being written, for a page that is loaded again.
const live = new Map<string, ReadableStream<string>>()

export const POST = async (request: Request) => {
  const user = request.headers.get("x-user")
  if (user === null) return new Response(null, { status: 401 })
  const { id, messages: sent } = await request.json()
  const file = threadFile(user, id)
  const messages: Array<UIMessage> = [...load(user, id), sent.at(-1)]
  save(file, messages)
  const result = streamText({ model: openai("gpt-5"), messages: await convertToModelMessages(messages) })
  return createUIMessageStreamResponse({
    stream: toUIMessageStream({
      stream: result.stream,
      originalMessages: messages,
      generateMessageId: () => crypto.randomUUID(),
      onEnd: ({ messages }) => {
        live.delete(file)
        save(file, messages)
      }
    }),
    consumeSseStream: ({ stream }) => {
      const [drained, kept] = stream.tee()
      live.set(file, kept)
      void drained.pipeTo(new WritableStream())
    }
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
