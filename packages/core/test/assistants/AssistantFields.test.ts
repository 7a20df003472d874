import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { embeddingFor } from "../../src/assistants/AssistantFields.ts"
import type { Assistant } from "../../src/assistants/Assistant.ts"
import type { Provider } from "../../src/models/Provider.ts"

const embedding = { embed: () => Effect.die("not asked"), maxTexts: 1, maxCharacters: 1 }
const lengths: Readonly<Record<string, number>> = { small: 8, large: 32 }
const first: Provider = {
  id: "first",
  embedding,
  defaultEmbedding: { model: "large", dimensions: 32 },
  describe: (model) => ({ embeddingDimensions: lengths[model] ?? null })
}
const second: Provider = { id: "second", embedding, defaultEmbedding: { model: "wide", dimensions: 64 } }

type Embedding = Assistant["embedding"]

const make = (provider: string | null, model: string | null, dimensions: number): Embedding => ({
  provider,
  model,
  dimensions
})
const none = make(null, null, 3072)
const ofHost = make("second", "own", 5)

const rows: ReadonlyArray<readonly [when: string, host: Embedding, asked: Partial<Embedding>, Embedding]> = [
  ["nothing is named", none, {}, make("first", "large", 32)],
  ["a length is named", none, { dimensions: 4 }, make("first", "large", 4)],
  ["a model is named", none, { model: "small" }, make("first", "small", 8)],
  ["a model and its length are named", none, { model: "small", dimensions: 4 }, make("first", "small", 4)],
  ["an unknown model is named", none, { provider: "first", model: "new" }, make("first", "new", 3072)],
  ["a provider is named", none, { provider: "second" }, make("second", "wide", 64)],
  ["the host has one", ofHost, {}, ofHost],
  ["the host has one, and its provider is named", ofHost, { provider: "second" }, ofHost],
  ["the host has one, and another model is named", ofHost, { model: "wide" }, make("second", "wide", 64)],
  ["the host has one, and another provider is named", ofHost, { provider: "first" }, make("first", "large", 32)]
]

describe("the embedding model of a new assistant", () => {
  it.each(rows)("is complete when %s", (_, host, asked, complete) => {
    assert.deepStrictEqual(embeddingFor(host, [first, second], asked), complete)
  })

  it("has no provider where nobody embeds", () => {
    assert.deepStrictEqual(embeddingFor(none, [], { model: "m" }), make(null, "m", 3072))
  })
})
