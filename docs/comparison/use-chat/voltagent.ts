import { openai } from "@ai-sdk/openai"
import { Agent, Memory } from "@voltagent/core"
import { LibSQLMemoryAdapter } from "@voltagent/libsql"
import {
  createResumableChatHandlers,
  createResumableStreamAdapter,
  createResumableStreamMemoryStore
} from "@voltagent/resumable-streams"
import { mkdirSync } from "node:fs"

const { DATA_DIR: folder = "data" } = process.env
mkdirSync(folder, { recursive: true })
const memory = new Memory({ storage: new LibSQLMemoryAdapter({ url: `file:${folder}/chat.db` }) })
const agent = new Agent({ name: "Chat", instructions: "Answer.", model: openai("gpt-5"), memory })
const conversationKey = (user: string, id: string) => JSON.stringify([user, id])
export const begin = (_user: string) => crypto.randomUUID()
export const load = (user: string, id: string) => memory.getMessages(user, conversationKey(user, id))

interface Body {
  readonly id: string
  readonly messages: Parameters<typeof agent.streamText>[0] & Array<unknown>
}
const isBody = (body: unknown): body is Body => typeof body === "object" && body !== null && "messages" in body
const requestUser = (request: Request) => request.headers.get("x-user") ?? undefined
export const { GET, POST } = createResumableChatHandlers({
  agent,
  adapter: await createResumableStreamAdapter({ streamStore: await createResumableStreamMemoryStore() }),
  resolveUserId: ({ request }) => requestUser(request),
  resolveConversationId: ({ body, request }) => {
    const id = isBody(body) ? body.id : new URL(request.url).pathname.split("/").at(-2)
    return conversationKey(requestUser(request) ?? "", id ?? "")
  },
  resolveInput: (body) => (isBody(body) ? body.messages.slice(-1) : null)
})
