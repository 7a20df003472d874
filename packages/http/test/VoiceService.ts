/** The service with documents and voice for a test. Its model says what the last message of the user says. */
import { ScriptedModel } from "@colloquy/testing"
import type { InMemory } from "@colloquy/adapters/in-memory"
import { Kernel, type Provider, Providers } from "@colloquy/core"
import type { ChatEvent } from "@colloquy/core/adapters"
import { Documents, TextExtractor } from "@colloquy/core/documents"
import { Voice } from "@colloquy/core/voice"
import * as Layer from "effect/Layer"
import * as Stream from "effect/Stream"
import { readText } from "./DocumentService.ts"
import { serve, type Service } from "./Service.ts"

const parrot: Provider = {
  id: "parrot",
  chat: ({ messages }) => {
    const last = messages.at(-1)
    const [part] = last?.role === "user" ? last.content : []
    const text = part?.type === "text" ? part.text : ""
    return Stream.fromIterable<ChatEvent>([
      { _tag: "TextDelta", text },
      { _tag: "Finished", reason: "stop", model: null, providerData: null }
    ])
  }
}

export const openSpeaking = (stores: Layer.Layer<InMemory.Stores, unknown>, voice: Provider): Promise<Service> =>
  serve(
    Layer.mergeAll(Documents.layer(), Voice.layer()).pipe(
      Layer.provideMerge(Kernel.layer),
      Layer.provide(Layer.succeed(TextExtractor, { readable: ["txt"], extract: readText })),
      Layer.provideMerge(Providers.layer({ providers: [parrot, voice], defaults: { provider: "parrot", model: "p" } })),
      Layer.provideMerge(stores),
      Layer.merge(ScriptedModel.layer([])),
      Layer.fresh
    )
  )
