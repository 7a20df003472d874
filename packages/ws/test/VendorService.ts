/** A real server with the realtime socket, whose voice model speaks a vendor's wire over a socket of its own. */
import { InMemory } from "@colloquy/adapters/in-memory"
import { OpenAiRealtime } from "@colloquy/adapters/realtime"
import { type HostedTool, HostedTools, Kernel, Keys, Principal, Providers, ThreadId, Threads } from "@colloquy/core"
import { Realtime, type RealtimeModel, RealtimeModels, type SessionLimits } from "@colloquy/core/realtime"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as ManagedRuntime from "effect/ManagedRuntime"
import * as Redacted from "effect/Redacted"
import { createServer } from "node:http"
import { realtimeSocket } from "../src/index.ts"
import { openAiRealtime } from "../src/openai/index.ts"

export const voiceFrame = { provider: "provider_a", model: "voice-1" }

export const startVendorService = (vendorUrl: string, limits: Partial<SessionLimits> = {}) =>
  startModels([OpenAiRealtime.model({ id: "provider_a", url: vendorUrl, models: { "voice-1": {} } })], { limits })

/** The same with any models, and with tools of the service. */
export const startModels = async (
  models: ReadonlyArray<RealtimeModel>,
  {
    hosted = [],
    limits = {}
  }: { readonly hosted?: ReadonlyArray<HostedTool>; readonly limits?: Partial<SessionLimits> } = {}
) => {
  const voice = realtimeSocket({ basePath: "/ai", doors: [openAiRealtime] })
  const runtime = ManagedRuntime.make(
    voice.layer.pipe(
      Layer.provideMerge(Realtime.layer(limits)),
      Layer.provideMerge(HostedTools.tools(hosted)),
      Layer.provideMerge(Kernel.layer),
      Layer.provide([
        RealtimeModels.layer(models),
        Providers.layer({ providers: [], defaults: { provider: "none", model: "none" } }),
        InMemory.layer
      ])
    )
  )
  const makeKey = async (owner: string) => {
    const { key } = await runtime.runPromise(Keys.use((keys) => keys.make("test")).pipe(Principal.provide(owner)))
    return Redacted.value(key)
  }
  const server = createServer()
  voice.attach(server)
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
  const address = server.address()
  return {
    url: `ws://127.0.0.1:${typeof address === "object" ? address?.port : ""}/ai/threads/realtime`,
    key: await makeKey("ada"),
    makeKey,
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
