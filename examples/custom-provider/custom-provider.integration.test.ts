/** The provider of this folder in a kernel, against a server on this machine: an answer, a failure, a client that disconnects. */
import { assert, describe, it } from "@effect/vitest"
import { InMemory } from "@colloquy/adapters/in-memory"
import { Kernel, Principal, Providers, Turns } from "@colloquy/core"
import { type ChatRequest, describeModel } from "@colloquy/core/adapters"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Stream from "effect/Stream"
import { readFile } from "node:fs/promises"
import * as Http from "node:http"
import { houseModel } from "./HouseModel.ts"

type Answer = (body: string, response: Http.ServerResponse) => void

const serve = (answer: Answer) =>
  Effect.acquireRelease(
    Effect.callback<Http.Server>((resume) => {
      const server = Http.createServer((request, response) => {
        const pieces: Array<string> = []
        request.setEncoding("utf8")
        request.on("data", (piece: string) => pieces.push(piece))
        request.on("end", () => answer(pieces.join(""), response))
      })
      server.listen(0, "127.0.0.1", () => resume(Effect.succeed(server)))
    }),
    (server) =>
      Effect.callback<void>((resume) => {
        server.close(() => resume(Effect.void))
        server.closeAllConnections()
      })
  ).pipe(
    Effect.map((server) => {
      const address = server.address()
      return `http://127.0.0.1:${typeof address === "object" && address !== null ? address.port : 0}`
    })
  )

const kernelWith = (url: string) =>
  Kernel.layer.pipe(
    Layer.provide([
      Providers.layer({ providers: [houseModel(url)], defaults: { provider: "house", model: "one" } }),
      InMemory.layer
    ])
  )

const ask = (url: string) =>
  Turns.use((turns) => turns.send({ content: "Wie geht es?" })).pipe(
    Principal.provide("ada"),
    Effect.provide(kernelWith(url))
  )

/** Calls the driver directly, as the kernel does. */
const listen = (url: string) => {
  const request: ChatRequest = {
    provider: "house",
    model: "one",
    info: describeModel({ name: "one", provider: "house", modelType: "llm" }),
    system: null,
    tools: [],
    toolChoice: "auto",
    messages: [{ role: "user", content: [{ type: "text", text: "Hello" }] }],
    thinking: null,
    routing: null,
    jsonOutput: false,
    maxOutputTokens: null,
    apiKey: null,
    conversationId: "conversation-1"
  }
  return houseModel(url).chat?.(request) ?? Stream.empty
}

describe("a provider by hand", () => {
  it("has 25 lines", async () => {
    const source = await readFile(new URL("HouseModel.ts", import.meta.url), "utf8")
    assert.isAtMost(source.trimEnd().split("\n").length, 25)
  })

  it.live("answers, with characters that the network cuts", () =>
    Effect.gen(function* () {
      const url = yield* serve((body, response) => {
        const text = new TextEncoder().encode(body.includes("Wie geht es?") ? "Schön 🌍" : "?")
        for (const byte of text) response.write(Uint8Array.of(byte))
        response.end()
      })
      const reply = yield* ask(url)
      assert.deepInclude(reply, { status: "COMPLETED", content: "Schön 🌍" })
    })
  )

  it.live("tells what went wrong, so that the kernel knows whether to try again", () =>
    Effect.gen(function* () {
      const url = yield* serve((_, response) => void response.writeHead(503).end("busy"))
      const busy = yield* Effect.flip(Stream.runDrain(listen(url)))
      assert.deepInclude(busy, { reason: "overloaded", isRetryable: true, provider: "house", model: "one" })
      const nobody = yield* Effect.flip(Stream.runDrain(listen("http://127.0.0.1:1")))
      assert.strictEqual(nobody.reason, "connection")
    })
  )

  it.live("closes the connection when nobody listens any more", () =>
    Effect.gen(function* () {
      const gone = yield* Deferred.make<void>()
      const url = yield* serve((_, response) => {
        response.on("close", () => Deferred.doneUnsafe(gone, Effect.void))
        response.write("Hel")
      })
      const heard = yield* listen(url).pipe(Stream.take(1), Stream.runCollect)
      assert.deepStrictEqual(heard, [{ _tag: "TextDelta", text: "Hel" }])
      yield* Deferred.await(gone)
    })
  )
})
