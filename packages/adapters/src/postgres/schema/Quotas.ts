/**
 * Limits of owners. A run that is admitted under limits has its reservation in its row of `active_runs`, which goes when the run is
 * settled, withdrawn or deleted, so nothing can stay reserved without a run. Rows of owners without limits are in no index of this file.
 */
import { type Migration, sqlFunction, type SqlFunction, withFixedPlans } from "./SchemaPart.ts"

/**
 * A minute of a rate begins with its first use. The row of the rate `turns` is also the lock under which runs of one owner are admitted one
 * after the other; it is the last row that the transaction locks.
 */
const rates = `
create table {schema}.owner_rates (
  owner text collate "C" not null,
  rate text collate "C" not null,
  used integer not null,
  ends_at timestamptz not null,
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

/** The reservations of work outside of runs from the day's budget. An expired row reserves nothing; the next reservation deletes it. */
export const budgetHolds: Migration = {
  name: "budget holds",
  tables: ["budget_holds"],
  statements: [
    `create table {schema}.budget_holds (
      owner text collate "C" not null,
      id uuid not null,
      assistant uuid,
      tokens bigint not null,
      usd double precision not null,
      ends_at timestamptz not null,
      primary key (owner, id)
    )`
  ]
}

/** A host may give any numbers as limits, such as a third of a million. */
const requestColumns = `turns_per_minute double precision, turns_at_once double precision, tokens_per_day double precision,
      usd_per_day double precision, least_tokens double precision, least_usd double precision, wanted_tokens double precision,
      wanted_usd double precision, usd_per_token double precision, day date, rest_of_day double precision, assistant uuid,
      tokens_of_assistant double precision,
      usd_of_assistant double precision, input_price double precision, output_price double precision, embedding_price double precision`

/** The amount that a row of `usage_days` counts for a budget in US dollars. The prices are those of a million tokens. */
export const countedCost = (prices: { readonly input: string; readonly output: string; readonly embedding: string }) =>
  `coalesce(cost_usd, case when purpose = 'embedding' then input_tokens * ${prices.embedding}
    else input_tokens * ${prices.input} + output_tokens * ${prices.output} end / 1e6)`

/** The refusal of one pair of limits as JSON. Null: there is enough. `p_held` is the amount that active work may release soon. */
const refuseBudget = sqlFunction(
  "refuse_budget",
  `(
  p_names text[], p_left_tokens double precision, p_left_usd double precision, p_held_tokens double precision, p_held_usd double precision,
  p_least_tokens double precision, p_least_usd double precision, p_rest double precision
) returns text language plpgsql as $$
declare
  v_room double precision := p_left_usd + p_held_usd;
begin
  if p_left_tokens < p_least_tokens then
    return json_build_object('limit', p_names[1], 'left', greatest(p_left_tokens, 0),
      'wait', case when p_left_tokens + p_held_tokens >= p_least_tokens then 1000 else p_rest end)::text;
  end if;
  if p_left_usd < p_least_usd or p_left_usd <= 0 then
    return json_build_object('limit', p_names[2], 'left', greatest(p_left_usd, 0),
      'wait', case when v_room >= p_least_usd and v_room > 0 then 1000 else p_rest end)::text;
  end if;
  return null;
end $$`
)

/**
 * The amount that is granted of the day's budget, as JSON (`tokens` and `usd`), or the refusal. One statement reads the ledger and the
 * reservations, so that a run that is settled meanwhile is counted in one of them and never in both or none.
 */
const grantBudget = sqlFunction(
  "grant_budget",
  `(p_owner text, p_request text, p_history bigint) returns text language plpgsql as $$
declare
  v record;
  v_used record;
  v_refusal text;
  v_left_tokens double precision;
  v_left_usd double precision;
  v_tokens_of_assistant double precision := 'infinity';
  v_usd_of_assistant double precision := 'infinity';
begin
  select * into v from json_to_record(p_request::json) as request (${requestColumns});
  v.least_tokens := v.least_tokens + p_history;
  v.wanted_tokens := v.wanted_tokens + p_history;
  v.least_usd := v.least_usd + p_history * coalesce(v.usd_per_token, 0);
  v.wanted_usd := v.wanted_usd + p_history * coalesce(v.usd_per_token, 0);
  if v.tokens_per_day is null and v.usd_per_day is null and v.assistant is null then
    return json_build_object('tokens', v.wanted_tokens::bigint, 'usd', v.wanted_usd)::text;
  end if;
  select coalesce(used.tokens, 0) as tokens, coalesce(used.usd, 0) as usd,
      coalesce(held.tokens, 0) as held_tokens, coalesce(held.usd, 0) as held_usd,
      coalesce(used.own_tokens, 0) as own_tokens, coalesce(used.own_usd, 0) as own_usd,
      coalesce(held.own_tokens, 0) as held_own_tokens, coalesce(held.own_usd, 0) as held_own_usd
    into v_used
    from (
      select sum(tokens) as tokens, sum(usd) as usd,
        sum(tokens) filter (where assistant = v.assistant) as own_tokens, sum(usd) filter (where assistant = v.assistant) as own_usd
      from (
        select assistant, (input_tokens + output_tokens)::double precision as tokens,
          ${countedCost({ input: "v.input_price", output: "v.output_price", embedding: "v.embedding_price" })} as usd
        from {schema}.usage_days where owner = p_owner and day = v.day
      ) of_day
    ) used cross join (
      select sum(tokens)::double precision as tokens, sum(usd) as usd,
        sum(tokens) filter (where assistant = v.assistant)::double precision as own_tokens,
        sum(usd) filter (where assistant = v.assistant) as own_usd
      from (
        select active.reserved_tokens as tokens, active.reserved_usd as usd, case when v.assistant is not null then (
            select assistant_id from {schema}.threads where id = active.thread_id and owner = p_owner
          ) end as assistant
          from {schema}.active_runs active where active.owner = p_owner and active.reserved_tokens is not null
        union all
        select tokens, usd, assistant from {schema}.budget_holds where owner = p_owner and ends_at > clock_timestamp()
      ) reserved
    ) held;
  v_left_tokens := coalesce(v.tokens_per_day, 'infinity'::double precision) - v_used.tokens - v_used.held_tokens;
  v_left_usd := coalesce(v.usd_per_day, 'infinity'::double precision) - v_used.usd - v_used.held_usd;
  v_refusal := {schema}.refuse_budget(array['tokensPerDay', 'usdPerDay'], v_left_tokens, v_left_usd,
    v_used.held_tokens, v_used.held_usd, v.least_tokens, v.least_usd, v.rest_of_day);
  if v_refusal is null and v.assistant is not null then
    v_tokens_of_assistant :=
      coalesce(v.tokens_of_assistant, 'infinity'::double precision) - v_used.own_tokens - v_used.held_own_tokens;
    v_usd_of_assistant := coalesce(v.usd_of_assistant, 'infinity'::double precision) - v_used.own_usd - v_used.held_own_usd;
    v_refusal := {schema}.refuse_budget(array['tokensPerDayOfAssistant', 'usdPerDayOfAssistant'],
      v_tokens_of_assistant, v_usd_of_assistant,
      v_used.held_own_tokens, v_used.held_own_usd, v.least_tokens, v.least_usd, v.rest_of_day);
  end if;
  if v_refusal is not null then return v_refusal; end if;
  return json_build_object(
    'tokens', least(v.wanted_tokens, v_left_tokens, v_tokens_of_assistant)::bigint,
    'usd', least(v.wanted_usd, v_left_usd, v_usd_of_assistant))::text;
end $$`
)

/** Reserves for work outside of runs. Returns what was granted, or the refusal. */
const holdBudget = sqlFunction(
  "hold_budget",
  `(p_owner text, p_id uuid, p_request text, p_millis double precision) returns text language plpgsql as $$
declare
  v_grant text;
begin
  perform {schema}.lock_rate(p_owner, 'turns');
  delete from {schema}.budget_holds where owner = p_owner and (id = p_id or ends_at <= clock_timestamp());
  v_grant := {schema}.grant_budget(p_owner, p_request, 0);
  if v_grant::json ->> 'limit' is null then
    insert into {schema}.budget_holds (owner, id, assistant, tokens, usd, ends_at) values (
      p_owner, p_id, (p_request::json ->> 'assistant')::uuid, (v_grant::json ->> 'tokens')::bigint,
      (v_grant::json ->> 'usd')::double precision, clock_timestamp() + p_millis * interval '1 millisecond');
  end if;
  return v_grant;
end $$`
)

/** Locks a rate of the owner until the end of the transaction. Returns how much of the minute's rate is used, and the milliseconds until the minute ends. */
const lockRate = sqlFunction(
  "lock_rate",
  `(p_owner text, p_rate text, out o_used integer, out o_left double precision) language plpgsql as $$
declare
  v_now timestamptz;
  v_ends_at timestamptz;
begin
  insert into {schema}.owner_rates as kept (owner, rate, used, ends_at)
    values (p_owner, p_rate, 0, clock_timestamp() + interval '1 minute')
    on conflict (owner, rate) do update set used = kept.used
    returning used, ends_at into o_used, v_ends_at;
  v_now := clock_timestamp();
  if v_ends_at <= v_now then
    update {schema}.owner_rates set used = 0, ends_at = v_now + interval '1 minute' where owner = p_owner and rate = p_rate
      returning used, ends_at into o_used, v_ends_at;
  end if;
  o_left := greatest(ceil(extract(epoch from v_ends_at - v_now) * 1000), 1);
end $$`
)

/** Returns what the run may reserve, or the refusal (the JSON has a `limit`). A run that is refused has counted nothing. */
const admitRun = sqlFunction(
  "admit_run",
  `(p_owner text, p_request text, p_history bigint, p_is_idle boolean) returns text language plpgsql as $$
declare
  v record;
  v_rate record;
  v_active integer;
  v_grant text;
begin
  select * into v_rate from {schema}.lock_rate(p_owner, 'turns');
  select * into v from json_to_record(p_request::json) as request (${requestColumns});
  if v_rate.o_used >= v.turns_per_minute then
    return json_build_object('limit', 'turnsPerMinute', 'left', 0, 'wait', v_rate.o_left)::text;
  end if;
  if v.turns_at_once is not null and p_is_idle then
    select count(distinct thread_id) into v_active from {schema}.active_runs
      where owner = p_owner and reserved_tokens is not null;
    if v_active >= v.turns_at_once then return json_build_object('limit', 'turnsAtOnce', 'left', 0, 'wait', 1000)::text; end if;
  end if;
  v_grant := {schema}.grant_budget(p_owner, p_request, p_history);
  if v.turns_per_minute is not null and v_grant::json ->> 'limit' is null then
    update {schema}.owner_rates set used = used + 1 where owner = p_owner and rate = 'turns';
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
  perform from {schema}.runs where id = p_run and owner = p_owner and token = p_token and status in ('QUEUED', 'IN_PROGRESS')
    for no key update;
  if not found then return null; end if;
  perform {schema}.lock_rate(p_owner, 'turns');
  v_grant := {schema}.grant_budget(p_owner, p_request, 0);
  update {schema}.active_runs set reserved_tokens = coalesce(reserved_tokens, 0) + (v_grant::json ->> 'tokens')::bigint,
      reserved_usd = coalesce(reserved_usd, 0) + (v_grant::json ->> 'usd')::double precision
    where thread_id = p_thread and owner = p_owner and run_id = p_run and v_grant::json ->> 'limit' is null;
  return v_grant;
end $$`
)

/** The reservation of an active run, in the form in which `admit_run` returned it. */
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

/** Takes requests ahead: at most an eighth of the free ones, so that other processes get their part. */
const takeRequests = sqlFunction(
  "take_requests",
  `(p_owner text, p_per_minute double precision, p_wanted integer, out o_taken integer, out o_left double precision)
language plpgsql as $$
declare
  v_used integer;
begin
  select rate.o_used, rate.o_left into v_used, o_left from {schema}.lock_rate(p_owner, 'requests') rate;
  o_taken := greatest(least(p_wanted, ceil((floor(p_per_minute) - v_used) / 8)), 0);
  if o_taken > 0 then
    update {schema}.owner_rates set used = used + o_taken where owner = p_owner and rate = 'requests';
  end if;
end $$`
)

export const quotaFunctions: ReadonlyArray<SqlFunction> = [
  lockRate,
  refuseBudget,
  grantBudget,
  holdBudget,
  admitRun,
  reserveMore,
  reservedOf,
  takeRequests
].map(withFixedPlans)
