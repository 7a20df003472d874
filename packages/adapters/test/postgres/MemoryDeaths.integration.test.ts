/**
 * The changes of a run and a database that dies under them: before each statement of `MemoryStore.apply`, after each, and after the commit
 * before the answer. Nothing or everything is there, and a repeat makes it everything, once.
 */
import { type AssistantId, MessageId, Principal, RunId, ThreadId } from "@colloquy/core"
import { AssistantStore, newId } from "@colloquy/core/adapters"
import { sampleAssistant } from "@colloquy/testing/contracts"
import { type MemoryChange, MemoryId, type MemoryOutcome, type MemoryRecord, MemoryStore } from "@colloquy/core/memory"
import { prepareTurns, termsByLanguage } from "@colloquy/core/retrieval"
import * as PgClient from "@effect/sql-pg/PgClient"
import { vector } from "@electric-sql/pglite-pgvector"
import { assert, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Redacted from "effect/Redacted"
import { onEmbedded, onPostgres } from "../../../../test/databases.ts"
import { Pglite } from "../../src/pglite/index.ts"
import { Postgres } from "../../src/postgres/index.ts"
import { losingProxy } from "./LosingProxy.ts"
import { hostClient, scratchSchema } from "./Scratch.ts"

const written = [
  "memories",
  "memory_versions",
  "memory_runs",
  "search_entries",
  "search_chunks",
  "search_postings",
  "search_vectors"
]

/**
 * Before and after every statement that writes into one of the tables there is a place to die, counted over all of them. A sequence counts,
 * because what it has counted stays counted when the transaction is gone. Killed is the server's process of the connection; a database in
 * the process of the test has none, and fails with the error that such a connection gets.
 */
const placesToDie = (client: PgClient.PgClient, schema: string, death: string) => {
  const run = (statement: string, parameters: ReadonlyArray<unknown> = []) => client.unsafe(statement, parameters)
  const make = Effect.gen(function* () {
    yield* run(`create sequence ${schema}.test_places`)
    yield* run(`create table ${schema}.test_death (at bigint not null)`)
    yield* run(`insert into ${schema}.test_death values (0)`)
    yield* run(`create function ${schema}.test_place() returns trigger language plpgsql as $$
      begin
        if nextval('${schema}.test_places') = (select at from ${schema}.test_death) then ${death}; end if;
        return null;
      end $$`)
    for (const table of written) {
      for (const when of ["before", "after"]) {
        yield* run(`create trigger test_${when} ${when} insert or update or delete on ${schema}.${table}
          for each statement execute function ${schema}.test_place()`)
      }
    }
  })
  const dieAt = (place: number) =>
    Effect.gen(function* () {
      yield* run(`update ${schema}.test_death set at = $1`, [place])
      yield* run(`select setval('${schema}.test_places', 1, false)`)
    })
  const passed = Effect.map(
    client.unsafe<{ passed: number }>(
      `select case when is_called then last_value else 0 end::integer as passed from ${schema}.test_places`
    ),
    ([row]) => Number(row?.passed)
  )
  return { make, dieAt, passed }
}

const toChange = (tag: "Add" | "Update", memory: MemoryRecord): MemoryChange => {
  const vectors = { model: { name: "p/m", dimensions: 2 }, values: [Float32Array.from([1, memory.content.length])] }
  const indexed = prepareTurns([{ text: memory.content, label: "", context: "", said: null }])
  return { _tag: tag, memory, indexed: { ...indexed, vectors } }
}

const sampleMemory = (assistantId: AssistantId, content: string) =>
  Effect.map(newId(MemoryId), (id): MemoryRecord => {
    const [createdAt, nothing] = [new Date(1_000), null]
    const dates = { validFrom: nothing, validUntil: nothing, saidAt: nothing, createdAt, updatedAt: createdAt }
    return {
      id,
      assistantId,
      content,
      metadata: nothing,
      source: nothing,
      session: nothing,
      speaker: nothing,
      confirmedBy: [],
      ...dates
    }
  })

/** Everything that a reader can see of an assistant's memories. */
const visibleMemories = (assistantId: AssistantId) =>
  Effect.gen(function* () {
    const store = yield* MemoryStore
    const { memories } = yield* store.list(assistantId, null)
    const histories = yield* Effect.forEach(memories, ({ id }) => store.history(assistantId, id))
    const near = { model: { name: "p/m", dimensions: 2 }, values: Float32Array.from([1, 1]) }
    const terms = termsByLanguage("Oslo Bergen tea cat user vim")
    const byWords = yield* store.search({ assistantId, terms, vector: null, limit: 50, trueAt: null })
    const byMeaning = yield* store.search({ assistantId, terms: new Map(), vector: near, limit: 50, trueAt: null })
    const found = [byWords, byMeaning].map((hits) => hits.map(({ memory }) => memory.content).toSorted())
    return { memories, histories, found }
  })

/** An assistant with three memories, and a run that adds one, changes one, deletes one, repeats one, and makes one of two. */
const scenario = Effect.gen(function* () {
  const store = yield* MemoryStore
  const assistant = yield* sampleAssistant()
  yield* (yield* AssistantStore).insert(assistant)
  const assistantId = assistant.id
  const [oslo, tea, vim, editor] = [
    yield* sampleMemory(assistantId, "The user lives in Oslo."),
    yield* sampleMemory(assistantId, "The user likes tea."),
    yield* sampleMemory(assistantId, "The user prefers Vim."),
    yield* sampleMemory(assistantId, "The user has an editor.")
  ]
  const at = new Date(2_000)
  const byHand = [oslo, tea, vim, editor].map((memory) => toChange("Add", memory))
  yield* store.apply({ assistantId, changes: byHand, beside: [], learned: null, at })
  const runId = yield* newId(RunId)
  const source = { threadId: yield* newId(ThreadId), runId, messageIds: [yield* newId(MessageId)] }
  const cat = yield* sampleMemory(assistantId, "The user has a cat.")
  const changes: ReadonlyArray<MemoryChange> = [
    toChange("Add", { ...cat, source }),
    toChange("Update", { ...oslo, content: "The user moved to Bergen.", source }),
    { _tag: "Delete", id: tea.id },
    toChange("Add", { ...(yield* sampleMemory(assistantId, "the user prefers VIM")), source }),
    toChange("Update", { ...editor, content: "The user prefers vim!", source })
  ]
  const apply = store.apply({ assistantId, changes, beside: [], learned: { runId, orderedAt: new Date(3_000) }, at })
  const expected = Option.some<ReadonlyArray<MemoryOutcome>>([
    { event: "Added", id: cat.id },
    { event: "Updated", id: oslo.id },
    { event: "Deleted", id: tea.id },
    { event: "Known", id: vim.id },
    { event: "Merged", id: editor.id }
  ])
  const isWhole = Effect.gen(function* () {
    const { found, histories, memories } = yield* visibleMemories(assistantId)
    const contents = ["The user moved to Bergen.", "The user prefers Vim.", "The user has a cat."]
    assert.deepStrictEqual(
      memories.map(({ content }) => content),
      contents
    )
    for (const hits of found) assert.deepStrictEqual(hits, contents.toSorted())
    assert.deepStrictEqual(
      histories.map((versions) => versions.map(({ content }) => content)),
      [["The user lives in Oslo."], ["The user has an editor."], []]
    )
    assert.deepStrictEqual(memories[1]?.confirmedBy, [source])
    assert.strictEqual(Option.getOrThrow(yield* store.applied(runId)).outcomes.length, 5)
  })
  return { apply, assistantId, expected, isWhole, runId }
})

const dyingAtEach = (schema: string, death: string) =>
  Effect.gen(function* () {
    const { dieAt, make, passed } = placesToDie(yield* PgClient.PgClient, schema, death)
    const store = yield* MemoryStore
    yield* make
    let deaths = 0
    for (let place = 1; ; place++) {
      const { apply, assistantId, expected, isWhole, runId } = yield* scenario
      const before = yield* visibleMemories(assistantId)
      yield* dieAt(place)
      const exit = yield* Effect.exit(apply)
      const reached = yield* passed
      yield* dieAt(0)
      if (reached < place) {
        assert.deepStrictEqual(exit, Exit.succeed(expected))
        break
      }
      deaths++
      assert.isTrue(Exit.isFailure(exit), `died at place ${place}`)
      assert.deepStrictEqual(yield* visibleMemories(assistantId), before, `died at place ${place}`)
      assert.isTrue(Option.isNone(yield* store.applied(runId)))
      assert.deepStrictEqual(yield* apply, expected)
      assert.deepStrictEqual(yield* apply, expected)
      yield* isWhole
    }
    // Each change writes its memory, its terms and its vector; the last statement of all notes the run.
    assert.isAtLeast(deaths, 30)
  }).pipe(Principal.provide("ada"))

onEmbedded("PGlite", () => {
  it.live(
    "a database that fails before or after any statement of a run's changes has made none of them",
    () =>
      dyingAtEach("colloquy", "raise exception 'terminating connection' using errcode = '57P01'").pipe(
        Effect.provide(
          Postgres.layerFromClient({ schema: "colloquy" }).pipe(
            Layer.provideMerge(Pglite.layerClient({ extensions: { vector } }))
          )
        )
      ),
    120_000
  )
})

onPostgres((url) => {
  it.live(
    "a server process that is killed before or after any statement of a run's changes has made none of them",
    () =>
      Effect.gen(function* () {
        const schema = yield* scratchSchema(url)
        const stores = Postgres.layerFromClient({ schema }).pipe(Layer.provideMerge(hostClient(url)))
        yield* Effect.provide(dyingAtEach(schema, "perform pg_terminate_backend(pg_backend_pid())"), stores)
      }),
    120_000
  )

  it.live(
    "an answer that is lost after the commit: the changes are there, and a repeat answers what was done",
    () =>
      Effect.gen(function* () {
        const schema = yield* scratchSchema(url)
        yield* Postgres.migrate({ url: Redacted.make(url), schema })
        const proxy = yield* losingProxy(url)
        const database = { url: Redacted.make(proxy.url), schema, migrate: false, notifications: false }
        yield* Effect.gen(function* () {
          const { apply, expected, isWhole } = yield* scenario
          proxy.lose(1)
          const first = yield* Effect.exit(apply)
          assert.isTrue(proxy.answered() >= 1)
          // The store may have asked again by itself: the answer is the same.
          if (Exit.isSuccess(first)) assert.deepStrictEqual(first.value, expected)
          yield* isWhole
          assert.deepStrictEqual(yield* apply, expected)
          yield* isWhole
        }).pipe(Principal.provide("ada"), Effect.provide(Layer.orDie(Postgres.layer(database))))
      }),
    60_000
  )
})
