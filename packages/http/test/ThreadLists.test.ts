/** Lists of threads are made four at a time, and their owners take turns. */
import { Principal } from "@colloquy/core"
import { assert, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Queue from "effect/Queue"
import { ThreadLists } from "../src/handlers/ThreadLists.ts"

it.effect("of an owner with many lists four are made at once, and another owner's is next", () =>
  Effect.gen(function* () {
    const lists = yield* ThreadLists
    const begun = yield* Queue.unbounded<string>()
    const ended = yield* Queue.unbounded<void>()
    const list = (owner: string) =>
      lists
        .inTurn(Effect.andThen(Queue.offer(begun, owner), Queue.take(ended)))
        .pipe(Principal.provide(owner), Effect.forkChild({ startImmediately: true }))
    for (let each = 0; each < 20; each++) yield* list("ada")
    yield* list("bob")
    assert.deepStrictEqual(yield* Queue.takeAll(begun), ["ada", "ada", "ada", "ada"])
    for (const _ of [1, 2]) yield* Queue.offer(ended, undefined)
    assert.sameMembers(yield* Queue.takeN(begun, 2), ["ada", "bob"])
    assert.strictEqual(yield* Queue.size(begun), 0)
  }).pipe(Effect.provide(ThreadLists.layer))
)
