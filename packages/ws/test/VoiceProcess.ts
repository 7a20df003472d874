/** The realtime socket on a server of its own, as a program for whatever runs JavaScript with `node:http`. */
import { InMemory } from "@colloquy/adapters/in-memory"
import { OpenAiRealtime } from "@colloquy/adapters/realtime"
import { Kernel, Keys, Principal, Providers } from "@colloquy/core"
import { Realtime, RealtimeModels } from "@colloquy/core/realtime"
import * as Layer from "effect/Layer"
import * as ManagedRuntime from "effect/ManagedRuntime"
import * as Redacted from "effect/Redacted"
import { createServer } from "node:http"
import process from "node:process"
import { realtimeSocket } from "../src/index.ts"

const voice = realtimeSocket({ basePath: "/ai" })
const model = OpenAiRealtime.model({
  id: "provider_a",
  url: process.env["VENDOR_URL"] ?? "",
  apiKey: Redacted.make("sk-host"),
  models: { "voice-1": {} }
})
const runtime = ManagedRuntime.make(
  voice.layer.pipe(
    Layer.provideMerge(Realtime.layer()),
    Layer.provideMerge(Kernel.layer),
    Layer.provide([
      RealtimeModels.layer([model]),
      Providers.layer({ providers: [], defaults: { provider: "none", model: "none" } }),
      InMemory.layer
    ])
  )
)
const { key } = await runtime.runPromise(Keys.use((keys) => keys.make("test")).pipe(Principal.provide("ada")))
const server = createServer((_, response) => response.end("host"))
voice.attach(server)
server.listen(0, "127.0.0.1", () => {
  const address = server.address()
  const host = `127.0.0.1:${typeof address === "object" ? address?.port : ""}`
  console.log(`listens ${host} ${Redacted.value(key)} .`)
})

const end = async () => {
  await voice.drain()
  server.close()
  await runtime.dispose()
  process.exit(0)
}
process.once("SIGTERM", () => void end())
