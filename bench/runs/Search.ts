/**
 * Run (h): the index of chunks on Postgres against the same SQL by hand, with `pg`, in this process. Indexing: chunks with
 * their terms into rows, on both sides; and beside it what cutting a text of 1 MB and finding its terms adds. Search: the whole of `ChunkIndex.search` against the bare ranking query, each on
 * one connection, and each first with every second question, because the second finds what it reads in the caches.
 */
import { Postgres } from "@colloquy/adapters/postgres"
import { Principal } from "@colloquy/core"
import { DocumentId, estimateTokens, newId } from "@colloquy/core/adapters"
import {
  ChunkIndex,
  type IndexedChunk,
  type IndexedDocument,
  unknownPosition,
  prepareDocument,
  type Prepared,
  SearchScope
} from "@colloquy/core/retrieval"
import * as PgClient from "@effect/sql-pg/PgClient"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as ManagedRuntime from "effect/ManagedRuntime"
import * as Redacted from "effect/Redacted"
import pg from "pg"
import { inBlocks, inRounds, inTurns } from "../Figures.ts"
import type { Row, Target } from "../Report.ts"
import { random } from "./Random.ts"
import { weighedPostings } from "./WeighedPostings.ts"

const owner = "bench"
const schema = "bench_search"

const vocabulary = 30_000
/** Few words are frequent and many are rare, as in any language. */
const word = (next: () => number): string => `w${Math.floor(vocabulary ** next())}`

/** Sentences with stop words, so that its language is found; about a megabyte. */
const megabyte = (seed: number): string => {
  const next = random(seed)
  const sentence = () =>
    `The ${word(next)}ing ${word(next)} was in the ${word(next)} of ${word(next)}, and it ${word(next)}ed.`
  const paragraph = () => Array.from({ length: 8 }, sentence).join(" ")
  return Array.from({ length: 2200 }, paragraph).join("\n\n")
}

const size = { tokens: 400, overlap: 60, count: estimateTokens }

interface Rows {
  readonly bodies: ReadonlyArray<string>
  readonly terms: ReadonlyArray<string>
  readonly segments: ReadonlyArray<number>
  readonly offsets: ReadonlyArray<string>
  readonly impacts: ReadonlyArray<string>
}

/** The rows of a document, as a person would make them once. */
const documentRows = (chunks: ReadonlyArray<IndexedChunk>): Rows => {
  const rows = new Map<string, { term: string; segment: number; offsets: Array<number>; impacts: Array<number> }>()
  chunks.forEach(({ impacts }, at) => {
    const segment = at >> 8
    for (const [term, impact] of impacts) {
      const key = `${term} ${segment}`
      const row = rows.get(key) ?? { term, segment, offsets: [], impacts: [] }
      row.offsets.push(at & 255)
      row.impacts.push(impact)
      rows.set(key, row)
    }
  })
  const sorted = [...rows.values()].sort((a, b) => (a.term < b.term ? -1 : 1))
  return {
    bodies: chunks.map(({ chunk }) => chunk.text),
    terms: sorted.map(({ term }) => term),
    segments: sorted.map(({ segment }) => segment),
    offsets: sorted.map(({ offsets }) => `{${offsets.join()}}`),
    impacts: sorted.map(({ impacts }) => `{${impacts.join()}}`)
  }
}

const byHand = async (client: pg.Client, scopeKey: number, { bodies, impacts, offsets, segments, terms }: Rows) => {
  await client.query("begin")
  const opened = await client.query<{ readonly id: string }>({
    name: "open",
    text: `insert into ${schema}.search_entries (owner, scope, document, language, chunks, state)
      values ('hand', $1, gen_random_uuid(), 'en', $2, 'ready') returning id`,
    values: [`hand:${scopeKey}`, bodies.length]
  })
  const entry = opened.rows[0]?.id
  await client.query({
    name: "chunks",
    text: `insert into ${schema}.search_chunks select 'hand', $1, o - 1, b, '{}' from unnest($2::text[]) with ordinality c (b, o)`,
    values: [entry, bodies]
  })
  await client.query({
    name: "postings",
    text: `insert into ${schema}.search_postings (owner, scope_key, term, entry, segment, offsets, impacts)
      select 'hand', $1, t, $2, s, o::smallint[], i::smallint[] from unnest($3::text[], $4::int[], $5::text[], $6::text[]) u (t, s, o, i)`,
    values: [scopeKey, entry, terms, segments, offsets, impacts]
  })
  await client.query("commit")
}

/** A document of fifty chunks with some seventy-five terms each. */
const syntheticDocument = (scope: SearchScope, seed: number): Omit<IndexedDocument, "documentId"> => {
  const next = random(seed)
  const chunks = Array.from({ length: 50 }, (_, ordinal) => ({
    chunk: { ...unknownPosition, ordinal, repeated: 0, text: `chunk ${ordinal} ${"lorem ipsum dolor ".repeat(60)}` },
    impacts: new Map(Array.from({ length: 75 }, (): [string, number] => [word(next), 200 + Math.floor(next() * 1600)]))
  }))
  return { scope, language: "en", chunks, vectors: null }
}

const bareQuery = `${weighedPostings(schema)}, best as (
  select entry, segment * 256 + o as ordinal, sum(i * idf) as score
  from p join w using (term), unnest(p.offsets, p.impacts) u (o, i) group by 1, 2 order by 3 desc limit 10
)
select b.entry, b.ordinal, b.score, c.body from best b join ${schema}.search_chunks c
  on c.owner = $1 and c.entry = b.entry and c.ordinal = b.ordinal order by 3 desc`

const timed = async (work: () => Promise<unknown>): Promise<{ readonly millis: number; readonly cpu: number }> => {
  const [start, cpu] = [performance.now(), process.cpuUsage()]
  await work()
  const used = process.cpuUsage(cpu)
  return { millis: performance.now() - start, cpu: (used.user + used.system) / 1000 }
}

type Timed = Awaited<ReturnType<typeof timed>>

/** The first round warms up. */
const timedInTurns = async (rounds: number, ours: () => Promise<unknown>, theirs: () => Promise<unknown>) => {
  const found: readonly [Array<Timed>, Array<Timed>] = [[], []]
  for (let round = 0; round <= rounds; round++) {
    for (const [index, work] of inTurns([ours, theirs], round)) {
      const taken = await timed(work)
      if (round > 0) found[index]?.push(taken)
    }
  }
  return { ours: found[0], theirs: found[1] }
}

export const search = async (url: string, counts: ReadonlyArray<number>): Promise<ReadonlyArray<Row>> => {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  await client.query(`drop schema if exists ${schema} cascade`)
  const [filling, asking] = [runOn(url, 4), runOn(url, 1)]
  const rows = [...(await indexing(client, filling.run)), ...(await searching(client, filling.run, asking.run, counts))]
  await filling.runtime.dispose()
  await asking.runtime.dispose()
  await client.query(`drop schema ${schema} cascade`)
  await client.end()
  return rows
}

const runOn = (url: string, maxConnections: number) => {
  const runtime = ManagedRuntime.make(
    Layer.provide(
      Postgres.layerChunkIndex({ schema, timeout: "5 minutes" }),
      PgClient.layer({ url: Redacted.make(url), maxConnections })
    )
  )
  const run: Run = (effect) => runtime.runPromise(Principal.provide(owner)(effect))
  return { runtime, run }
}

type Run = <A, E>(effect: Effect.Effect<A, E, ChunkIndex | Principal>) => Promise<A>

const indexing = async (client: pg.Client, run: Run): Promise<ReadonlyArray<Row>> => {
  const text = megabyte(1)
  const sections = [{ ...unknownPosition, form: "prose" as const, text }]
  const scope = SearchScope.make("bench:put")
  const prepared = prepareDocument("bench.txt", sections, size)
  let round = 0
  const put = (chunks: () => Prepared) =>
    run(
      Effect.gen(function* () {
        const documentId = yield* newId(DocumentId)
        yield* (yield* ChunkIndex).put({ scope, documentId, vectors: null, ...chunks() })
      })
    )
  const hand = () => byHand(client, ++round, documentRows(prepared.chunks))
  const whole = await timedInTurns(rounds, () => put(() => prepareDocument("bench.txt", sections, size)), hand)
  const stored = await timedInTurns(rounds, () => put(() => prepared), hand)
  const count = prepared.chunks.length
  const figures = (all: typeof whole, of: (taken: Timed) => number) => inRounds(all.ours.map(of), all.theirs.map(of))
  const toRows = (what: string, all: typeof whole, target: Target | null): ReadonlyArray<Row> => [
    {
      store: "postgres",
      what,
      unit: "chunks/s",
      ...figures(all, ({ millis }) => (count * 1000) / millis),
      target
    },
    {
      store: "postgres",
      what,
      unit: "CPU ms/chunk",
      ...figures(all, ({ cpu }) => cpu / count),
      target: null
    }
  ]
  return [
    ...toRows(`${count} chunks with their terms into the index`, stored, {
      of: "ratio",
      sense: "at least",
      bound: 0.75
    }),
    ...toRows(
      `the same from a text of ${(text.length / 1e6).toFixed(1)} MB, against chunks that are ready`,
      whole,
      null
    )
  ]
}

const rounds = 7

const warmUp = 20

const searching = async (
  client: pg.Client,
  fillBy: Run,
  askBy: Run,
  counts: ReadonlyArray<number>
): Promise<ReadonlyArray<Row>> => {
  const rows: Array<Row> = []
  for (const count of counts) {
    const scope = SearchScope.make(`bench:${count}`)
    const seeds = Array.from({ length: count / 50 }, (_, at) => count + at)
    const fill = (seed: number) =>
      Effect.gen(function* () {
        yield* (yield* ChunkIndex).put({ ...syntheticDocument(scope, seed), documentId: yield* newId(DocumentId) })
      })
    await fillBy(Effect.forEach(seeds, fill, { concurrency: 4, discard: true }))
    // What the server does by itself after a while.
    for (const table of ["entries", "chunks", "postings"])
      await client.query(`vacuum analyze ${schema}.search_${table}`)
    const next = random(7)
    const questions = Array.from({ length: count > 10_000 ? 40 : 200 }, () =>
      Array.from({ length: 6 }, () => word(next))
    )
    const [ours, theirs]: [Array<number>, Array<number>] = [[], []]
    for (const [round, terms] of [...questions.slice(0, warmUp), ...questions].entries()) {
      const asked = { scopes: [scope], terms: new Map([["en" as const, terms]]), vector: null, limit: 10 }
      const ask = async () => {
        ours.push((await timed(() => askBy(ChunkIndex.use((index) => index.search(asked))))).millis)
      }
      const values = [owner, scope, [...new Set(terms)]]
      const askBare = async () => {
        theirs.push((await timed(() => client.query({ name: "bare", text: bareQuery, values }))).millis)
      }
      for (const [, side] of inTurns([ask, askBare], round)) await side()
    }
    rows.push({
      store: "postgres",
      what: `search among ${count} chunks, p50`,
      unit: "ms",
      ...inRounds(inBlocks(ours.slice(warmUp), 20), inBlocks(theirs.slice(warmUp), 20)),
      target: { of: "ratio", sense: "at most", bound: 1.3 }
    })
  }
  return rows
}
