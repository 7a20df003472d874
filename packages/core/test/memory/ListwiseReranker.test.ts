// A conversation model that ranks keeps the contract of rerankers.
import { describeModel } from "@colloquy/core/adapters"
import { fail, gate, hang, make, say } from "@colloquy/testing"
import { rerankerSuite, type RerankVendor } from "@colloquy/testing/contracts"
import { assert } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { listwise } from "../../src/retrieval/Reranker.ts"

const info = describeModel({ name: "scripted-model", provider: "scripted", modelType: "llm" })
const target = { provider: "scripted", model: "scripted-model", info, apiKey: null, conversationId: "c" }

const listing = Effect.map(make([]), (model): RerankVendor => ({
  port: listwise(model.provider.chat ?? assert.fail("no chat"), target, {
    retries: 0,
    longestRetryPause: 0,
    timeout: "1 minute"
  }),
  ranks: (places) => model.append(say(JSON.stringify(places.map(({ index }) => index + 1)))),
  refusesKey: () => model.append(fail("auth")),
  sends: (text) => model.append(say(text)),
  hangs: () => {
    model.append([gate(), hang])
    Effect.runSync(model.release())
    return { asked: model.reached(), left: Effect.sync(() => assert.strictEqual(model.interrupted(), 1)) }
  },
  requests: () => model.requests.length,
  seen: () => model.requests
}))

rerankerSuite("a model that lists", listing, { scores: false })
