/**
 * `npm run bench:bloat -- --turns=1000000 --minutes=25`: what many turns leave in the tables. The database itself calls the functions of begin
 * and settlement, each in a transaction of its own, on 20,000 threads of a thousand owners, over several connections, until there were as many
 * turns or the time is over. After every tenth it tells what a turn cost, the sizes of the tables, the rows that wait for autovacuum, and how
 * many updates stayed on their page.
 */
import { randomUUID } from "node:crypto"
import { readFileSync } from "node:fs"
import { parseArgs } from "node:util"
import pg from "pg"
import { functionName } from "../../packages/adapters/src/postgres/schema/FunctionNames.ts"
import { generate } from "./Generator.ts"

const { values } = parseArgs({
  options: {
    turns: { type: "string", default: "1000000" },
    minutes: { type: "string", default: "60" },
    connections: { type: "string", default: "2" }
  }
})
const url = process.env["TEST_DATABASE_URL"] ?? ""
const schema = `bloat_${randomUUID().slice(0, 8)}`
const turns = Number(values.turns)
const connections = Number(values.connections)

await generate(url, schema, { firstOwner: 1, owners: 1000, threads: 20, turns: 1 }, () => {})

const procedure = `
create procedure ${schema}.bench_turns(p_count integer) language plpgsql as $$
declare
  v_thread record;
  v_run record;
  v_user record;
  v_answer record;
  v_log record;
  v_id uuid;
  v_answer_id uuid;
  v_now timestamptz;
  v_place bigint;
begin
  select * into v_run from ${schema}.bench_run;
  select * into v_user from ${schema}.bench_messages where role = 'user';
  select * into v_answer from ${schema}.bench_messages where role = 'assistant';
  select array_agg(first_sequence order by first_sequence) as firsts, array_agg(last_sequence order by first_sequence) as lasts,
    array_agg(events order by first_sequence) as events into v_log from ${schema}.bench_log;
  create temporary table if not exists bench_threads as
    select row_number() over (order by md5(id::text)) as place, owner, id from ${schema}.threads where owner <> 'template';
  create unique index if not exists bench_threads_place on bench_threads (place);
  commit;
  for v_turn in 1 .. p_count loop
    v_now := clock_timestamp();
    v_id := (lpad(to_hex((extract(epoch from v_now) * 1000)::bigint), 12, '0') || substr(md5(random()::text), 1, 20))::uuid;
    v_answer_id := gen_random_uuid();
    v_place := 1 + floor(random() * 20000)::integer;
    select * into v_thread from bench_threads where place = v_place;
    perform ${schema}.${functionName("begin_run")}(
      p_owner => v_thread.owner, p_run => v_id, p_thread => v_thread.id, p_answer => v_answer_id, p_stream => false,
      p_provider => v_run.provider, p_model => v_run.model, p_plan => v_run.plan, p_created_at => v_now, p_leg_start => 1,
      p_message_id => gen_random_uuid(), p_message_role => v_user.role, p_message_status => v_user.status,
      p_message_tokens => v_user.tokens, p_message_at => v_now, p_message_body => v_user.body, p_message_results => v_user.tool_results,
      p_firsts => v_log.firsts[1:1], p_lasts => v_log.lasts[1:1], p_events => array_to_string(v_log.events[1:1], chr(30)),
      p_mode => 'reject', p_saves => false, p_max_queued => 10, p_lease => 30000, p_key => null, p_fingerprint => null, p_at => v_now,
      p_follow_ups => null, p_decided_on => null, p_known_last => null, p_known_revision => null);
    commit;
    perform ${schema}.${functionName("settle_run")}(
      p_owner => v_thread.owner, p_run => v_id, p_token => 1, p_status => 'COMPLETED', p_at => clock_timestamp(),
      p_firsts => v_log.firsts, p_lasts => v_log.lasts, p_events => array_to_string(v_log.events, chr(30)),
      p_message_id => v_answer_id, p_message_role => v_answer.role, p_message_status => v_answer.status,
      p_message_tokens => v_answer.tokens, p_message_at => v_now, p_message_body => v_answer.body,
      p_message_results => v_answer.tool_results, p_input => 900, p_output => 140, p_cached => 0, p_cache_write => 0, p_reasoning => 0,
      p_cost => null, p_estimated => false, p_model => v_run.model, p_fault => null, p_explanation => v_run.explanation,
      p_charge_provider => v_run.provider, p_charge_purpose => 'chat', p_charges => null,
      p_follow_ups => null);
    commit;
  end loop;
end $$`

const open = async () => {
  const client = new pg.Client({ connectionString: url, application_name: "bench turns" })
  await client.connect()
  return client
}
const watch = await open()
await watch.query(`create table ${schema}.bench_run as select * from ${schema}.runs where owner = 'template'`)
await watch.query(`create table ${schema}.bench_messages as select * from ${schema}.messages where owner = 'template'`)
await watch.query(`create table ${schema}.bench_log as select * from ${schema}.run_log where owner = 'template'`)
await watch.query("vacuum analyze")
await watch.query(procedure)

/** Milliseconds of CPU that these connections have used, from Linux's scheduler. */
const cpuOf = (pids: ReadonlyArray<number>): number =>
  pids.reduce((sum, pid) => sum + Number(readFileSync(`/proc/${pid}/schedstat`, "utf8").split(" ")[0]) / 1e6, 0)

const written = async (): Promise<number> =>
  Number((await watch.query("select pg_current_wal_insert_lsn() - '0/0' as bytes")).rows[0]?.bytes)

const workers = await Promise.all(Array.from({ length: connections }, open))
const pids: ReadonlyArray<number> = await Promise.all(
  workers.map(async (worker) => (await worker.query("select pg_backend_pid() as pid")).rows[0]?.pid)
)
const start = performance.now()
let done = 0
let last = { done: 0, cpu: cpuOf(pids), written: await written(), at: start }

const look = async () => {
  const now = { done, cpu: cpuOf(pids), written: await written(), at: performance.now() }
  const turnsSince = now.done - last.done
  const { rows } = await watch.query(
    `select relname as name, (pg_table_size(relid) / 1048576.0)::numeric(10, 1) as table_mb, (pg_indexes_size(relid) / 1048576.0)::numeric(10, 1) as index_mb,
       n_dead_tup as dead, autovacuum_count as vacuums, n_tup_upd as updates, n_tup_hot_upd as hot
     from pg_stat_user_tables
     where schemaname = $1 and relname in ('threads', 'messages', 'runs', 'active_runs', 'run_log', 'usage_days') order by relname`,
    [schema]
  )
  console.log(
    `${done} turns in ${((now.at - start) / 1000).toFixed(0)} s; since the last look ${((turnsSince * 1000) / (now.at - last.at)).toFixed(0)} a second, ` +
      `${((now.cpu - last.cpu) / turnsSince).toFixed(3)} ms of CPU and ${((now.written - last.written) / turnsSince).toFixed(0)} bytes of write-ahead log for each`
  )
  console.table(rows)
  last = now
}

const step = Math.max(1, Math.round(turns / 100 / connections))
const isOver = () => done >= turns || performance.now() - start > Number(values.minutes) * 60_000
for (let hundredth = 1; !isOver(); hundredth++) {
  await Promise.all(workers.map((worker) => worker.query(`call ${schema}.bench_turns(${step})`)))
  done += step * connections
  if (hundredth % 10 === 0) await look()
}
if (done > last.done) await look()
await Promise.all([...workers, watch].map((client) => client.end()))
