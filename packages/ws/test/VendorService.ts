/** A real server with the realtime socket, whose voice model speaks a vendor's wire over a socket of its own. */
import { InMemory } from "@colloquy/adapters/in-memory"
import { OpenAiRealtime } from "@colloquy/adapters/realtime"
import { Kernel, Keys, Principal, Providers, ThreadId, Threads } from "@colloquy/core"
import { Realtime, RealtimeModels, type SessionLimits } from "@colloquy/core/realtime"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as ManagedRuntime from "effect/ManagedRuntime"
import * as Redacted from "effect/Redacted"
import { createServer } from "node:http"
import { realtimeSocket } from "../src/index.ts"
import { openAiRealtime } from "../src/openai/index.ts"

export const voiceFrame = { provider: "provider_a", model: "voice-1" }

export const startVendorService = async (vendorUrl: string, limits: Partial<SessionLimits> = {}) => {
  const voice = realtimeSocket({ basePath: "/ai", doors: [openAiRealtime] })
  const models = [OpenAiRealtime.model({ id: "provider_a", url: vendorUrl, models: { "voice-1": {} } })]
  const runtime = ManagedRuntime.make(
    voice.layer.pipe(
      Layer.provideMerge(Realtime.layer(limits)),
      Layer.provideMerge(Kernel.layer),
      Layer.provide([
        RealtimeModels.layer(models),
        Providers.layer({ providers: [], defaults: { provider: "none", model: "none" } }),
        InMemory.layer
      ])
    )
  )
  const key = await runtime.runPromise(Keys.use((keys) => keys.make("test")).pipe(Principal.provide("ada")))
  const server = createServer()
  voice.attach(server)
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
  const address = server.address()
  return {
    url: `ws://127.0.0.1:${typeof address === "object" ? address?.port : ""}/ai/threads/realtime`,
    key: Redacted.value(key.key),
    said: (threadId: string) =>
      runtime.runPromise(
        Threads.use((threads) => threads.get(ThreadId.make(threadId))).pipe(
          Effect.map(({ messages }) => messages.map(({ content, role }) => [role, content])),
          Principal.provide("ada")
        )
      ),
    [Symbol.asyncDispose]: async () => {
      await voice.drain()
      await new Promise((resolve) => server.close(resolve).closeAllConnections())
      await runtime.dispose()
    }
  }
}
