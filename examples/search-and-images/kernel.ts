/** A kernel that searches the web and makes pictures. The host provides the search engine and the provider of pictures. */
import { InMemory } from "@colloquy/adapters/in-memory"
import { Kernel, type Provider, Providers } from "@colloquy/core"
import { imagePart } from "@colloquy/core/media"
import { searchPart, WebSearch, type WebSearchPort } from "@colloquy/core/web-search"
import * as Layer from "effect/Layer"

export const kernelOf = (provider: Provider, engine: WebSearchPort) =>
  Layer.mergeAll(imagePart, searchPart).pipe(
    Layer.provideMerge(Kernel.layer),
    Layer.provide([
      Layer.succeed(WebSearch, engine),
      Providers.layer({ providers: [provider], defaults: { provider: provider.id, model: "gpt-5.1" } }),
      InMemory.layer
    ])
  )
