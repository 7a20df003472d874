/**
 * The functions of the schema as they are created on Citus (`Citus.ts`). The node of the owner runs those that a turn calls, with all their
 * statements. Processes listen on the coordinator, so a function that runs on another node notifies nobody: it leaves its notifications in a
 * setting of its transaction, the statement returns them with its result, and the process sends them (`overCitus`).
 */
import { type SqlFunction, sqlFunction } from "./SchemaPart.ts"

/** Part of the version of all functions. Raise it when this file changes a function in another way than before. */
export const dialect = 2

/** Functions that put a run in progress, called by a statement that reads the history as well: on Citus one function does both. */
const starts = ["begin_run", "activate_run", "continue_run"]

/** Other functions that wait for locks: on Citus they limit the wait themselves, because only constants may be given to another node. */
const lockingFunctions = ["answer_some", "settle_run", "request_cancel", "withdraw_run", "reserve_more"]

/** The name of the function that starts a run and reads its history. */
const reading = (name: string): string => `read_${name}`

/** Functions that the node of the owner runs: each is called for one owner, by a statement that does nothing else. */
export const functionsOfNodes: ReadonlyArray<string> = [
  ...starts.map(reading),
  ...lockingFunctions,
  "append_many",
  "read_log",
  "search_chunks",
  "follow_runs"
]

/** The parameter of the lock timeout follows the owner. */
const withWait = (definition: string): string =>
  definition
    .replace(/^\(\s*p_owner text,/u, "(p_owner text, p_wait integer,")
    .replace("\nbegin\n", "\nbegin\n  p_owner := {schema}.limit_lock_wait(p_owner, p_wait);\n")

const startAndRead = ({ definition, name }: SqlFunction): SqlFunction => {
  const rest = /^\(\s*p_owner text,([^]*?)\)\s+returns /u.exec(definition)?.[1] ?? ""
  const given = (rest.match(/\bp_\w+/gu) ?? []).map((parameter) => `${parameter} => ${parameter}`)
  return sqlFunction(
    reading(name),
    `(p_owner text, p_wait integer, p_budget bigint,${rest}) returns table (
  outcome text, outcome_run uuid, token bigint, expired boolean, leg_start integer, fingerprint text,
  revision integer, tokens_before bigint, messages text
) language plpgsql as $$
declare
  v_run {schema}.run_outcome;
begin
  p_owner := {schema}.limit_lock_wait(p_owner, p_wait);
  v_run := {schema}.${name}(p_owner => p_owner, ${given.join(", ")});
  return query select v_run.outcome, v_run.run_id, v_run.token, v_run.expired, v_run.leg_start, v_run.fingerprint,
      h.revision, h.tokens_before, h.messages
    from (select v_run.outcome = 'Started' as is_read offset 0) o
    left join lateral (
      select * from {schema}.history_texts(p_owner, v_run.run_id, p_budget) where o.is_read offset 0
    ) h on true;
end $$`
  )
}

/**
 * The functions of Citus. It plans a statement for the owner that it is given, and therefore not once for all owners; and it refuses functions
 * whose result changes within a statement where it has to send the statement to another node.
 */
export const textOnCitus = (text: string): string =>
  text
    .replaceAll(/ set plan_cache_mode = force_\w+_plan| SET plan_cache_mode TO 'force_\w+_plan'\n/gu, "")
    .replaceAll(/(?<!:= )clock_timestamp\(\)/gu, "statement_timestamp()")
    .replaceAll(/ for (?:no key )?update skip locked/gu, "")

/** All functions as they are created on Citus. */
export const functionsOnCitus = (functions: ReadonlyArray<SqlFunction>): ReadonlyArray<SqlFunction> =>
  functions.flatMap((one) => {
    const definition = own[one.name] ?? textOnCitus(one.definition)
    const written = sqlFunction(one.name, lockingFunctions.includes(one.name) ? withWait(definition) : definition)
    return starts.includes(one.name) ? [written, startAndRead(written)] : [written]
  })

/** The setting in which a function leaves what is to be told, as JSON arrays with commas between them. */
export const toldSetting = "colloquy.told"

/** The group of the coordinator is 0. */
const notifyChange = `(p_run uuid, p_thread uuid, p_cancel boolean) returns void language plpgsql as $$
begin
  if (select groupid from pg_dist_local_group) = 0 then
    perform pg_notify({channel}, json_build_object('runId', p_run, 'threadId', p_thread, 'cancel', p_cancel)::text);
  else
    perform set_config('${toldSetting}', concat_ws(',', nullif(current_setting('${toldSetting}', true), ''),
      json_build_array(p_run, p_thread, p_cancel)), true);
  end if;
end $$`

/** The runs of one owner, one after the other. Returns every run; `o_later` is null where it was written. */
const appendMany = `(
  p_owner text, p_runs uuid[], p_tokens bigint[], p_of integer[], p_firsts integer[], p_lasts integer[], p_events text[]
) returns table (o_run uuid, o_later boolean) language plpgsql as $$
declare
  v_run {schema}.runs;
  v_last integer;
begin
  for v_at in 1 .. cardinality(p_runs) loop
    o_run := p_runs[v_at];
    o_later := null;
    select * into v_run from {schema}.runs
      where id = o_run and owner = p_owner and token = p_tokens[v_at] and status = 'IN_PROGRESS'
      for no key update skip locked;
    if not found then
      o_later := exists (
        select from {schema}.runs where id = o_run and owner = p_owner and token = p_tokens[v_at] and status = 'IN_PROGRESS'
      );
    else
      v_last := v_run.last_sequence;
      for v_batch in 1 .. cardinality(p_of) loop
        if p_of[v_batch] = v_at and p_lasts[v_batch] > v_last then
          insert into {schema}.run_log (owner, run_id, first_sequence, last_sequence, events)
            values (p_owner, o_run, greatest(p_firsts[v_batch], v_run.last_sequence + 1), p_lasts[v_batch], p_events[v_batch]);
          v_last := p_lasts[v_batch];
        end if;
      end loop;
      update {schema}.runs set last_sequence = v_last where id = o_run and owner = p_owner;
      perform {schema}.notify_waiting(v_run);
    end if;
    return next;
  end loop;
end $$`

const own: { readonly [name: string]: string } = { append_many: appendMany, notify_change: notifyChange }
