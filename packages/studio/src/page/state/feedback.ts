/** The user's feedback on the answers of the open thread. */
import { json } from "../api/http.ts"
import { effect, signal } from "../view.ts"
import type { Feedback } from "../wire.ts"
import { can, conversation } from "./studio.ts"
import { giveFeedback } from "./tests.ts"

/** Feedback by the ids of the answers. */
export const feedback = signal<ReadonlyMap<string, Feedback>>(new Map())

const byMessage = (list: ReadonlyArray<Feedback>) => new Map(list.map((each) => [each.message_id, each]))

export const judge = async (threadId: string, messageId: string, score: number, comment: string): Promise<void> => {
  const given = await giveFeedback(threadId, messageId, { score, ...(comment === "" ? {} : { comment }) })
  feedback.value = new Map([...feedback.value, [messageId, given]])
}

// Unknown feedback is not shown, so a failure is not reported.
effect(() => {
  const threadId = conversation.threadId.value
  feedback.value = new Map()
  if (threadId === null || !can.value.evals) return
  json<{ readonly feedback: ReadonlyArray<Feedback> }>(`/evals/feedback?thread_id=${threadId}&limit=100`).then(
    ({ feedback: list }) => {
      if (threadId === conversation.threadId.value) feedback.value = byMessage(list)
    },
    () => {}
  )
})
