/**
 * What is measured: the built packages as a user runs them, on `node:http`, over the store that the environment names. Its keys, its
 * logs and its promises are on; nothing is set for the benchmark's sake but the size of the pool.
 */
import { InMemory } from "@colloquy/adapters/in-memory"
import * as OpenAiCompatible from "@colloquy/adapters/openai-compatible"
import { Kernel, Keys, Principal, Providers } from "@colloquy/core"
import { webHandler } from "@colloquy/http"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import { createServer } from "node:http"
import { serve } from "./Child.ts"

/** A store is loaded when it is used, as in a program that has chosen one. */
const stores = async () => {
  switch (process.env["BENCH_STORE"]) {
    case "postgres": {
      const { Postgres } = await import("@colloquy/adapters/postgres")
      const url = Redacted.make(process.env["DATABASE_URL"] ?? "")
      return Postgres.layer({ url, maxConnections: Number(process.env["BENCH_POOL"] ?? 10) })
    }
    case "pglite": {
      const { Pglite } = await import("@colloquy/adapters/pglite")
      const dataDir = process.env["BENCH_DATA_DIR"]
      return Pglite.layer(dataDir === undefined ? {} : { dataDir })
    }
    default:
      return InMemory.layer
  }
}

/** The window of every model here holds about as much history as the baseline sends. */
const provider = {
  ...OpenAiCompatible.provider({ id: "bench", baseUrl: process.env["BENCH_UPSTREAM"] ?? "" }),
  describe: () => ({ contextLimit: 1250 })
}
const defaults = { provider: "bench", model: "burst-20" }
const key = Layer.effectDiscard(
  Effect.flatMap(Keys, (keys) => keys.register("bench", Redacted.make("bench-key")).pipe(Principal.provide("bench")))
)
const kernel = key.pipe(
  Layer.provideMerge(Kernel.layer),
  Layer.provide([Providers.layer({ providers: [provider], defaults }), await stores()])
)

const api = webHandler({ kernel, basePath: "/api" })
await api.ready()
await serve(createServer(api.node))
