/** The hosted tool of the demo models. A real model is offered no tool that its user has not chosen. */
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
  offered: ({ jsonOutput, provider }) => provider === "demo" && !jsonOutput,
  run: () => Effect.map(DateTime.now, (now) => `${DateTime.formatIso(now)} (UTC)`)
}
