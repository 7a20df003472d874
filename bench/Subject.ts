/**
 * What is measured: the built packages as a user runs them, on `node:http`, over the store that the environment names. Its keys, its
 * logs and its promises are on. The size of the pool is set, and the flag of V8 that docs/operations.md recommends. `BENCH_WINGS` installs the rooms
 * that the standalone server has. (Summaries are not among them, because they call a model for every long thread.)
 */
import { InMemory } from "@colloquy/adapters/in-memory"
import * as OpenAiCompatible from "@colloquy/adapters/openai-compatible"
import { Kernel, Keys, Principal, Providers } from "@colloquy/core"
import { webHandler } from "@colloquy/http"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import { createServer } from "node:http"
import { setFlagsFromString } from "node:v8"
import { serve } from "./Child.ts"

setFlagsFromString("--no-allocation-site-pretenuring")

const maxConnections = Number(process.env["BENCH_POOL"] ?? 10)

/** A store is loaded when it is used, as in a program that has chosen one. */
const stores = async () => {
  switch (process.env["BENCH_STORE"]) {
    case "postgres": {
      const { Postgres } = await import("@colloquy/adapters/postgres")
      const url = Redacted.make(process.env["DATABASE_URL"] ?? "")
      return Postgres.layer({ url, maxConnections })
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
  describe: () => ({ contextLimit: 2700 })
}
const defaults = { provider: "bench", model: "burst-20" }
const key = Layer.effectDiscard(
  Effect.flatMap(Keys, (keys) => keys.register("bench", Redacted.make("bench-key")).pipe(Principal.provide("bench")))
)
const models = Providers.layer({ providers: [provider], defaults })

/** Loaded only here, so that the other process has nothing of them in its memory. */
const withWings = async () => {
  const [{ Postgres }, { FileExtractor }, { tavily }] = [
    await import("@colloquy/adapters/postgres"),
    await import("@colloquy/adapters/files"),
    await import("@colloquy/adapters/web-search")
  ]
  const { Answers } = await import("@colloquy/core/answers")
  const { Documents, documentSummaries } = await import("@colloquy/core/documents")
  const { Images, Videos } = await import("@colloquy/core/media")
  const { Memory } = await import("@colloquy/core/memory")
  const realtime = await import("@colloquy/core/realtime")
  const { Retention } = await import("@colloquy/core/retention")
  const { Voice } = await import("@colloquy/core/voice")
  const { WebSearch } = await import("@colloquy/core/web-search")
  const { openai } = await import("@colloquy/http/openai")
  const url = Redacted.make(process.env["DATABASE_URL"] ?? "")
  const engine = tavily({ apiKey: Redacted.make("none") })
  const rooms = Layer.mergeAll(
    Layer.provide(Answers.layer(), documentSummaries),
    Memory.layer(),
    Retention.layer(),
    Images.layer(),
    Videos.layer(),
    Voice.layer(),
    WebSearch.layer(engine),
    realtime.Realtime.layer()
  )
  const documents = Layer.provide(Documents.layer(), FileExtractor.layer())
  const kernel = key.pipe(
    Layer.provideMerge(rooms),
    Layer.provide(realtime.RealtimeModels.layer([])),
    Layer.provideMerge(documents),
    Layer.provideMerge(Kernel.layer),
    Layer.provide([models, Postgres.layer({ url, maxConnections })])
  )
  return webHandler({ kernel, basePath: "/api", wings: [openai] })
}

const alone = async () => {
  const kernel = key.pipe(Layer.provideMerge(Kernel.layer), Layer.provide([models, await stores()]))
  return webHandler({ kernel, basePath: "/api" })
}

const api = await (process.env["BENCH_WINGS"] === undefined ? alone() : withWings())
await api.ready()
await serve(createServer(api.node))
