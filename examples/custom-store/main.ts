/**
 * A store of one's own behind one port: the application has a table of API keys already, so only `KeyStore` is replaced and every other
 * record stays where the adapter keeps it. The port's comments are the contract; the suite of `@colloquy/core/contracts` checks it.
 */
import { InMemory } from "@colloquy/adapters/in-memory"
import { Keys, Principal } from "@colloquy/core"
import * as Console from "effect/Console"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { applicationKeys } from "./ApplicationKeys.ts"

export const stores = Layer.merge(InMemory.layer, applicationKeys(new Map()))

const keys = Keys.layer.pipe(Layer.provide(stores))

const program = Effect.gen(function* () {
  const { authenticate, make } = yield* Keys
  const { key } = yield* make("laptop")
  const principal = yield* authenticate(key)
  yield* Console.log(`The key belongs to ${principal.ownerId}.`)
})

await Effect.runPromise(program.pipe(Principal.provide("ada"), Effect.provide(keys)))
