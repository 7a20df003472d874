/** A hosted tool for the demo model and for real models. */
import type { HostedTool } from "@colloquy/core"
import * as DateTime from "effect/DateTime"
import * as Effect from "effect/Effect"

export const clock: HostedTool = {
  definition: {
    // The plain name "clock" is left free for the users' own tools.
    name: "server_clock",
    description: "Tells the current date and time in UTC.",
    parameters: { type: "object", properties: {}, additionalProperties: false }
  },
  offered: ({ jsonOutput }) => !jsonOutput,
  run: () => Effect.map(DateTime.now, (now) => `${DateTime.formatIso(now)} (UTC)`)
}
