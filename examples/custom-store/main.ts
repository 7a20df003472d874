/**
 * A store of your own behind one port: the application already has a table of API keys, so only `KeyStore` is replaced, and the adapter
 * stores all other records. The comments of the port are the contract; the suite of `@colloquy/testing/contracts` checks it.
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
