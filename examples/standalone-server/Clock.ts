/** A hosted tool: the demo model calls it, and so can every real one. */
import type { HostedTool } from "@colloquy/core"
import * as DateTime from "effect/DateTime"
import * as Effect from "effect/Effect"

export const clock: HostedTool = {
  definition: {
    // A plain "clock" is left to the users' own tools.
    name: "server_clock",
    description: "Tells the current date and time in UTC.",
    parameters: { type: "object", properties: {}, additionalProperties: false }
  },
  offered: ({ jsonOutput }) => !jsonOutput,
  run: () => Effect.map(DateTime.now, (now) => `${DateTime.formatIso(now)} (UTC)`)
}
