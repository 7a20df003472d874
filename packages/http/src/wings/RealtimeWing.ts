/** Voice sessions over the socket. They join no turn; the endpoint for their tickets belongs to HTTP. */
import type { Wing } from "./Wing.ts"

export const realtimeWing: Wing = {
  part: "realtime",
  absent: { title: "Realtime sessions", endpoints: [["POST", "/threads/realtime/tickets"]] }
}
