import { chatRoute, uiMessages } from "@colloquy/http/ai-sdk"
import { connect } from "@colloquy/http/client"
import { Colloquy } from "colloquy"
import { openai } from "colloquy/openai"
import { pglite } from "colloquy/pglite"

const {
  DATA_DIR: dataDir = "data",
  OPENAI_API_KEY: apiKey = "",
  OPENAI_BASE_URL: baseUrl = "https://api.openai.com/v1"
} = process.env
const colloquy = Colloquy.lazy(() => ({
  store: pglite({ dataDir }),
  providers: [openai({ apiKey, baseUrl })],
  model: "gpt-5"
}))
const handler = colloquy.handler({ authenticate: ({ headers }) => headers["x-user"] ?? null })
const route = chatRoute({ handler })
export { route as GET, route as POST }

const connectAs = (user: string) => connect({ baseUrl: "http://localhost", headers: { "x-user": user }, handler })
export const begin = async (user: string) => {
  const client = await connectAs(user)
  const { assistant_id } = await client.assistants.create({ name: "Chat" })
  return (await client.assistants.createThread(assistant_id)).thread_id
}
export const load = async (user: string, id: string) => uiMessages(await (await connectAs(user)).threads.get(id))
