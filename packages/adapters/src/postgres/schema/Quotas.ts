/**
 * Limits of owners. A run that is admitted under limits has its reservation in its row of `active_runs`, which goes when the run is
 * settled, withdrawn or deleted, so nothing can stay reserved without a run. Rows of owners without limits are in no index of this file.
 */
import { type Migration, sqlFunction, type SqlFunction, withFixedPlans } from "./SchemaPart.ts"

/**
 * `free_at` is the moment from which all of a rate is free again. The row of the rate `turns` is also the lock under which runs of one owner
 * are admitted one after the other; it is always the last lock that a transaction takes.
 */
const rates = `
create table {schema}.owner_rates (
  owner text collate "C" not null,
  rate text collate "C" not null,
  free_at timestamptz not null,
  primary key (owner, rate)
) with (fillfactor = 50)`

export const quotaTables: Migration = {
  name: "quotas",
  tables: ["owner_rates"],
  statements: [
    rates,
    `alter table {schema}.active_runs add column reserved_tokens bigint, add column reserved_usd double precision`,
    `create index active_runs_reserved on {schema}.active_runs (owner, thread_id) where reserved_tokens is not null`
  ]
}

const requestColumns = `turns_per_minute double precision, turns_at_once integer, tokens_per_day bigint, usd_per_day double precision,
      least_tokens bigint, least_usd double precision, wanted_tokens bigint, wanted_usd double precision,
      usd_per_token double precision, day date, rest_of_day double precision`

/**
 * What is granted of the day's budget, as JSON: `tokens` and `usd`, or the refusal. One statement reads the ledger and the reservations, so
 * that a run that is settled meanwhile is counted in one of them and never in both or none.
 */
const grantBudget = sqlFunction(
  "grant_budget",
  `(p_owner text, p_request text, p_history bigint) returns text language plpgsql as $$
declare
  v record;
  v_used record;
  v_left_tokens double precision;
  v_left_usd double precision;
  v_waits_for_runs boolean;
begin
  select * into v from json_to_record(p_request::json) as request (${requestColumns});
  v.least_tokens := v.least_tokens + p_history;
  v.wanted_tokens := v.wanted_tokens + p_history;
  v.least_usd := v.least_usd + p_history * coalesce(v.usd_per_token, 0);
  v.wanted_usd := v.wanted_usd + p_history * coalesce(v.usd_per_token, 0);
  if v.tokens_per_day is null and v.usd_per_day is null then
    return json_build_object('tokens', v.wanted_tokens, 'usd', v.wanted_usd)::text;
  end if;
  select coalesce(used.tokens, 0) as tokens, coalesce(used.usd, 0) as usd,
      coalesce(held.tokens, 0) as held_tokens, coalesce(held.usd, 0) as held_usd
    into v_used
    from (
      select sum(input_tokens + output_tokens)::double precision as tokens, sum(cost_usd) as usd
      from {schema}.usage_days where owner = p_owner and day = v.day
    ) used cross join (
      select sum(reserved_tokens)::double precision as tokens, sum(reserved_usd) as usd
      from {schema}.active_runs where owner = p_owner and reserved_tokens is not null
    ) held;
  v_left_tokens := coalesce(v.tokens_per_day, 'infinity'::double precision) - v_used.tokens - v_used.held_tokens;
  v_left_usd := coalesce(v.usd_per_day, 'infinity'::double precision) - v_used.usd - v_used.held_usd;
  if v_left_tokens < v.least_tokens then
    v_waits_for_runs := v_left_tokens + v_used.held_tokens >= v.least_tokens;
    return json_build_object('limit', 'tokensPerDay', 'left', greatest(v_left_tokens, 0),
      'wait', case when v_waits_for_runs then 1000 else v.rest_of_day end)::text;
  end if;
  if v_left_usd < v.least_usd or v_left_usd <= 0 then
    v_waits_for_runs := v_left_usd + v_used.held_usd >= v.least_usd and v_left_usd + v_used.held_usd > 0;
    return json_build_object('limit', 'usdPerDay', 'left', greatest(v_left_usd, 0),
      'wait', case when v_waits_for_runs then 1000 else v.rest_of_day end)::text;
  end if;
  return json_build_object(
    'tokens', least(v.wanted_tokens, v_left_tokens)::bigint, 'usd', least(v.wanted_usd, v_left_usd))::text;
end $$`
)

/** Locks the owner's admissions until the end of the transaction. Returns when all turns of the minute are free again. */
const lockAdmissions = sqlFunction(
  "lock_admissions",
  `(p_owner text) returns timestamptz language plpgsql as $$
declare
  v_free_at timestamptz;
begin
  insert into {schema}.owner_rates as kept (owner, rate, free_at) values (p_owner, 'turns', clock_timestamp())
    on conflict (owner, rate) do update set free_at = greatest(kept.free_at, clock_timestamp())
    returning free_at into v_free_at;
  return v_free_at;
end $$`
)

/** Returns what the run may reserve, or the refusal (the JSON has a `limit`). A run that is refused has counted nothing. */
const admitRun = sqlFunction(
  "admit_run",
  `(p_owner text, p_request text, p_history bigint, p_is_idle boolean) returns text language plpgsql as $$
declare
  v record;
  v_free_at timestamptz;
  v_wait double precision;
  v_active integer;
  v_grant text;
begin
  v_free_at := {schema}.lock_admissions(p_owner);
  select * into v from json_to_record(p_request::json) as request (${requestColumns});
  if v.turns_per_minute is not null then
    v_wait := extract(epoch from v_free_at - clock_timestamp()) * 1000 + 60000 / v.turns_per_minute - 60000;
    if v_wait > 0 then return json_build_object('limit', 'turnsPerMinute', 'left', 0, 'wait', ceil(v_wait))::text; end if;
  end if;
  if v.turns_at_once is not null and p_is_idle then
    select count(distinct thread_id) into v_active from {schema}.active_runs
      where owner = p_owner and reserved_tokens is not null;
    if v_active >= v.turns_at_once then return json_build_object('limit', 'turnsAtOnce', 'left', 0, 'wait', 1000)::text; end if;
  end if;
  v_grant := {schema}.grant_budget(p_owner, p_request, p_history);
  if v.turns_per_minute is not null and v_grant::json ->> 'limit' is null then
    update {schema}.owner_rates set free_at = v_free_at + 60 / v.turns_per_minute * interval '1 second'
      where owner = p_owner and rate = 'turns';
  end if;
  return v_grant;
end $$`
)

/** Reserves more for an active run. Returns what was granted, or the refusal; null when the lease is lost. */
const reserveMore = sqlFunction(
  "reserve_more",
  `(p_owner text, p_thread uuid, p_run uuid, p_token bigint, p_request text) returns text language plpgsql as $$
declare
  v_grant text;
begin
  perform from {schema}.runs where id = p_run and owner = p_owner and token = p_token and status = 'IN_PROGRESS' for no key update;
  if not found then return null; end if;
  perform {schema}.lock_admissions(p_owner);
  v_grant := {schema}.grant_budget(p_owner, p_request, 0);
  update {schema}.active_runs set reserved_tokens = coalesce(reserved_tokens, 0) + (v_grant::json ->> 'tokens')::bigint,
      reserved_usd = coalesce(reserved_usd, 0) + (v_grant::json ->> 'usd')::double precision
    where thread_id = p_thread and owner = p_owner and run_id = p_run and v_grant::json ->> 'limit' is null;
  return v_grant;
end $$`
)

/** What an active run has reserved, in the form in which `admit_run` returned it. */
const reservedOf = sqlFunction(
  "reserved_of",
  `(p_owner text, p_thread uuid, p_run uuid) returns text language plpgsql as $$
declare
  v_reserved text;
begin
  select json_build_object('tokens', reserved_tokens, 'usd', reserved_usd)::text into v_reserved from {schema}.active_runs
    where thread_id = p_thread and owner = p_owner and run_id = p_run and reserved_tokens is not null;
  return v_reserved;
end $$`
)

/** Takes requests ahead: at most an eighth of what is free, so that other processes get their part. `o_wait`: when one more is free. */
const takeRequests = sqlFunction(
  "take_requests",
  `(p_owner text, p_per_minute double precision, p_wanted integer, out o_taken integer, out o_wait double precision)
language plpgsql as $$
declare
  v_ahead double precision;
  v_each double precision := 60000 / p_per_minute;
begin
  insert into {schema}.owner_rates as kept (owner, rate, free_at) values (p_owner, 'requests', clock_timestamp())
    on conflict (owner, rate) do update set free_at = greatest(kept.free_at, clock_timestamp())
    returning greatest(extract(epoch from free_at - clock_timestamp()) * 1000, 0) into v_ahead;
  o_wait := greatest(ceil(v_ahead + v_each - 60000), 0);
  o_taken := case when o_wait > 0 then 0 else least(p_wanted, ceil(floor((60000 - v_ahead) / v_each) / 8)) end;
  if o_taken > 0 then
    update {schema}.owner_rates set free_at = free_at + o_taken * v_each * interval '1 millisecond'
      where owner = p_owner and rate = 'requests';
  end if;
end $$`
)

export const quotaFunctions: ReadonlyArray<SqlFunction> = [
  lockAdmissions,
  grantBudget,
  admitRun,
  reserveMore,
  reservedOf,
  takeRequests
].map(withFixedPlans)
