/** A kernel that searches the web and makes pictures. The host provides the search engine and the provider of pictures. */
import { InMemory } from "@colloquy/adapters/in-memory"
import { Kernel, type Provider, Providers } from "@colloquy/core"
import { Images } from "@colloquy/core/media"
import { WebSearch, type WebSearchPort } from "@colloquy/core/web-search"
import * as Layer from "effect/Layer"

export const kernelWith = (provider: Provider, engine: WebSearchPort) =>
  Layer.mergeAll(Images.layer(), WebSearch.layer(engine)).pipe(
    Layer.provideMerge(Kernel.layer),
    Layer.provide([
      Providers.layer({ providers: [provider], defaults: { provider: provider.id, model: "gpt-5.1" } }),
      InMemory.layer
    ])
  )
