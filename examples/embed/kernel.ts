/**
 * The kernel that all hosts of this folder embed: the demo model and nothing else to set up. A real host puts its own providers and
 * `Postgres.layer` here, and its own session into `authenticate`.
 */
import { InMemory } from "@colloquy/adapters/in-memory"
import { Kernel, Providers } from "@colloquy/core"
import { webHandler } from "@colloquy/http"
import * as Layer from "effect/Layer"
import { demoModelName, demoProvider } from "../standalone-server/DemoModel.ts"

const providers = Providers.layer({
  providers: [demoProvider(0)],
  defaults: { provider: "demo", model: demoModelName }
})

export const ai = webHandler({
  kernel: Kernel.layer.pipe(Layer.provide([providers, InMemory.layer])),
  basePath: "/ai",
  // Who asks is for the host to say: here a header that stands for his session.
  authenticate: ({ headers }) => headers["x-user"] ?? null
})
