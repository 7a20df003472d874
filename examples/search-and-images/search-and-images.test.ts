/** The kernel of this folder unchanged, and the guides that show it. */
import { callTool, say, scripted } from "@colloquy/testing"
import { Principal, Turns } from "@colloquy/core"
import { noUsage } from "@colloquy/core/adapters"
import { mediaIn } from "@colloquy/core/media"
import { sourcesIn, type WebSearchPort } from "@colloquy/core/web-search"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { readFile } from "node:fs/promises"
import { draw } from "../../packages/server/src/demo/DemoPainter.ts"
import { kernelWith } from "./kernel.ts"

const engine: WebSearchPort = {
  id: "engine",
  priceUsd: 0,
  search: () =>
    Effect.succeed({
      results: [{ url: "https://foxes.example/", title: "Foxes", text: "They dig.", publishedAt: null }],
      costUsd: 0
    })
}

const painted = Effect.promise(() => draw("A fox"))

describe("the example of web search and pictures", () => {
  it("is what the guides show", async () => {
    const text = await readFile(new URL("kernel.ts", import.meta.url), "utf8")
    for (const name of ["media.md", "web-search.md"]) {
      const guide = await readFile(new URL(`../../docs/${name}`, import.meta.url), "utf8")
      assert.include(guide, text.slice(text.indexOf("*/\n") + 3).trim(), name)
    }
  })

  it.effect("searches and paints in one turn", () => {
    const steps = [
      callTool("web_search", { query: "foxes" }),
      callTool("generate_image", { prompt: "A fox" }),
      say("Here.")
    ]
    const provider = {
      ...scripted(steps, { id: "openai" }),
      image: { generate: () => Effect.map(painted, (fox) => ({ images: [fox], usage: noUsage, model: null })) }
    }
    return Effect.gen(function* () {
      const options = { search: { mode: "Auto" }, image: { provider: "openai", model: "gpt-image-1" } }
      const { supplements } = yield* (yield* Turns).send({ content: "Show me a fox.", options })
      assert.strictEqual(sourcesIn(supplements["search"])[0]?.title, "Foxes")
      assert.strictEqual(mediaIn(supplements["image"])[0]?.mimeType, "image/png")
    }).pipe(Principal.provide("ada"), Effect.provide(kernelWith(provider, engine)))
  })
})
