/** Servers at which each owner has an account: who grants access, whose tools are offered, and what becomes of tokens. */
import { Kernel, Principal } from "@colloquy/core"
import { callTool, say, ScriptedModel, type ScriptStep } from "@colloquy/testing"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type * as Redacted from "effect/Redacted"
import { InMemory } from "../../src/in-memory/index.ts"
import { Mcp } from "../../src/mcp/index.ts"
import { openAccountDesk } from "./AccountDesk.ts"
import { send, told } from "./ToolTurns.ts"

const desk = Effect.acquireRelease(
  Effect.promise(() => openAccountDesk()),
  (each) => Effect.promise(() => each[Symbol.asyncDispose]())
)

/** Each secret under its owner and name. */
const makeSecrets = () => {
  const kept = new Map<string, Redacted.Redacted<string>>()
  const place = (name: string) => Principal.useSync(({ ownerId }) => `${ownerId} ${name}`)
  const store: Mcp.SecretStore = {
    find: (name) => Effect.map(place(name), (key) => kept.get(key) ?? null),
    put: (name, secret) => Effect.map(place(name), (key) => void kept.set(key, secret)),
    remove: (name) => Effect.map(place(name), (key) => kept.delete(key))
  }
  return { kept, store }
}

const kernel = (url: string, store: Mcp.SecretStore, script: ReadonlyArray<ScriptStep>) =>
  Mcp.layerForOwners([{ name: "notes", url, oauth: { redirectUrl: "https://host.example/back" } }], {
    tokens: store
  }).pipe(
    Layer.provideMerge(Kernel.layer),
    Layer.provideMerge(Layer.mergeAll(ScriptedModel.layer(script), InMemory.layer))
  )

const offered = Effect.map(ScriptedModel, (model) =>
  (model.requests.at(-1)?.tools ?? []).map(({ name }) => name).toSorted()
)

type Desk = Awaited<ReturnType<typeof openAccountDesk>>

const grant = Effect.fnUntraced(function* ({ agree }: Desk, account: string) {
  const authorizations = yield* Mcp.McpAuthorizations
  const { url } = yield* authorizations.begin("notes")
  const back = yield* Effect.promise(() => agree(url, account))
  return { back, done: yield* authorizations.finish(back) }
})

const failure = <A, E extends { readonly message: string }, R>(effect: Effect.Effect<A, E, R>) =>
  Effect.map(Effect.flip(effect), ({ message }) => message)

describe("a server at which each owner has an account", () => {
  it.live("tells an owner without access so, and offers each owner the tools of their own account", () =>
    Effect.gen(function* () {
      const there = yield* desk
      const { kept, store } = makeSecrets()
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
        assert.deepStrictEqual(yield* Effect.flatMap(Mcp.McpAuthorizations, ({ list }) => list), [
          { server: "notes", isGranted: true }
        ])
        yield* Effect.gen(function* () {
          assert.deepStrictEqual(yield* Effect.flatMap(Mcp.McpAuthorizations, ({ list }) => list), [
            { server: "notes", isGranted: false }
          ])
          yield* grant(there, "bob-desk")
          yield* send
          assert.deepStrictEqual(yield* offered, ["notes_notes_of_bob-desk", "notes_whoami"])
          assert.strictEqual((yield* told).at(-1), "You are bob-desk.")
        }).pipe(Principal.provide("bob"))
      }).pipe(Principal.provide("ada"), Effect.provide(kernel(there.url, store, script)))
      assert.deepStrictEqual([...kept.keys()], ["ada mcp:notes", "bob mcp:notes"])
    }).pipe(Effect.scoped)
  )

  it.live("takes an answer of the browser once, and only of the owner who began", () =>
    Effect.gen(function* () {
      const there = yield* desk
      const { store } = makeSecrets()
      yield* Effect.gen(function* () {
        const { begin, finish, forget, list } = yield* Mcp.McpAuthorizations
        const { url } = yield* begin("notes")
        const back = yield* Effect.promise(() => there.agree(url, "ada-desk"))
        const refused = /not begun by this owner/u
        assert.match(yield* failure(finish(back).pipe(Principal.provide("bob"))), refused)
        assert.match(yield* failure(finish({ ...back, state: `x${back.state}` })), refused)
        assert.deepStrictEqual(yield* finish(back), { server: "notes" })
        assert.match(yield* failure(finish(back)), refused)
        assert.match(yield* failure(begin("other")), /There is no server other/u)
        const again = yield* begin("notes")
        assert.match(new URL(again.url).searchParams.get("code_challenge") ?? "", /^[\w-]{43}$/u)
        const state = new URL(again.url).searchParams.get("state") ?? ""
        assert.match(yield* failure(finish({ state, code: "wrong" })), /^The authorization at notes failed/u)
        assert.deepStrictEqual(yield* list, [{ server: "notes", isGranted: true }])
        assert.isTrue(yield* forget("notes"))
        assert.isFalse(yield* forget("notes"))
        assert.deepStrictEqual(yield* list, [{ server: "notes", isGranted: false }])
      }).pipe(Principal.provide("ada"), Effect.provide(kernel(there.url, store, [])))
    }).pipe(Effect.scoped)
  )

  it.live("refreshes tokens that have expired, in whatever process, and tells what to do when that ends too", () =>
    Effect.gen(function* () {
      const there = yield* desk
      const { store } = makeSecrets()
      const first = [callTool("notes_whoami", {}), say("Ada."), callTool("notes_whoami", {}), say("Still.")]
      yield* Effect.gen(function* () {
        yield* grant(there, "ada-desk")
        yield* send
        there.expire()
        yield* send
        assert.strictEqual((yield* told).at(-1), "You are ada-desk.")
        assert.strictEqual(there.seen.refreshed, 1)
      }).pipe(Principal.provide("ada"), Effect.provide(kernel(there.url, store, first)))

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
      }).pipe(Principal.provide("ada"), Effect.provide(kernel(there.url, store, second)))
    }).pipe(Effect.scoped)
  )
})
