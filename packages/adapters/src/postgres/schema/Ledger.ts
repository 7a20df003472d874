/**
 * What owners used, summed by day, provider, model and purpose. The sums of one day are spread over slots, so that runs that end together
 * do not wait for each other's commit. A provider may report a model's name of any length, so the key holds a hash of the names.
 */
import type { Migration } from "./SchemaPart.ts"

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
