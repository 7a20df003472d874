/** Servers at which each owner has an account: who grants access, whose tools are offered, and what becomes of tokens. */
import { Kernel, OwnerId, Principal } from "@colloquy/core"
import { ToolAccess } from "@colloquy/core/wings"
import { callTool, say, ScriptedModel, type ScriptStep } from "@colloquy/testing"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Queue from "effect/Queue"
import * as Redacted from "effect/Redacted"
import { TestClock } from "effect/testing"
import { InMemory } from "../../src/in-memory/index.ts"
import { Mcp } from "../../src/mcp/index.ts"
import { openAccountDesk } from "./AccountDesk.ts"
import { serve } from "./DeskServer.ts"
import { send, told } from "./ToolTurns.ts"

const desk = Effect.acquireRelease(
  Effect.promise(() => openAccountDesk()),
  (each) => Effect.promise(() => each[Symbol.asyncDispose]())
)

const kernel = (url: string, state: InMemory.State, script: ReadonlyArray<ScriptStep>) =>
  Mcp.layerForOwners([{ name: "notes", url, oauth: { redirectUrl: "https://host.example/back" } }], {
    secret: Redacted.make("a secret of the host")
  }).pipe(
    Layer.provideMerge(Kernel.layer),
    Layer.provideMerge(Layer.mergeAll(ScriptedModel.layer(script), InMemory.layerFrom(state)))
  )

const offered = Effect.map(ScriptedModel, (model) =>
  (model.requests.at(-1)?.tools ?? []).map(({ name }) => name).toSorted()
)

type Desk = Awaited<ReturnType<typeof openAccountDesk>>

const grant = Effect.fnUntraced(function* ({ agree }: Desk, account: string) {
  const { begin, finish } = yield* ToolAccess
  const { url } = yield* begin("notes")
  const back = yield* Effect.promise(() => agree(url, account))
  return { back, done: yield* finish(back, null) }
})

const granted = Effect.flatMap(ToolAccess, ({ list }) =>
  Effect.map(list, (all) => all.map(({ isGranted, server }) => [server, isGranted]))
)

const failure = <A, E extends { readonly message: string }, R>(effect: Effect.Effect<A, E, R>) =>
  Effect.map(Effect.flip(effect), ({ message }) => message)

describe("a server at which each owner has an account", () => {
  it.live("tells an owner without access so, and offers each owner the tools of their own account", () =>
    Effect.gen(function* () {
      const there = yield* desk
      const state = InMemory.makeState()
      const script = [
        callTool("notes_access", {}),
        say("Grant it."),
        callTool("notes_whoami", {}),
        say("Ada."),
        callTool("notes_whoami", {}),
        say("Bob.")
      ]
      yield* Effect.gen(function* () {
        yield* send
        assert.deepStrictEqual(yield* offered, ["notes_access"])
        assert.match((yield* told)[0] ?? "", /^Error: this user has not granted access to notes/u)
        assert.deepStrictEqual((yield* grant(there, "ada-desk")).done, { server: "notes" })
        yield* send
        assert.deepStrictEqual(yield* offered, ["notes_notes_of_ada-desk", "notes_whoami"])
        assert.strictEqual((yield* told).at(-1), "You are ada-desk.")
        assert.deepStrictEqual(yield* granted, [["notes", true]])
        yield* Effect.gen(function* () {
          assert.deepStrictEqual(yield* granted, [["notes", false]])
          yield* grant(there, "bob-desk")
          yield* send
          assert.deepStrictEqual(yield* offered, ["notes_notes_of_bob-desk", "notes_whoami"])
          assert.strictEqual((yield* told).at(-1), "You are bob-desk.")
        }).pipe(Principal.provide("bob"))
      }).pipe(Principal.provide("ada"), Effect.provide(kernel(there.url, state, script)))
      assert.deepStrictEqual([...state.sealedSecrets.keys()], ['["ada","mcp:notes"]', '["bob","mcp:notes"]'])
      const stored = [...state.sealedSecrets.values()].map((sealed) => Buffer.from(sealed).toString("latin1")).join()
      for (const token of there.tokens()) assert.notInclude(stored, token)
    }).pipe(Effect.scoped)
  )

  it.live("takes an answer of the browser once, and only of the owner who began", () =>
    Effect.gen(function* () {
      const there = yield* desk
      const stored = InMemory.makeState()
      yield* Effect.gen(function* () {
        const { begin, finish, forget, get } = yield* ToolAccess
        const first = yield* begin("notes", "a key")
        assert.deepStrictEqual(yield* begin("notes", "a key"), first)
        const { url } = yield* begin("notes", "another key")
        assert.notStrictEqual(url, first.url)
        assert.notInclude(url, "ada", "the server there does not learn who has begun")
        const old = yield* Effect.promise(() => there.agree(first.url, "ada-desk"))
        const back = yield* Effect.promise(() => there.agree(url, "ada-desk"))
        const refused = /not begun by this owner/u
        assert.match(yield* failure(finish(old, null)), refused, "another one was begun")
        assert.match(yield* failure(finish(back, OwnerId.make("bob"))), refused)
        for (const state of ["", "x", `x${back.state}`, back.state.slice(0, -4), "A".repeat(10_000)])
          assert.match(yield* failure(finish({ ...back, state }, null)), refused)
        const both = yield* Effect.all([finish(back, OwnerId.make("ada")), finish(back, null)].map(Effect.result), {
          concurrency: "unbounded"
        })
        assert.deepStrictEqual(both.map(({ _tag }) => _tag).toSorted(), ["Failure", "Success"], "once")
        assert.match(yield* failure(finish(back, null)), refused)
        assert.deepInclude(yield* get("notes"), { isGranted: true, isRenewed: true })
        assert.match(yield* failure(begin("other")), /There is no server other/u)
        const again = yield* begin("notes")
        assert.match(new URL(again.url).searchParams.get("code_challenge") ?? "", /^[\w-]{43}$/u)
        const state = new URL(again.url).searchParams.get("state") ?? ""
        assert.match(yield* failure(finish({ state, code: "wrong" }, null)), /^The authorization at notes failed/u)
        assert.deepStrictEqual(yield* granted, [["notes", true]])
        assert.isTrue(yield* forget("notes"))
        assert.isFalse(yield* forget("notes"))
        assert.deepStrictEqual(yield* granted, [["notes", false]])
      }).pipe(Principal.provide("ada"), Effect.provide(kernel(there.url, stored, [])))
    }).pipe(Effect.scoped)
  )

  it.live("refreshes tokens that have expired, in whatever process, and tells what to do when that ends too", () =>
    Effect.gen(function* () {
      const there = yield* desk
      const state = InMemory.makeState()
      const first = [callTool("notes_whoami", {}), say("Ada."), callTool("notes_whoami", {}), say("Still.")]
      yield* Effect.gen(function* () {
        yield* grant(there, "ada-desk")
        yield* send
        there.expire()
        yield* send
        assert.strictEqual((yield* told).at(-1), "You are ada-desk.")
        assert.strictEqual(there.seen.refreshed, 1)
      }).pipe(Principal.provide("ada"), Effect.provide(kernel(there.url, state, first)))

      there.expire()
      const second = [
        callTool("notes_whoami", {}),
        say("Ada."),
        callTool("notes_whoami", {}),
        say("Sorry."),
        say("No.")
      ]
      yield* Effect.gen(function* () {
        yield* send
        assert.strictEqual((yield* told).at(-1), "You are ada-desk.")
        there.revoke()
        yield* send
        assert.match((yield* told).at(-1) ?? "", /^Error: .*notes.*granted again/u)
        yield* send
        assert.deepStrictEqual(yield* offered, ["notes_access"])
      }).pipe(Principal.provide("ada"), Effect.provide(kernel(there.url, state, second)))
    }).pipe(Effect.scoped)
  )

  it.effect("that never answers does not hold an authorization for longer than half a minute", () =>
    Effect.gen(function* () {
      const asked = yield* Queue.unbounded<string>()
      const silent = yield* Effect.acquireRelease(
        Effect.promise(() =>
          serve((request) => {
            Queue.offerUnsafe(asked, new URL(request.url).pathname)
            return new Promise<never>(() => {})
          })
        ),
        ({ stop }) => Effect.promise(stop)
      )
      yield* Effect.gen(function* () {
        const { begin } = yield* ToolAccess
        const begun = yield* Effect.forkChild(failure(begin("notes")))
        assert.strictEqual(yield* Queue.take(asked), "/mcp")
        yield* TestClock.adjust("5 seconds")
        assert.match(yield* Queue.take(asked), /^\/\.well-known\//u)
        yield* TestClock.adjust("20 seconds")
        assert.strictEqual(yield* Fiber.join(begun), "The authorization at notes takes too long.")
      }).pipe(Principal.provide("ada"), Effect.provide(kernel(`${silent.url}/mcp`, InMemory.makeState(), [])))
    }).pipe(Effect.scoped)
  )
})
