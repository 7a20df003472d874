/**
 * What owners used, summed by day, provider, model and purpose. The sums of one day are spread over slots, one for each connection, so that
 * runs that end together do not wait for each other's commit. A provider may report a model's name of any length, so the key holds a hash of the names.
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

/** A JSON list, in which every provider, model and purpose comes once. */
const addCharges = sqlFunction(
  "add_charges",
  `(p_owner text, p_at timestamptz, p_charges text) returns void language plpgsql as $$
begin
  insert into {schema}.usage_days as known (
    owner, day, names_hash, slot, provider, model, purpose, input_tokens, output_tokens, cached_input_tokens, cache_write_tokens,
    reasoning_tokens, cost_usd, estimated
  ) select p_owner, (p_at at time zone 'UTC')::date, hashtextextended(concat_ws(chr(31), provider, model, purpose), 0),
      pg_backend_pid() % 64, provider, model, purpose, input, output, cached, cache_write, reasoning, cost, estimated
    from json_to_recordset(p_charges::json) as charge (
      provider text, model text, purpose text, input bigint, output bigint, cached bigint, cache_write bigint, reasoning bigint,
      cost double precision, estimated boolean
    )
    order by provider, model, purpose
  on conflict (owner, day, names_hash, slot) do update set
    input_tokens = known.input_tokens + excluded.input_tokens,
    output_tokens = known.output_tokens + excluded.output_tokens,
    cached_input_tokens = known.cached_input_tokens + excluded.cached_input_tokens,
    cache_write_tokens = known.cache_write_tokens + excluded.cache_write_tokens,
    reasoning_tokens = known.reasoning_tokens + excluded.reasoning_tokens,
    cost_usd = coalesce(known.cost_usd + excluded.cost_usd, known.cost_usd, excluded.cost_usd),
    estimated = known.estimated or excluded.estimated;
end $$`
)

/** Which charges outside a turn were counted. */
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

/** The same, once for an id. */
const addChargesOnce = sqlFunction(
  "add_charges_once",
  `(p_owner text, p_id uuid, p_charges text) returns void language plpgsql as $$
begin
  insert into {schema}.usage_receipts (owner, id) values (p_owner, p_id) on conflict do nothing;
  if found then perform {schema}.add_charges(p_owner, clock_timestamp(), p_charges); end if;
end $$`
)

export const ledgerFunctions: ReadonlyArray<SqlFunction> = [addCharges, addChargesOnce]
