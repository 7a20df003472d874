/** Typed answers: `system_one` asks for them. The part checks the questions. */
import { isGiven } from "./Fields.ts"
import type { Wing } from "./Wing.ts"

export const answersWing: Wing = {
  part: "answers",
  message: {
    asked: ({ system_one }) => (isGiven(system_one) ? [{ path: ["system_one"], title: "Typed answers" }] : []),
    options: ({ system_one }) => system_one ?? null,
    place: (path) => ["system_one", ...path]
  },
  absent: {
    title: "Typed answers",
    endpoints: [
      ["POST", "/threads/:thread_id/messages/:message_id/outcomes"],
      ["GET", "/assistants/:assistant_id/answers/report"]
    ]
  }
}
