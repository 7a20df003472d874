/**
 * Fills a schema with conversations: `turns` turns in each of `threads` threads of each of `owners` owners, and an indexed document of a
 * hundred chunks for each owner. One turn and one document are written by the kernel; the database copies them, with ids and times of their
 * own, so that rows have the shape and the size of real ones. A million messages take about a minute.
 */
import { AssistantId, Principal, Turns } from "@colloquy/core"
import { newId, DocumentId } from "@colloquy/core/adapters"
import { ChunkIndex, prepareTurns, scopeOfAssistant } from "@colloquy/core/retrieval"
import * as Effect from "effect/Effect"
import pg from "pg"
import { kernelOn, question } from "./Kernel.ts"

export interface Size {
  /** Owners are numbered; these are made. */
  readonly firstOwner: number
  readonly owners: number
  readonly threads: number
  readonly turns: number
}

const template = "template"

/** The scope of every owner's document. */
export const searched = scopeOfAssistant(AssistantId.make("00000000-0000-7000-8000-000000000001"))

const words = ["harbour", "badger", "invoice", "glacier", "violin", "ladder", "comet", "orchard", "tunnel", "saffron"]

/** A hundred chunks, each of forty words of which many are rare. */
const texts = Array.from({ length: 100 }, (_, chunk) =>
  Array.from({ length: 40 }, (__, place) =>
    place % 4 === 0
      ? (words[(chunk * 7 + place) % words.length] ?? "")
      : `${words[place % 10]}${(chunk * 31 + place * 17) % 500}`
  ).join(" ")
)

const writeTemplate = Effect.gen(function* () {
  yield* Effect.flatMap(Turns, ({ send }) => send({ content: question }))
  const { chunks, language } = prepareTurns(texts.map((text) => ({ text, label: "", context: "", said: null })))
  const index = yield* ChunkIndex
  yield* index.put({ scope: searched, documentId: yield* newId(DocumentId), language, chunks, vectors: null })
}).pipe(Principal.provide(template))

const columns = async (client: pg.Client, schema: string, table: string, own: Readonly<Record<string, string>>) => {
  const { rows } = await client.query<{ readonly name: string; readonly identity: string }>(
    `select attname as name, attidentity as identity from pg_attribute
     where attrelid = $1::regclass and attnum > 0 and not attisdropped and attidentity <> 'a' order by attnum`,
    [`${schema}.${table}`]
  )
  const names = rows.map(({ name }) => name)
  return { into: names.join(", "), from: names.map((name) => own[name] ?? `t.${name}`).join(", ") }
}

/** Owners of one statement: it is over within seconds. */
const step = 20

/** Answers how many messages were made. */
export const generate = async (
  url: string,
  schema: string,
  size: Size,
  told: (text: string) => void
): Promise<number> => {
  await Effect.runPromise(Effect.provide(writeTemplate, kernelOn(url, schema, { begin: [], settle: [] })))
  const client = new pg.Client({ connectionString: url, application_name: "bench generator" })
  await client.connect()
  // Rows are whole by construction; checking every reference would take most of the time.
  await client.query("set session_replication_role = replica; set synchronous_commit = off; set jit = off")
  await client.query(helpers(schema))
  const copy = async (table: string, source: string, own: Readonly<Record<string, string>>) => {
    const { from, into } = await columns(client, schema, table, own)
    return `insert into ${schema}.${table} (${into}) select ${from} from ${schema}.${table} t, ${source}`
  }
  const owner = `${schema}.bench_owner(o)`
  const id = (kind: string, number: string, at: string) => `${schema}.bench_id('${kind}', ${number}, ${at})`
  const threadNumber = "(o * 100000 + h)"
  const turnNumber = `(${threadNumber} * 1000 + r)`
  const made = `${schema}.bench_time(o, h)`
  const asked = `(${made} + r * interval '5 minutes')`
  const thread = id("thread", threadNumber, made)
  const run = id("run", turnNumber, asked)
  const assistant = id("assistant", "o", "timestamptz '2026-01-01'")
  const user = id("user", turnNumber, asked)
  const reply = id("reply", turnNumber, `${asked} + interval '3 seconds'`)
  const turn = `generate_series($1::bigint, $2::bigint) o, generate_series(1, ${size.threads}) h, generate_series(1, ${size.turns}) r`
  const ofTemplate = `t.owner = '${template}'`
  const statements = [
    `${await copy("assistants", "generate_series($1::bigint, $2::bigint) o", { owner, id: assistant })} where ${ofTemplate}`,
    `${await copy("threads", `generate_series($1::bigint, $2::bigint) o, generate_series(1, ${size.threads}) h`, {
      owner,
      id: thread,
      assistant_id: assistant,
      created_at: made,
      updated_at: `${made} + interval '2 hours'`,
      message_count: `${size.turns * 2}`,
      tokens: `t.tokens * ${size.turns}`,
      last_message_id: id(
        "reply",
        `(${threadNumber} * 1000 + ${size.turns})`,
        `${made} + ${size.turns} * interval '5 minutes' + interval '3 seconds'`
      )
    })} where ${ofTemplate}`,
    `${await copy("messages", turn, {
      owner,
      id: `case t.role when 'user' then ${user} else ${reply} end`,
      thread_id: thread,
      run_id: run,
      sequence: "r * 2 - 2 + t.sequence",
      tokens_before: `(select tokens from ${schema}.threads where owner = '${template}') * (r - 1) + t.tokens_before`,
      created_at: `case t.role when 'user' then ${asked} else ${asked} + interval '3 seconds' end`
    })} where ${ofTemplate}`,
    `${await copy("runs", turn, {
      owner,
      id: run,
      thread_id: thread,
      assistant_id: assistant,
      user_message_id: user,
      answer_id: reply,
      first_message: "r * 2 - 1",
      last_message: "r * 2",
      created_at: asked,
      started_at: asked,
      ended_at: `${asked} + interval '3 seconds'`
    })} where ${ofTemplate}`,
    `${await copy("run_log", turn, { owner, run_id: run })} where ${ofTemplate}`,
    `${await copy("usage_days", "generate_series($1::bigint, $2::bigint) o, generate_series(0, 89) d", {
      owner,
      day: "date '2026-01-01' + d"
    })} where ${ofTemplate}`,
    // Entries are numbered by the table; those of chunks and postings follow from them.
    `with made as (
       insert into ${schema}.search_entries (owner, scope, document, language, chunks, state)
       select ${owner}, t.scope, t.document, t.language, t.chunks, t.state
       from ${schema}.search_entries t, generate_series($1::bigint, $2::bigint) o where ${ofTemplate} returning owner, id
     ), chunks as (
       insert into ${schema}.search_chunks (owner, entry, ordinal, body, place)
       select made.owner, made.id, t.ordinal, t.body, t.place from ${schema}.search_chunks t, made where ${ofTemplate}
     )
     insert into ${schema}.search_postings (owner, scope_key, term, entry, segment, offsets, impacts)
     select made.owner, t.scope_key, t.term, made.id, t.segment, t.offsets, t.impacts
     from ${schema}.search_postings t, made where ${ofTemplate}`
  ]
  const last = size.firstOwner + size.owners - 1
  for (let first = size.firstOwner; first <= last; first += step) {
    for (const statement of statements) await client.query(statement, [first, Math.min(first + step - 1, last)])
    told(`${schema}: owners up to ${Math.min(first + step - 1, last)}`)
  }
  await client.end()
  return size.owners * size.threads * size.turns * 2
}

/** Ids lead with their time, as those of the kernel do. */
const helpers = (schema: string): string => `
  create or replace function ${schema}.bench_owner(n bigint) returns text language sql immutable as
    $$ select 'owner-' || lpad(n::text, 5, '0') $$;
  create or replace function ${schema}.bench_time(o bigint, h bigint) returns timestamptz language sql immutable as
    $$ select timestamptz '2026-01-01 00:00:00Z' + (h * 7919 + o * 104729) % 7776000 * interval '1 second' $$;
  create or replace function ${schema}.bench_id(kind text, n bigint, at timestamptz) returns uuid language sql immutable as
    $$ select (lpad(to_hex((extract(epoch from at) * 1000)::bigint), 12, '0') || substr(md5(kind || n), 1, 20))::uuid $$;`

export const ownerName = (number: number): string => `owner-${String(number).padStart(5, "0")}`
