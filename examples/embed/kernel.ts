/**
 * The kernel that all hosts of this folder embed: the demo model, without any setup. A real host puts its own providers and
 * `Postgres.layer` here. Each host authenticates its users with its own sessions: see `authenticate` in each server of this folder.
 */
import { InMemory } from "@colloquy/adapters/in-memory"
import { Kernel, Providers } from "@colloquy/core"
import * as Layer from "effect/Layer"
import { demoModelName, demoProvider } from "@colloquy/server/demo"

const providers = Providers.layer({
  providers: [demoProvider(0)],
  defaults: { provider: "demo", model: demoModelName }
})

export const kernel = Kernel.layer.pipe(Layer.provide([providers, InMemory.layer]))
