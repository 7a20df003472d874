/** The erasure of an owner, for the contracts of the stores whose rows it deletes. */
import { ErasureId, newId, OwnerStore } from "@colloquy/core/adapters"
import * as Effect from "effect/Effect"
import { moment } from "./Samples.ts"

/** Deletes all rows of the principal. Its erasure goes on. */
export const eraseEverything = Effect.gen(function* () {
  const store = yield* OwnerStore
  yield* store.beginErasure(yield* newId(ErasureId), moment(2))
  while ((yield* store.eraseSome(10, "none")) > 0) continue
})
