/** What the frames of snippets take for granted: a demo model, stores without a disk, a client, and one message sent through a kernel. */
import { InMemory } from "@colloquy/adapters/in-memory"
import { type Kernel, Principal, Providers, type TurnRequest, Turns } from "@colloquy/core"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type { RequestListener } from "node:http"
import { createServer } from "node:http"
import { demoModelName, demoProvider, demoTypedProvider } from "@colloquy/server/demo"

export const providersOptions = {
  providers: [demoProvider(), demoTypedProvider()],
  defaults: { provider: "demo", model: demoModelName }
}

export const providers = Providers.layer(providersOptions)

export const stores = InMemory.layer

/** What the kernel answers to one message of Ada's. */
export const send = <E>(kernel: Layer.Layer<Kernel.Kernel, E>, request: TurnRequest) =>
  Effect.runPromise(
    Turns.use((turns) => turns.send(request)).pipe(
      Principal.provide("ada"),
      Effect.provide(Layer.fresh(kernel)),
      Effect.orDie
    )
  )

export interface Served {
  readonly url: string
  readonly stop: () => Promise<void>
}

export const listen = async (listener: RequestListener): Promise<Served> => {
  const server = createServer(listener)
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
  const address = server.address()
  const port = typeof address === "object" && address !== null ? address.port : 0
  return {
    url: `http://127.0.0.1:${port}`,
    stop: async () => {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    }
  }
}

/** The ids of the providers in a layer. */
export const providerIds = (layer: Layer.Layer<Providers>): Promise<ReadonlyArray<string>> =>
  Effect.runPromise(
    Effect.provide(
      Effect.map(Providers, ({ all }) => all.map(({ id }) => id)),
      layer
    )
  )

const likely = [
  ["A", 0.7],
  ["Yes", 0.2],
  ["No", 0.07],
  ["B", 0.03]
] as const

/** A vendor of OpenAI's dialect that is asked for one token, and finds these likely. */
export const oneToken: RequestListener = (_request, response) => {
  const [[token]] = likely
  const topLogprobs = likely.map(([each, share]) => ({ token: each, logprob: Math.log(share), bytes: null }))
  const content = [{ token, logprob: Math.log(0.7), bytes: null, top_logprobs: topLogprobs }]
  const message = { role: "assistant", content: token }
  const choices = [{ index: 0, finish_reason: "length", message, logprobs: { refusal: null, content } }]
  const usage = { prompt_tokens: 71, completion_tokens: 1, total_tokens: 72 }
  response.writeHead(200, { "content-type": "application/json" })
  response.end(JSON.stringify({ id: "c", object: "chat.completion", model: "m", choices, usage }))
}

const spoken = "What is the time?"

/** One frame of MPEG-1 layer III, 128 kbit/s at 44.1 kHz, of silence. */
const silence = Buffer.alloc(417)
silence.set([0xff, 0xfb, 0x90, 0x00])

/** A vendor of OpenAI's dialect that hears the same in every recording, and speaks silence. */
export const speechVendor: RequestListener = (request, response) => {
  let sent = ""
  request.setEncoding("latin1").on("data", (piece: string) => (sent += piece))
  request.on("end", () => {
    if (request.url?.endsWith("/audio/speech") === true) {
      response.writeHead(200, { "content-type": "audio/mpeg" }).end(Buffer.concat([silence, silence]))
    } else if (request.url?.endsWith("/audio/transcriptions") === true && !sent.includes('name="stream"')) {
      response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify({ text: spoken }))
    } else if (request.url?.endsWith("/audio/transcriptions") === true) {
      response.writeHead(200, { "content-type": "text/event-stream" })
      response.write(`data: ${JSON.stringify({ type: "transcript.text.delta", delta: spoken })}\n\n`)
      response.end(`data: ${JSON.stringify({ type: "transcript.text.done", text: spoken })}\n\n`)
    } else {
      response.writeHead(404).end()
    }
  })
}

const pixel = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="

/** A vendor of OpenAI's dialect whose pictures are one pixel. */
export const imageVendor: RequestListener = (request, response) => {
  const body = request.url?.endsWith("/images/generations") === true ? { data: [{ b64_json: pixel }] } : { data: [] }
  request.resume().on("end", () => {
    response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(body))
  })
}

/** SearXNG, which finds the same page for every query. */
export const searchEngine: RequestListener = (_request, response) => {
  const results = [{ url: "https://foxes.example/", title: "Foxes", content: "They dig." }]
  response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify({ results }))
}
