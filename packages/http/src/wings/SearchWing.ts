/** Search on the web: a tool that the model may use in this turn. */
import { isOneOf } from "./Fields.ts"
import type { Wing } from "./Wing.ts"

export const searchWing: Wing = {
  part: "search",
  message: {
    asked: ({ web_search }) => (isOneOf(web_search, "Auto") ? [{ path: ["web_search"], title: "Web search" }] : []),
    options: () => ({ mode: "Auto" }),
    place: () => ["web_search"]
  }
}
