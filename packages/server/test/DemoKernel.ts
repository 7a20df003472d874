/** The kernel that a host embeds, with the demo model and without anything that is kept. */
import { InMemory } from "@colloquy/adapters/in-memory"
import { Kernel, Providers } from "@colloquy/core"
import * as Layer from "effect/Layer"
import { demoModelName, demoProvider } from "../src/demo/index.ts"

const defaults = { provider: "demo", model: demoModelName }

export const demoKernel = Kernel.layer.pipe(
  Layer.provide([Providers.layer({ providers: [demoProvider(0)], defaults }), InMemory.layer])
)
