/**
 * Run (m): memories on Postgres, in this process. The search of `MemoryStore`, and the recall of a turn as the part of memories makes it (the
 * message into terms, the search, the choice of what is near, the words for the prompt), both against the bare ranking query with the look-up
 * of its hits, by hand, with `pg`. Without vectors: with them both would wait for the same distances.
 */
import { Postgres } from "@colloquy/adapters/postgres"
import { ScriptedModel } from "@colloquy/testing"
import { AssistantId, Kernel, type LiveTurn, MessageId, Principal, RunId, ThreadId, TurnParts } from "@colloquy/core"
import { AssistantStore, newId, noCharge } from "@colloquy/core/adapters"
import { defaultMemorySettings, Memory, MemoryId, memoryPartName, MemoryStore } from "@colloquy/core/memory"
import { prepareTurns, scopeOfMemories, termsByLanguage } from "@colloquy/core/retrieval"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Logger from "effect/Logger"
import * as ManagedRuntime from "effect/ManagedRuntime"
import * as Redacted from "effect/Redacted"
import pg from "pg"
import { inRounds, inTurns } from "../Figures.ts"
import { median } from "../Load.ts"
import type { Row } from "../Report.ts"
import { random, zipfianWord } from "./Random.ts"
import { weighedPostings } from "./WeighedPostings.ts"

const owner = "bench"
const schema = "bench_memories"

const sentence = (next: () => number): string => {
  const word = () => zipfianWord(next)
  return `The user ${word()} ${word()} with ${word()} ${word()} since ${word()} and ${word()} ${word()} ${word()}.`
}

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
      modelOptions: null,
      searchLimit: 10,
      embedding: { provider: null, model: null, dimensions: 3072 },
      factExtractionPrompt: null,
      memoryUpdatePrompt: null,
      metadata: null,
      helpers: [],
      handoffs: [],
      version: 1,
      createdAt: at,
      updatedAt: at
    })
  )
  const next = random(count)
  for (let done = 0; done < count; done += 500) {
    const changes = yield* Effect.forEach(Array.from({ length: Math.min(500, count - done) }), () =>
      Effect.map(newId(MemoryId), (id) => {
        const content = sentence(next)
        const dates = {
          validFrom: null,
          validUntil: null,
          saidAt: null,
          session: null,
          speaker: null,
          createdAt: at,
          updatedAt: at
        }
        const memory = { id, assistantId, content, metadata: null, source: null, confirmedBy: [], ...dates }
        const indexed = { ...prepareTurns([{ text: content, label: "", context: "", said: null }]), vectors: null }
        return { _tag: "Add" as const, memory, indexed }
      })
    )
    yield* MemoryStore.use((store) => store.apply({ assistantId, changes, beside: [], learned: null, at }))
  }
})

const bareQuery = (limit: number) => `${weighedPostings(schema)}, best as (
  select entry, sum(i * idf) as score
  from p join w using (term), unnest(p.offsets, p.impacts) u (o, i) group by 1 order by 2 desc limit ${limit}
)
select m.id, m.content, m.metadata, m.source, m.valid_until, b.score from best b
join ${schema}.search_entries e on e.owner = $1 and e.id = b.entry
join ${schema}.memories m on m.owner = $1 and m.id = e.document
where m.valid_until is null or m.valid_until > now() order by b.score desc`

interface Taken {
  readonly millis: number
  /** Of this process. */
  readonly cpuMillis: number
}

const timed = async (work: () => Promise<unknown>): Promise<Taken> => {
  const [start, cpu] = [performance.now(), process.cpuUsage()]
  await work()
  const { system, user } = process.cpuUsage(cpu)
  return { millis: performance.now() - start, cpuMillis: (system + user) / 1000 }
}

/** What the part of memories does in a turn that asks for it. */
const recallMemories = Effect.fnUntraced(function* (assistantId: AssistantId, content: string) {
  const part = (yield* TurnParts).all().find(({ name }) => name === memoryPartName)
  const planned = part?.planned({ mode: "Readonly", pro: false, citation: false, embedding: null })
  if (planned?.has("recall") !== true) throw new Error("The part of memories recalls nothing any more.")
  const turn: LiveTurn = {
    threadId: yield* newId(ThreadId),
    assistantId,
    runId: yield* newId(RunId),
    answerId: yield* newId(MessageId),
    content,
    metadata: null,
    rewriting: null,
    provider: "bench",
    model: "bench",
    tell: () => {},
    keep: () => {},
    kept: () => null,
    spend: () => {},
    beginCharge: noCharge,
    beginRun: () => Effect.succeed(null),
    handOver: () => Effect.succeed("not here"),
    journal: () => Effect.void,
    ensureCredit: () => Effect.void
  }
  const recalled = yield* planned.recall(turn, { messages: [], older: { messages: 0, tokens: 0 } })
  const [prompt] = recalled.prompt
  if (prompt === undefined || prompt.items.length === 0) throw new Error("Nothing was recalled.")
})

const searched = 8
const rounds = 6
const questionsARound = 10

export const memories = async (url: string, count: number): Promise<ReadonlyArray<Row>> => {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  await client.query(`drop schema if exists ${schema} cascade`)
  const runtime = ManagedRuntime.make(
    Memory.layer().pipe(
      Layer.provideMerge(Kernel.layer),
      Layer.provide([ScriptedModel.layer([]), Logger.layer([])]),
      Layer.provideMerge(Postgres.layer({ url: Redacted.make(url), schema, timeout: "5 minutes" }))
    )
  )
  const run = <A, E>(effect: Effect.Effect<A, E, AssistantStore | MemoryStore | TurnParts | Principal>): Promise<A> =>
    runtime.runPromise(Principal.provide(owner)(effect))
  const assistantId = await run(newId(AssistantId))
  await run(fill(assistantId, count))
  // What the server does by itself after a while.
  for (const table of ["search_entries", "search_chunks", "search_postings", "memories"])
    await client.query(`vacuum analyze ${schema}.${table}`)

  const search: Ask = (text) => {
    const asked = { assistantId, terms: termsByLanguage(text), vector: null, limit: searched, trueAt: new Date() }
    return () => run(MemoryStore.use((store) => store.search(asked)))
  }
  const bare =
    (limit: number): Ask =>
    (text) => {
      const values = [owner, scopeOfMemories(assistantId), [...new Set([...termsByLanguage(text).values()].flat())]]
      return () => client.query({ name: `bare${limit}`, text: bareQuery(limit), values })
    }
  const recall: Ask = (text) => () => run(recallMemories(assistantId, text))
  const rows = [
    ...(await against(`search among ${count} memories`, [search, bare(searched)])),
    ...(await against(`recall of a turn among ${count} memories`, [recall, bare(defaultMemorySettings.recalled * 3)]))
  ]
  await runtime.dispose()
  await client.query(`drop schema ${schema} cascade`)
  await client.end()
  return rows
}

/** What is measured of a question; its terms are ready, but for the recall, which has to find them. */
type Ask = (text: string) => () => Promise<unknown>

/** With every second question the sides change places: the second one finds the pages that the first one has read. The first round warms up. */
const against = async (what: string, sides: readonly [ours: Ask, theirs: Ask]): Promise<ReadonlyArray<Row>> => {
  const next = random(7)
  const found: Array<Array<Taken>> = sides.map(() => [])
  for (let round = 0; round <= rounds; round++) {
    const taken: Array<Array<Taken>> = sides.map(() => [])
    for (let number = 0; number < questionsARound; number++) {
      const text = sentence(next)
      for (const [index, ask] of inTurns(sides, number)) taken[index]?.push(await timed(ask(text)))
    }
    if (round === 0) continue
    for (const [index, each] of taken.entries()) {
      const of = (key: keyof Taken) => median(each.map((one) => one[key]))
      found[index]?.push({ millis: of("millis"), cpuMillis: of("cpuMillis") })
    }
  }
  const [ours = [], theirs = []] = found
  const of = (key: keyof Taken) =>
    inRounds(
      ours.map((each) => each[key]),
      theirs.map((each) => each[key])
    )
  const row = { store: "postgres", what: `${what}, against the bare query` }
  return [
    { ...row, unit: "p50 ms", ...of("millis"), target: { of: "ratio", sense: "at most", bound: 1.3 } },
    { ...row, unit: "CPU ms here", ...of("cpuMillis"), target: null }
  ]
}
