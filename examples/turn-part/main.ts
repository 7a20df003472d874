/** A guardrail joins every turn: the first message reaches the model, the second one does not. */
import { InMemory } from "@colloquy/adapters/in-memory"
import { say, ScriptedModel } from "@colloquy/testing"
import { Kernel, Principal, Turns } from "@colloquy/core"
import * as Console from "effect/Console"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { guardrailLayer } from "./Guardrail.ts"

const audited = Deferred.makeUnsafe<void>()
const guardrail = guardrailLayer((_, reason) =>
  Effect.andThen(Console.log(`Audit: stopped because of ${reason}.`), Deferred.succeed(audited, undefined))
)
const kernel = guardrail.pipe(
  Layer.provideMerge(Kernel.layer),
  Layer.provide([ScriptedModel.layer([say("Hello!")]), InMemory.layer])
)

const conversation = Effect.gen(function* () {
  const turns = yield* Turns
  for (const content of ["Hi", "Charge 4111 1111 1111 1111"]) {
    const reply = yield* turns.send({ content })
    yield* Console.log(reply.model, reply.content)
  }
  // The audit is a follow-up, so it comes after the reply.
  yield* Deferred.await(audited)
})

await Effect.runPromise(conversation.pipe(Principal.provide("ada"), Effect.provide(kernel)))
