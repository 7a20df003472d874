/** The route of a `useChat`: `app/api/chat/route.ts` of a Next application. A reload finds the conversation, and goes on with its answer. */
import { chatRoute } from "@colloquy/http/ai-sdk"
import { Colloquy } from "colloquy"
import { inMemory } from "colloquy/in-memory"
import { say, scripted } from "colloquy/testing"

const colloquy = Colloquy.lazy(() => ({
  store: inMemory(),
  providers: [scripted([say("Hello, ", "Ada.")])],
  model: "scripted-model"
}))

// A real host reads its session here.
const handler = colloquy.handler({ authenticate: ({ headers }) => headers["x-user"] ?? headers["cookie"] ?? null })
const route = chatRoute({ handler })
export { route as GET, route as POST }
