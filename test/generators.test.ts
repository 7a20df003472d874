/**
 * A generator function, or a class, that is made anew in each call keeps all that the call knows in memory until the next full garbage collection
 * (docs/decisions/0087-generators-are-made-once.md). So it is made where a module is loaded or a layer is built: `Effect.fnUntraced`.
 */
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { assert, describe, it } from "@effect/vitest"
import { madeInCalls } from "./rules/MadeInCalls.ts"
import { root, sourceFiles } from "./rules/SourceFile.ts"

const allowed: Readonly<Record<string, string>> = {
  "adapters/src/postgres/Citus.ts": "distributes tables when a database is opened",
  "adapters/src/postgres/Migrations.ts": "migrates when a database is opened",
  "adapters/src/postgres/OwnerMove.ts": "moves an owner, which takes a transaction at least",
  "adapters/src/postgres/Postgres.ts": "reads the signing key when a server starts",
  "adapters/src/postgres/Presence.ts": "one look, which is repeated, for each database",
  "adapters/src/voice-parts/Fallback.ts": "connects a voice session anew, at most once in its life",
  "core/src/promises/PlainPart.ts": "a host makes its part once",
  "core/src/retention/Retention.ts": "runs some times a day",
  "core/src/runs/Inbox.ts": "two for a follower of a list, which stays for long",
  "core/src/turns/AnswerCalls.ts": "only in a turn with approved calls",
  "core/src/turns/AnswerReview.ts": "only where a part reviews answers: its steps belong to the review",
  "core/src/turns/ChildLegs.ts": "only in a turn that waited for helpers",
  "core/src/turns/Decisions.ts": "only where calls of helpers were decided",
  "core/src/turns/Followers.ts": "one for a follower that reads from the store",
  "core/src/turns/HostedCalls.ts": "only for a call that may need an approval",
  "core/src/turns/LiveTurns.ts": "called by a turn that begins a helper or is handed over",
  "core/src/turns/QueueTurn.ts": "only for a turn that waits for another one",
  "core/src/turns/Rewriting.ts": "only where a part rewrites messages",
  "http/src/ai-sdk/ColloquyTransport.ts": "runs in the client, once for an answer that is shown",
  "http/src/docs-page/DocsPage.ts": "a host makes the page once",
  "http/src/openai/Guarded.ts": "is called once for each endpoint, when the routes are built"
}

describe("generator functions and classes", () => {
  it.each([
    "const f = (a) => Effect.gen(function* () { yield* g(a) })",
    "const l = Layer.effect(S, Effect.gen(function* () { return { f: (a) => Effect.gen(function* () { yield* g(a) }) } }))",
    "const f = Effect.fnUntraced(function* (a) { yield* Effect.forEach(a, Effect.fnUntraced(function* (b) { yield* g(b) })) })",
    "const f = (a) => { class Of { b = a }; return new Of() }"
  ])("are found where a call makes them: %s", (source) => {
    assert.deepStrictEqual(madeInCalls(source), [1])
  })

  it.each([
    "const f = Effect.fnUntraced(function* (a) { yield* g(a) })",
    "const l = (o) => Layer.effect(S, Effect.gen(function* () { return { f: Effect.fnUntraced(function* (a) { yield* g(a, o) }) } }))",
    "const makeF = (o) => Effect.gen(function* () { return Effect.fnUntraced(function* (a) { yield* g(a, o) }) })",
    "const store = (o): typeof Store.Service => ({ f: Effect.fnUntraced(function* (a) { yield* g(a, o) }) })"
  ])("may be made once: %s", (source) => {
    assert.deepStrictEqual(madeInCalls(source), [])
  })

  it("are made by no call, or are listed with the reason", () => {
    const files = ["adapters", "core", "http", "ws"].flatMap((name) => sourceFiles(`packages/${name}/src`))
    assert.isAbove(files.length, 500)
    const found = files.flatMap((path) => {
      const source = readFileSync(join(root, path), "utf8")
      const lines = /function\*|class\b/u.test(source) ? madeInCalls(source) : []
      return lines.map((line) => `${path.replace("packages/", "")}:${line}`)
    })
    const listed = Object.keys(allowed)
    const unlisted = found.filter((place) => !listed.some((path) => place.startsWith(path)))
    assert.deepStrictEqual(unlisted, [])
    const idle = Object.keys(allowed).filter((path) => !found.some((place) => place.startsWith(path)))
    assert.deepStrictEqual(idle, [], "these are listed and make none")
  }, 60_000)
})
