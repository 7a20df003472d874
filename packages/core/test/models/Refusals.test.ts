/** What a vendor refused with 4xx costs nothing, whatever reason its words give: a conversation, a picture, a clip, vectors, speech. */
import { type Charge, Principal } from "@colloquy/core"
import { ModelError, ModelErrorReason } from "@colloquy/core/adapters"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { embedPaid } from "../../src/models/EmbeddingModel.ts"
import { isRefusedRequest } from "../../src/models/ModelError.ts"
import { mayHaveBeenOrdered } from "../../src/models/VideoModel.ts"

const target = { provider: "vendor", model: "model", dimensions: null }
const modelError = (status: number, reason: ModelErrorReason) => new ModelError({ ...target, status, reason })
const statuses = Array.from({ length: 100 }, (_, index) => 400 + index).filter((status) => status !== 408)

describe("a request that was answered by 4xx", () => {
  it("was refused, whatever its reason is said to be", () => {
    for (const reason of ModelErrorReason.literals) {
      for (const status of statuses) {
        assert.isTrue(isRefusedRequest(modelError(status, reason)), `${status} ${reason}`)
        assert.isFalse(mayHaveBeenOrdered(modelError(status, reason)), `${status} ${reason}`)
      }
      for (const status of [200, 408, 500, 503, 529]) assert.isFalse(isRefusedRequest(modelError(status, reason)))
    }
    for (const status of [408, 500, 503]) assert.isTrue(mayHaveBeenOrdered(modelError(status, "unknown")))
  })

  it.effect("is charged with nothing for vectors", () =>
    Effect.gen(function* () {
      const charged: Array<ReadonlyArray<Charge>> = []
      const begin = () =>
        Effect.succeed((charges: ReadonlyArray<Charge>) => Effect.sync(() => void charged.push(charges)))
      for (const status of [400, 409, 418, 429]) {
        const embed = () => Effect.fail(modelError(status, "unknown"))
        yield* Effect.flip(embedPaid({ embed }, begin, target, ["text"], "document"))
      }
      assert.deepStrictEqual(charged, [[], [], [], []])
    }).pipe(Principal.provide("ada"))
  )
})
