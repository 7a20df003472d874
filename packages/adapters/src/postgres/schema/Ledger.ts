/**
 * The usage of each owner, summed up by day, assistant, provider, model and purpose; charges of unknown cost have sums of their own. The sum of a day is the sum of up to 64 rows, the slots, one for
 * each database connection: two runs that end at the same time update different rows and do not wait for each other. A provider may report
 * a model name of any length, so the primary key holds a hash of the names.
 */
import { type Migration, sqlFunction, type SqlFunction } from "./SchemaPart.ts"

export const ledgerTables: Migration = {
  name: "ledger",
  tables: ["usage_days"],
  statements: [
    `create table {schema}.usage_days (
      owner text collate "C" not null,
      day date not null,
      names_hash bigint not null,
      slot smallint not null,
      provider text collate "C" not null,
      model text collate "C" not null,
      purpose text collate "C" not null,
      input_tokens bigint not null,
      output_tokens bigint not null,
      cached_input_tokens bigint not null,
      cache_write_tokens bigint not null,
      reasoning_tokens bigint not null,
      cost_usd double precision,
      estimated boolean not null,
      primary key (owner, day, names_hash, slot)
    ) with (fillfactor = 70)`
  ]
}

/** The assistant for which something was spent, wherever charges are kept until they are summed up. Null: none, or not known. */
export const assistantsOfCharges: Migration = {
  name: "assistants of charges",
  tables: [],
  statements: [
    `alter table {schema}.usage_days add column assistant uuid`,
    `alter table {schema}.usage_receipts add column assistant uuid`,
    `alter table {schema}.deleted_runs add column assistant uuid`
  ]
}

/** Adds charges to the sums of their day. `source` gives them in the order of these columns, each provider, model and purpose once. */
export const addToSums = (source: string): string => `insert into {schema}.usage_days as known (
    owner, day, names_hash, slot, provider, model, purpose, assistant, input_tokens, output_tokens, cached_input_tokens, cache_write_tokens,
    reasoning_tokens, cost_usd, estimated
  ) ${source}
  on conflict (owner, day, names_hash, slot) do update set
    input_tokens = known.input_tokens + excluded.input_tokens,
    output_tokens = known.output_tokens + excluded.output_tokens,
    cached_input_tokens = known.cached_input_tokens + excluded.cached_input_tokens,
    cache_write_tokens = known.cache_write_tokens + excluded.cache_write_tokens,
    reasoning_tokens = known.reasoning_tokens + excluded.reasoning_tokens,
    cost_usd = coalesce(known.cost_usd + excluded.cost_usd, known.cost_usd, excluded.cost_usd),
    estimated = known.estimated or excluded.estimated;`

/** The key of a sum, as a select list or as values. */
export const sumKey = (of: {
  readonly provider: string
  readonly model: string
  readonly purpose: string
  readonly assistant: string
  readonly cost: string
}): string => {
  const { assistant, cost, model, provider, purpose } = of
  return `p_owner, (p_at at time zone 'UTC')::date,
      hashtextextended(concat_ws(chr(31), ${provider}, ${model}, ${purpose}, ${assistant}, ${cost} is null), 0),
      pg_backend_pid() % 64, ${provider}, ${model}, ${purpose}, ${assistant}`
}

/** A JSON list, in which every provider, model and purpose comes once. */
const addCharges = sqlFunction(
  "add_charges",
  `(p_owner text, p_at timestamptz, p_charges text, p_assistant uuid) returns void language plpgsql as $$
begin
  ${addToSums(`select ${sumKey({ provider: "provider", model: "model", purpose: "purpose", assistant: "p_assistant", cost: "cost" })}, input, output, cached, cache_write, reasoning, cost, estimated
    from json_to_recordset(p_charges::json) as charge (
      provider text, model text, purpose text, input bigint, output bigint, cached bigint, cache_write bigint, reasoning bigint,
      cost double precision, estimated boolean
    )
    order by provider, model, purpose`)}
end $$`
)

/**
 * The ids of charges outside a turn. Those that have been counted are kept, so that a repeated call does not count them again; a row with
 * `begun` is a call under way, and holds the charge that counts if the end of the call is never seen.
 */
export const receiptTables: Migration = {
  name: "usage_receipts",
  tables: ["usage_receipts"],
  statements: [
    `create table {schema}.usage_receipts (
      owner text collate "C" not null,
      id uuid not null,
      recorded_at timestamptz not null default clock_timestamp(),
      primary key (owner, id)
    )`
  ]
}

export const begunCharges: Migration = {
  name: "charges that were begun",
  tables: [],
  statements: [
    `alter table {schema}.usage_receipts add column begun text`,
    `create index usage_receipts_begun on {schema}.usage_receipts (recorded_at) where begun is not null`
  ]
}

/** Adds the charges and ends what was begun with this id, unless charges with the same id were added before. */
const addChargesOnce = sqlFunction(
  "add_charges_once",
  `(p_owner text, p_id uuid, p_charges text, p_assistant uuid) returns void language plpgsql as $$
begin
  insert into {schema}.usage_receipts as known (owner, id) values (p_owner, p_id)
    on conflict (owner, id) do update set begun = null, recorded_at = excluded.recorded_at where known.begun is not null;
  if found and p_charges is not null then perform {schema}.add_charges(p_owner, clock_timestamp(), p_charges, p_assistant); end if;
end $$`
)

/** Adds charges that were begun too long ago, of all owners, and returns how many calls there were. */
const endBegunCharges = sqlFunction(
  "end_begun_charges",
  `(p_millis double precision, p_limit integer) returns integer language plpgsql as $$
declare
  v_count integer := 0;
  v_begun record;
begin
  for v_begun in select owner, id, begun, assistant from {schema}.usage_receipts
    where begun is not null and recorded_at <= clock_timestamp() - p_millis * interval '1 millisecond'
    order by recorded_at limit p_limit for update skip locked
  loop
    perform {schema}.add_charges_once(v_begun.owner, v_begun.id, v_begun.begun, v_begun.assistant);
    v_count := v_count + 1;
  end loop;
  return v_count;
end $$`
)

export const ledgerFunctions: ReadonlyArray<SqlFunction> = [addCharges, addChargesOnce, endBegunCharges]
