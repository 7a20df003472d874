/** Every embedding provider with a server of ours behind it, as the contract of embedding drivers wants it. */
import type { Provider } from "@colloquy/core"
import type { EmbeddingDriver } from "@colloquy/core/adapters"
import type { EmbeddingSuiteOptions, EmbeddingVendor } from "@colloquy/testing/contracts"
import { assert } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Redacted from "effect/Redacted"
import { base64 } from "../../src/protocols/Wire.ts"
import * as Cohere from "../../src/providers/Cohere.ts"
import * as Gemini from "../../src/providers/Gemini.ts"
import * as OpenAi from "../../src/providers/OpenAi.ts"
import * as OpenAiCompatible from "../../src/providers/OpenAiCompatible.ts"
import * as OpenRouter from "../../src/providers/OpenRouter.ts"
import * as Voyage from "../../src/providers/Voyage.ts"
import * as FakeVendor from "./FakeVendor.ts"

export interface Vendor {
  readonly name: string
  readonly provider: (server: string, limits?: { readonly maxTexts: number }) => Provider
  readonly path: string
  readonly keyHeader: string
  /** The answer with these vectors; the tokens are left out when they are null. */
  readonly answer: (vectors: ReadonlyArray<unknown>, tokens: number | null) => unknown
  readonly refusal: (sentence: string, status: number) => unknown
  readonly cannot?: EmbeddingSuiteOptions["cannot"]
}

const apiKey = Redacted.make("sk-of-the-host")
const bearer = "authorization"
const models = { "model-1": { embeddingDimensions: 4 } }

/** Backwards, because only the index counts. */
const indexed = (vectors: ReadonlyArray<unknown>) =>
  vectors.map((embedding, index) => ({ object: "embedding", index, embedding })).toReversed()

const inBase64 = (vector: unknown): unknown =>
  Array.isArray(vector) && vector.every((each) => typeof each === "number")
    ? base64(new Uint8Array(Float32Array.from(vector).buffer))
    : vector

const googleWords: { readonly [status: number]: string } = {
  400: "INVALID_ARGUMENT",
  401: "UNAUTHENTICATED",
  404: "NOT_FOUND",
  422: "INVALID_ARGUMENT",
  429: "RESOURCE_EXHAUSTED",
  503: "UNAVAILABLE"
}

const noPurpose = "the wire of OpenAI has no purpose"

export const vendors: ReadonlyArray<Vendor> = [
  {
    name: "OpenAI",
    provider: (server, limits) =>
      OpenAi.provider({ baseUrl: `${server}/v1`, apiKey, models, ...(limits && { limits }) }),
    path: "/v1/embeddings",
    keyHeader: bearer,
    answer: (vectors, tokens) => ({
      object: "list",
      data: indexed(vectors.map(inBase64)),
      model: "model-1",
      ...(tokens === null ? {} : { usage: { prompt_tokens: tokens, total_tokens: tokens } })
    }),
    refusal: (message) => ({ error: { message, type: "invalid_request_error", code: null, param: null } }),
    cannot: { purpose: noPurpose }
  },
  {
    name: "a local server",
    provider: (server, limits = { maxTexts: 10 }) =>
      OpenAiCompatible.provider({
        ...OpenAiCompatible.vLlm,
        baseUrl: `${server}/v1`,
        apiKey,
        embeddings: { limits: { ...limits, maxCharacters: 1000 } }
      }),
    path: "/v1/embeddings",
    keyHeader: bearer,
    answer: (vectors, tokens) => ({
      data: indexed(vectors),
      ...(tokens === null ? {} : { usage: { prompt_tokens: tokens } })
    }),
    refusal: (message) => ({ object: "error", message, code: 400 }),
    cannot: { purpose: noPurpose, dimensions: "many servers refuse the field, so it is not sent" }
  },
  {
    name: "the router",
    provider: (server, limits) =>
      OpenRouter.provider({ baseUrl: `${server}/v1`, apiKey, models, ...(limits && { limits }) }),
    path: "/v1/embeddings",
    keyHeader: bearer,
    answer: (vectors, tokens) => ({
      data: indexed(vectors),
      ...(tokens === null ? {} : { usage: { prompt_tokens: tokens, total_tokens: tokens, cost: 0.5 } })
    }),
    refusal: (message, code) => ({ error: { code, message } }),
    cannot: { purpose: noPurpose }
  },
  {
    name: "Voyage",
    provider: (server, limits) =>
      Voyage.provider({ baseUrl: `${server}/v1`, apiKey, models, ...(limits && { limits }) }),
    path: "/v1/embeddings",
    keyHeader: bearer,
    answer: (vectors, tokens) => ({
      object: "list",
      data: indexed(vectors),
      model: "model-1",
      ...(tokens === null ? {} : { usage: { total_tokens: tokens } })
    }),
    refusal: (detail) => ({ detail })
  },
  {
    name: "Cohere",
    provider: (server, limits) => Cohere.provider({ baseUrl: server, apiKey, models, ...(limits && { limits }) }),
    path: "/v2/embed",
    keyHeader: bearer,
    answer: (vectors, tokens) => ({
      id: "e",
      embeddings: { float: vectors },
      texts: [],
      meta: { api_version: { version: "2" }, ...(tokens === null ? {} : { billed_units: { input_tokens: tokens } }) }
    }),
    refusal: (message) => ({ id: "e", message })
  },
  {
    name: "Gemini",
    provider: (server, limits) =>
      Gemini.provider({ baseUrl: `${server}/v1beta`, apiKey, models, ...(limits && { limits }) }),
    path: "/v1beta/models/model-1:batchEmbedContents",
    keyHeader: "x-goog-api-key",
    answer: (vectors, tokens) => ({
      embeddings: vectors.map((values) => ({ values })),
      ...(tokens === null ? {} : { usageMetadata: { promptTokenCount: tokens } })
    }),
    refusal: (message, code) => ({ error: { code, message, status: googleWords[code] } })
  }
]

export const embeddingDriver = (provider: Provider): EmbeddingDriver =>
  provider.embedding ?? assert.fail("no embeddings")

export const embeddingVendor = (vendor: Vendor) =>
  Effect.map(FakeVendor.make, (fake): EmbeddingVendor => {
    const script = (reply: FakeVendor.Reply) => fake.script(vendor.path, reply)
    return {
      driver: embeddingDriver(vendor.provider(fake.baseUrl)),
      model: "model-1",
      gives: (vectors, tokens) => script(FakeVendor.json(vendor.answer(vectors, tokens))),
      wire: {
        refuses: (status, headers, words) => script(FakeVendor.json(vendor.refusal(words, status), status, headers)),
        sends: (text) => script(FakeVendor.json(text)),
        keys: () => fake.requests.map(({ headers }) => String(headers[vendor.keyHeader]))
      },
      hangs: () => {
        script({ body: [new FakeVendor.Gate()] })
        return FakeVendor.firstRequest(fake)
      },
      seen: () => fake.requests.map(({ body, path }) => ({ path, body }))
    }
  })
