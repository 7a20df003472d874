/** The observed kernel: the demo model and a tool that runs on the server, in memory. */
import { InMemory } from "@colloquy/adapters/in-memory"
import { HostedTools, Kernel, Providers } from "@colloquy/core"
import * as Layer from "effect/Layer"
import { clock, demoModelName, demoProvider } from "@colloquy/server/demo"

export const kernel = HostedTools.tools([clock]).pipe(
  Layer.provideMerge(Kernel.layer),
  Layer.provide([
    Providers.layer({ providers: [demoProvider()], defaults: { provider: "demo", model: demoModelName } }),
    InMemory.layer
  ])
)
