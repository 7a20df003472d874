/** Which failures of a statement a caller may repeat. */
import { StoreUnavailable } from "@colloquy/core"
import { assert, it } from "@effect/vitest"
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import { SqlError, UnknownError } from "effect/sql/SqlError"
import { guard } from "../../src/postgres/StoreFault.ts"

const failing = (message: string, code: string) => {
  const cause = Object.assign(new Error(message), { code })
  return guard("RunStore.settle")<never, never, never>(
    Effect.fail(new SqlError({ reason: new UnknownError({ cause, operation: "query" }) }))
  )
}

it.effect("a statement that was planned for a shard that has gone since may be repeated", () =>
  Effect.gen(function* () {
    const fault = yield* Effect.flip(failing("could not find valid entry for shard 129256", "XX000"))
    assert.instanceOf(fault, StoreUnavailable)
    assert.strictEqual(fault.operation, "RunStore.settle")
  })
)

it.effect("another internal error of the server is a defect", () =>
  Effect.gen(function* () {
    const exit = yield* Effect.exit(failing("cache lookup failed for shard 129256", "XX000"))
    assert.isTrue(Exit.isFailure(exit) && Cause.hasDies(exit.cause))
  })
)
