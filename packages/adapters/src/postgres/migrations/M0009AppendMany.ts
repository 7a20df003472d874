/** The logs of many runs grow in one call. */
import type { Migration } from "./Migration.ts"

/**
 * Answers the runs that were not written: lost, or to be tried again because somebody holds their row. Nobody is waited for, so that one run
 * cannot hold up the others, and no circle of waiting can close. \`p_of\` says to which of the runs, counted from one, a batch belongs.
 */
const appendMany = `
create function {schema}.append_many(
  p_runs uuid[], p_owners text[], p_tokens bigint[], p_of integer[], p_firsts integer[], p_lasts integer[], p_events text[]
) returns table (o_run uuid, o_later boolean) language plpgsql as $$
declare
  v_held uuid[];
begin
  select coalesce(array_agg(held.id), '{}') into v_held from (
    select run.id from {schema}.runs run
      join unnest(p_runs, p_owners, p_tokens) lease (run, owner, token)
      on run.id = lease.run and run.owner = lease.owner and run.token = lease.token
    where run.status = 'IN_PROGRESS' order by run.id for no key update of run skip locked
  ) held;

  insert into {schema}.run_log (run_id, first_sequence, last_sequence, events)
    select run.id, greatest(batch.first, run.last_sequence + 1), batch.last, batch.events
    from unnest(p_of, p_firsts, p_lasts, p_events) batch (of, first, last, events)
    join {schema}.runs run on run.id = p_runs[batch.of]
    where run.id = any(v_held) and batch.last > run.last_sequence;
  update {schema}.runs run set last_sequence = greatest(run.last_sequence, log.last)
    from (
      select p_runs[batch.of] as run, max(batch.last) as last from unnest(p_of, p_lasts) batch (of, last) group by batch.of
    ) log
    where run.id = log.run and run.id = any(v_held);
  perform {schema}.tell(run) from {schema}.runs run where run.id = any(v_held);

  if cardinality(v_held) < cardinality(p_runs) then
    return query
      select lease.run, exists (
        select from {schema}.runs run
        where run.id = lease.run and run.owner = lease.owner and run.token = lease.token and run.status = 'IN_PROGRESS'
      )
      from unnest(p_runs, p_owners, p_tokens) lease (run, owner, token)
      where lease.run <> all(v_held);
  end if;
end $$`

export const M0009AppendMany: Migration = { name: "0009_append_many", tables: [], statements: [appendMany] }
