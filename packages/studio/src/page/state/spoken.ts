/** Reads a spoken turn. The server has only the messages of its thread. */
import { json } from "../api/http.ts"
import { type SpokenTurn, spokenTurn } from "../lib/spoken.ts"
import type { Thread } from "../wire.ts"

export const readSpokenTurn = async (threadId: string, turnId: string): Promise<SpokenTurn> => {
  const { messages } = await json<Thread>(`/threads/${threadId}`)
  const turn = spokenTurn(threadId, messages, turnId.slice("spoken-".length))
  if (turn === null) throw new Error("This answer is not on the thread any more. Choose another one.")
  return turn
}
