import { callTool, say, TestKernel } from "@colloquy/testing"
import { Assistants, AssistantId, KeyId, Keys, Principal, RunId, ThreadId, Threads, Turns } from "@colloquy/core"
import { firstPage, newId, RunStore, UsageLedger } from "@colloquy/core/adapters"
import { assert, describe, it } from "@effect/vitest"
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import { quiet, type Services, weather } from "./support/Story.ts"

/** What a tenant owns: ids of everything that a use case takes. */
interface Property {
  readonly assistantId: AssistantId
  readonly threadId: ThreadId
  readonly runId: RunId
  readonly waitingThread: ThreadId
  readonly waitingRun: RunId
  readonly keyId: KeyId
}

const ownerSecret = (owner: string) => `secret of ${owner}`

const settle = (owner: string) =>
  Effect.gen(function* () {
    const turns = yield* Turns
    const { id } = yield* (yield* Assistants).create({ name: ownerSecret(owner) })
    const answered = yield* turns.send({
      content: ownerSecret(owner),
      assistantId: id,
      idempotency: { key: "k", fingerprint: owner }
    })
    const asked = yield* turns.send({ content: ownerSecret(owner), assistantId: id, tools: [weather] })
    const { summary } = yield* (yield* Keys).make(ownerSecret(owner))
    const property: Property = {
      assistantId: id,
      threadId: answered.threadId,
      runId: answered.runId,
      waitingThread: asked.threadId,
      waitingRun: asked.runId,
      keyId: summary.id
    }
    return property
  })

const nobodys = Effect.gen(function* () {
  const property: Property = {
    assistantId: yield* newId(AssistantId),
    threadId: yield* newId(ThreadId),
    runId: yield* newId(RunId),
    waitingThread: yield* newId(ThreadId),
    waitingRun: yield* newId(RunId),
    keyId: yield* newId(KeyId)
  }
  return property
})

type UseCase = (of: Property, own: Property) => Effect.Effect<unknown, unknown, Services | Principal>

const outputs = [{ toolCallId: "call", output: "mine now" }]

/** Every use case that takes an id, with the ids of somebody else, alone and mixed with one's own. */
const useCases: Readonly<Record<string, UseCase>> = {
  "assistants.get": (of) => Assistants.use((use) => use.get(of.assistantId)),
  "assistants.update": (of) => Assistants.use((use) => use.update(of.assistantId, { name: "mine now" })),
  "assistants.update embedding": (of) =>
    Assistants.use((use) => use.update(of.assistantId, { embedding: { model: "m" } })),
  "assistants.clone": (of) => Assistants.use((use) => use.clone(of.assistantId, {})),
  "assistants.remove": (of) => Assistants.use((use) => use.remove(of.assistantId)),
  "assistants.createThread": (of) => Assistants.use((use) => use.createThread(of.assistantId, null)),
  "threads.create": (of) => Threads.use((use) => use.create(of.assistantId, null)),
  "threads.get": (of) => Threads.use((use) => use.get(of.threadId)),
  "threads.list of assistant": (of) =>
    Threads.use((use) => use.list({ page: firstPage, assistantId: of.assistantId, includeMessages: true })),
  "threads.remove": (of) => Threads.use((use) => use.remove(of.threadId)),
  "turns.start on thread": (of) => Turns.use((use) => use.start({ content: "Hi", threadId: of.threadId })),
  "turns.start with interrupt": (of) =>
    Turns.use((use) => use.start({ content: "Hi", threadId: of.waitingThread, busy: "interrupt" })),
  "turns.save": (of) => Turns.use((use) => use.send({ content: "Hi", threadId: of.threadId, sendToModel: false })),
  "turns.start under assistant": (of) => Turns.use((use) => use.send({ content: "Hi", assistantId: of.assistantId })),
  "turns.submit by run": (of) =>
    Turns.use((use) => use.submitToolOutputs({ threadId: of.waitingThread, runId: of.waitingRun, outputs })),
  "turns.submit by run on own thread": (of, own) =>
    Turns.use((use) => use.submitToolOutputs({ threadId: own.waitingThread, runId: of.waitingRun, outputs })),
  "turns.submit by latest": (of) => Turns.use((use) => use.submitToolOutputs({ threadId: of.waitingThread, outputs })),
  "turns.cancel": (of) => Turns.use((use) => use.cancel(of.threadId, of.runId)),
  "turns.cancel waiting": (of) => Turns.use((use) => use.cancel(of.waitingThread, of.waitingRun)),
  "turns.cancel on own thread": (of, own) => Turns.use((use) => use.cancel(own.threadId, of.runId)),
  "turns.follow": (of) => Turns.use((use) => Effect.flatMap(use.follow(of.threadId, of.runId, 0), Stream.runCollect)),
  "turns.follow on own thread": (of, own) =>
    Turns.use((use) => Effect.flatMap(use.follow(own.threadId, of.runId, 0), Stream.runCollect)),
  "turns.report": (of) => Turns.use((use) => use.report(of.threadId, of.runId)),
  "keys.revoke": (of) => Keys.use((use) => use.revoke(of.keyId))
}

/** Everything that an owner can see of what is his. */
const everything = Effect.gen(function* () {
  const threads = yield* (yield* Threads).list({ page: firstPage, includeMessages: true })
  const store = yield* RunStore
  const runs = [
    ...new Set(threads.flatMap(({ messages }) => messages.flatMap(({ runId }) => (runId === null ? [] : [runId]))))
  ]
  return {
    assistants: yield* (yield* Assistants).list(firstPage),
    threads,
    runs: yield* Effect.forEach(runs, (id) => Effect.all([store.get(id), store.read(id, 0)])),
    keys: yield* (yield* Keys).list,
    usage: yield* (yield* UsageLedger).recent(firstPage)
  }
})

/** An answer without the ids that were asked for. */
const blurred = (exit: Exit.Exit<unknown, unknown>, ids: Property): string => {
  const told = Exit.isSuccess(exit) ? { ok: exit.value } : { failed: Cause.squash(exit.cause) }
  const text = JSON.stringify(told, (_, value: unknown) =>
    value instanceof Error ? { ...Object.fromEntries(Object.entries(value)), message: value.message } : value
  )
  return Object.entries(ids).reduce((all, [name, id]) => all.replaceAll(id, `<${name}>`), text)
}

const script = [say("a"), callTool("weather", {}, "call"), say("b"), callTool("weather", {}, "call")]

describe("two tenants", () => {
  const kernel = TestKernel.layer(script, { model: { otherwise: say("Hi.") } })
  const ada = Principal.provide("ada")
  const bob = Principal.provide("bob")

  for (const [name, use] of Object.entries(useCases)) {
    it.effect(`cannot tell the other's ids from ids that do not exist: ${name}`, () =>
      Effect.gen(function* () {
        const adas = yield* ada(settle("ada"))
        const bobs = yield* bob(settle("bob"))
        const unknown = yield* nobodys
        const before = yield* ada(everything)
        const foreign = blurred(yield* bob(Effect.exit(use(adas, bobs))), { ...adas })
        const missing = blurred(yield* bob(Effect.exit(use(unknown, bobs))), { ...unknown })
        assert.strictEqual(foreign, missing)
        assert.notInclude(foreign, ownerSecret("ada"))
        assert.deepStrictEqual(yield* ada(everything), before)
      }).pipe(Effect.provide([kernel, quiet]))
    )
  }

  const Moves = Schema.Array(
    Schema.Struct({
      who: Schema.Literals(["ada", "bob"]),
      use: Schema.Literals(Object.keys(useCases)),
      whose: Schema.Literals(["own", "foreign", "foreign", "unknown"])
    })
  ).check(Schema.isMaxLength(40))

  it.effect.prop(
    "whatever they do, in whatever order, see nothing of each other and change nothing of each other",
    [Moves],
    ([moves]) =>
      Effect.gen(function* () {
        const owners = { ada: yield* ada(settle("ada")), bob: yield* bob(settle("bob")) }
        const unknown = yield* nobodys
        for (const { use, who, whose } of moves) {
          const other = who === "ada" ? "bob" : "ada"
          const ids = whose === "own" ? owners[who] : whose === "foreign" ? owners[other] : unknown
          const before = yield* Principal.provide(other)(everything)
          const exit = yield* Principal.provide(who)(Effect.exit(useCases[use]!(ids, owners[who])))
          yield* Effect.yieldNow
          const seen = JSON.stringify([blurred(exit, ids), yield* Principal.provide(who)(everything)])
          assert.notInclude(seen, ownerSecret(other))
          assert.deepStrictEqual(yield* Principal.provide(other)(everything), before)
        }
      }).pipe(Effect.provide([kernel, quiet])),
    { timeout: 60_000, arbitrary: { runs: 40 } }
  )
})
