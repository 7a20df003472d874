/** Requests that begin no run, and whose idempotency key is stored with their answer: the first answer to a key is given again. */
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import type { Principal } from "../access/Principal.ts"
import type { StoreUnavailable } from "../primitives/StoreUnavailable.ts"
import type { AnsweredOnce } from "./Branches.ts"
import type { IdempotencyKey } from "./Idempotency.ts"
import type { RunStore } from "./RunStore.ts"

/** The idempotency key was used before, for another request. */
export class IdempotencyConflict extends Schema.TaggedError<IdempotencyConflict>()("IdempotencyConflict", {}) {
  override get message() {
    return "This idempotency key was used for another request. Use a new key for a new request."
  }
}

/** The first answer to the key; undefined: there is none. */
export const answeredBefore = Effect.fnUntraced(function* <A>(
  runs: Pick<typeof RunStore.Service, "findAnswered">,
  key: IdempotencyKey | undefined,
  read: (json: unknown) => Option.Option<A>
): Effect.fn.Return<A | undefined, IdempotencyConflict | StoreUnavailable, Principal> {
  if (key === undefined) return undefined
  const found = Option.getOrUndefined(yield* runs.findAnswered(key.key))
  if (found === undefined) return undefined
  const answer = found.fingerprint === key.fingerprint ? read(found.answer) : Option.none()
  return Option.isSome(answer) ? answer.value : yield* new IdempotencyConflict()
})

/** The first answer to the key, after a store has found that there is one. Without an answer it is that of another request. */
export const firstAnswer = <A>(...asked: Parameters<typeof answeredBefore<A>>) =>
  Effect.flatMap(answeredBefore(...asked), (answer) =>
    answer === undefined ? Effect.fail(new IdempotencyConflict()) : Effect.succeed(answer)
  )

/** What a store keeps with the work of the request. */
export const keptAnswer = (key: IdempotencyKey | undefined, answer: Schema.Json): AnsweredOnce | null =>
  key === undefined ? null : { key: key.key, fingerprint: key.fingerprint, answer }
