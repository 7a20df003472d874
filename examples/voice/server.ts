/** The API and its voice sessions under `/ai` of a server of `node:http`: one kernel for both, with a voice that needs no key. */
import { InMemory } from "@colloquy/adapters/in-memory"
import { Kernel, Providers } from "@colloquy/core"
import { Realtime, RealtimeModels } from "@colloquy/core/realtime"
import { type HostCredentials, webHandler } from "@colloquy/http"
import { realtimeSocket } from "@colloquy/ws"
import * as Layer from "effect/Layer"
import { createServer } from "node:http"
import { demoModelName, demoProvider, demoVoice } from "@colloquy/server/demo"

const owners = new Map([["key-of-ada", "ada"]])

const access = {
  basePath: "/ai",
  authenticate: ({ headers }: HostCredentials) => owners.get(headers["x-api-key"] ?? "")
}

export const voice = realtimeSocket(access)

const kernel = voice.layer.pipe(
  Layer.provideMerge(Realtime.layer()),
  Layer.provideMerge(Kernel.layer),
  Layer.provide([
    RealtimeModels.layer([demoVoice]),
    Providers.layer({ providers: [demoProvider()], defaults: { provider: "demo", model: demoModelName } }),
    InMemory.layer
  ])
)

export const ai = webHandler({ ...access, kernel })
export const server = createServer(ai.node)
voice.attach(server)

export const stop = async (): Promise<void> => {
  await Promise.all([ai.drain(), voice.drain()])
  server.close()
  await ai.dispose()
}
