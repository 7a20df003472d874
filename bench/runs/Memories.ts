/**
 * Run (m): memories on Postgres. The search of `MemoryStore` among the memories of one assistant against the bare ranking query with the
 * look-up of its hits, by hand, with `pg`, in this process. Without vectors: with them both would wait for the same distances.
 */
import { Postgres } from "@colloquy/adapters/postgres"
import { AssistantId, Principal } from "@colloquy/core"
import { AssistantStore, newId } from "@colloquy/core/adapters"
import { MemoryId, MemoryStore } from "@colloquy/core/memory"
import { prepareTurns, scopeOfMemories, termsByLanguage } from "@colloquy/core/retrieval"
import * as Effect from "effect/Effect"
import * as ManagedRuntime from "effect/ManagedRuntime"
import * as Redacted from "effect/Redacted"
import pg from "pg"
import { median } from "../Load.ts"
import type { Row } from "../Report.ts"
import { random } from "./Random.ts"
import { weighedPostings } from "./WeighedPostings.ts"

const owner = "bench"
const schema = "bench_memories"

/** Few words are frequent and many are rare, as in any language. */
const word = (next: () => number): string => `word${Math.floor(20_000 ** next())}`

const sentence = (next: () => number): string =>
  `The user ${word(next)} ${word(next)} with ${word(next)} ${word(next)} since ${word(next)} and ${word(next)} ${word(next)} ${word(next)}.`

const fill = Effect.fnUntraced(function* (assistantId: AssistantId, count: number) {
  const at = new Date(0)
  yield* AssistantStore.use((store) =>
    store.insert({
      id: assistantId,
      name: "bench",
      description: null,
      systemPrompt: null,
      provider: null,
      model: null,
      tools: null,
      searchLimit: 10,
      embedding: { provider: null, model: null, dimensions: 3072 },
      factExtractionPrompt: null,
      memoryUpdatePrompt: null,
      metadata: null,
      createdAt: at,
      updatedAt: at
    })
  )
  const next = random(count)
  for (let done = 0; done < count; done += 500) {
    const changes = yield* Effect.forEach(Array.from({ length: Math.min(500, count - done) }), () =>
      Effect.map(newId(MemoryId), (id) => {
        const content = sentence(next)
        const dates = { validFrom: null, validUntil: null, createdAt: at, updatedAt: at }
        const memory = { id, assistantId, content, metadata: null, source: null, confirmedBy: [], ...dates }
        const indexed = { ...prepareTurns([{ text: content, label: "", context: "", said: null }]), vectors: null }
        return { _tag: "Add" as const, memory, indexed }
      })
    )
    yield* MemoryStore.use((store) => store.apply({ assistantId, changes, learned: null, at }))
  }
})

const bareQuery = `${weighedPostings(schema)}, best as (
  select entry, sum(i * idf) as score
  from p join w using (term), unnest(p.offsets, p.impacts) u (o, i) group by 1 order by 2 desc limit 8
)
select m.id, m.content, m.metadata, m.source, m.valid_until, b.score from best b
join ${schema}.search_entries e on e.owner = $1 and e.id = b.entry
join ${schema}.memories m on m.owner = $1 and m.id = e.document
where m.valid_until is null or m.valid_until > now() order by b.score desc`

const timed = async (work: () => Promise<unknown>): Promise<number> => {
  const start = performance.now()
  await work()
  return performance.now() - start
}

export const memories = async (url: string, count: number): Promise<ReadonlyArray<Row>> => {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  await client.query(`drop schema if exists ${schema} cascade`)
  const runtime = ManagedRuntime.make(Postgres.layer({ url: Redacted.make(url), schema, timeout: "5 minutes" }))
  const run = <A, E>(effect: Effect.Effect<A, E, AssistantStore | MemoryStore | Principal>): Promise<A> =>
    runtime.runPromise(Principal.provide(owner)(effect))
  const assistantId = await run(newId(AssistantId))
  await run(fill(assistantId, count))
  // What the server does by itself after a while.
  for (const table of ["search_entries", "search_chunks", "search_postings", "memories"])
    await client.query(`vacuum analyze ${schema}.${table}`)
  const next = random(7)
  const questions = Array.from({ length: 60 }, () => sentence(next))
  const [ours, theirs]: [Array<number>, Array<number>] = [[], []]
  for (const [index, text] of [...questions.slice(0, 10), ...questions].entries()) {
    const terms = termsByLanguage(text)
    const asked = { assistantId, terms, vector: null, limit: 8, trueAt: new Date() }
    const values = [owner, scopeOfMemories(assistantId), [...new Set([...terms.values()].flat())]]
    const both = [
      async () => ours.push(await timed(() => run(MemoryStore.use((store) => store.search(asked))))),
      async () => theirs.push(await timed(() => client.query({ name: "bare", text: bareQuery, values })))
    ]
    // Now one is first and now the other, so that neither always finds the pages that the other has read.
    for (const one of index % 2 === 0 ? both : both.toReversed()) await one()
  }
  await runtime.dispose()
  await client.query(`drop schema ${schema} cascade`)
  await client.end()
  return [
    {
      store: "postgres",
      what: `search among ${count} memories, p50`,
      unit: "ms",
      kernel: median(ours.slice(10)),
      baseline: median(theirs.slice(10)),
      target: { ratio: "at most", bound: 1.3 }
    }
  ]
}
