/** What is measured of voice sessions: the built packages as a host runs them, over stores in memory, with OpenAI's wire to the vendor. */
import { InMemory } from "@colloquy/adapters/in-memory"
import { OpenAiRealtime } from "@colloquy/adapters/realtime"
import { Kernel, Keys, Principal, Providers } from "@colloquy/core"
import { Realtime, RealtimeModels } from "@colloquy/core/realtime"
import { attachUpgrade, makeUpgradeHandler } from "@colloquy/ws"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as ManagedRuntime from "effect/ManagedRuntime"
import * as Redacted from "effect/Redacted"
import * as Scope from "effect/Scope"
import { createServer } from "node:http"
import { serve } from "./Child.ts"

const model = OpenAiRealtime.model({ id: "bench", url: process.env["BENCH_VENDOR"] ?? "", models: { voice: {} } })
const key = Layer.effectDiscard(
  Effect.flatMap(Keys, (keys) => keys.register("bench", Redacted.make("bench-key")).pipe(Principal.provide("bench")))
)
const runtime = ManagedRuntime.make(
  Realtime.layer().pipe(
    Layer.provideMerge(key),
    Layer.provideMerge(Kernel.layer),
    Layer.provideMerge(InMemory.layer),
    Layer.provide([
      RealtimeModels.layer([model]),
      Providers.layer({ providers: [], defaults: { provider: "none", model: "none" } })
    ])
  )
)
const handler = await runtime.runPromise(Scope.provide(makeUpgradeHandler(), Scope.makeUnsafe()))
const server = createServer()
attachUpgrade(server, handler)
await serve(server)
