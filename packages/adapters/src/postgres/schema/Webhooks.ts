/** Webhooks and their deliveries, which are deleted with them. */
import { refusedWhileErasing } from "./Owners.ts"
import { type Migration, sqlFunction, type SqlFunction } from "./SchemaPart.ts"

export const webhookTables: Migration = {
  name: "webhooks",
  tables: ["webhooks", "webhook_deliveries"],
  statements: [
    `create table {schema}.webhooks (
      owner text collate "C" not null,
      id uuid not null,
      ordinal bigint generated always as identity,
      revision integer not null,
      body text not null,
      primary key (owner, id)
    )`,
    `create index webhooks_by_ordinal on {schema}.webhooks (ordinal)`,
    `create table {schema}.webhook_deliveries (
      owner text collate "C" not null,
      id uuid not null,
      ordinal bigint generated always as identity,
      webhook_id uuid not null,
      round integer not null,
      at_rest boolean not null,
      body text not null,
      outcome text not null,
      primary key (owner, id),
      foreign key (owner, webhook_id) references {schema}.webhooks (owner, id) on delete cascade
    )`,
    `create index webhook_deliveries_of_webhook on {schema}.webhook_deliveries (owner, webhook_id, ordinal)`,
    ...refusedWhileErasing([
      ["webhooks", "insert or update"],
      ["webhook_deliveries", "insert or update of round"]
    ])
  ]
}

/** Inserts of all owners run one after the other, so that the ordinals are committed in their order. */
const insertWebhook = sqlFunction(
  "insert_webhook",
  `(p_owner text, p_id uuid, p_revision integer, p_body text, p_most double precision, p_key text, p_fingerprint text, p_answer text)
returns text language plpgsql as $$
begin
  perform pg_advisory_xact_lock(2003134053);
  if {schema}.claim_answer(p_owner, p_key, p_fingerprint, p_id, p_answer) is not null then return 'repeated'; end if;
  if (select count(*) from {schema}.webhooks where owner = p_owner) >= p_most then
    delete from {schema}.idempotency_keys where owner = p_owner and key = p_key;
    return 'too_many';
  end if;
  insert into {schema}.webhooks (owner, id, revision, body) values (p_owner, p_id, p_revision, p_body);
  return 'stored';
end $$`
)

/** Requests with the same key wait for each other at the row of the webhook. */
const replaceWebhook = sqlFunction(
  "replace_webhook",
  `(p_owner text, p_id uuid, p_revision integer, p_body text, p_key text, p_fingerprint text, p_answer text)
returns text language plpgsql as $$
begin
  perform from {schema}.webhooks where owner = p_owner and id = p_id for no key update;
  if {schema}.claim_answer(p_owner, p_key, p_fingerprint, p_id, p_answer) is not null then return 'repeated'; end if;
  update {schema}.webhooks set revision = p_revision, body = p_body where owner = p_owner and id = p_id and revision = p_revision - 1;
  if found then return 'stored'; end if;
  delete from {schema}.idempotency_keys where owner = p_owner and key = p_key;
  return 'changed';
end $$`
)

const insertDelivery = sqlFunction(
  "insert_webhook_delivery",
  `(p_owner text, p_id uuid, p_webhook uuid, p_round integer, p_at_rest boolean, p_body text, p_outcome text,
    p_follow_ups text, p_keep integer) returns boolean language plpgsql as $$
begin
  perform from {schema}.webhooks where owner = p_owner and id = p_webhook for key share;
  if not found then return false; end if;
  insert into {schema}.webhook_deliveries (owner, id, webhook_id, round, at_rest, body, outcome)
    values (p_owner, p_id, p_webhook, p_round, p_at_rest, p_body, p_outcome) on conflict do nothing;
  if not found then return false; end if;
  perform {schema}.add_follow_ups(p_owner, p_follow_ups);
  delete from {schema}.webhook_deliveries where owner = p_owner and webhook_id = p_webhook and at_rest and ordinal <= (
    select ordinal from {schema}.webhook_deliveries where owner = p_owner and webhook_id = p_webhook and at_rest
      order by ordinal desc offset p_keep limit 1
  );
  return true;
end $$`
)

/** Of two fields of one name the last one counts. The outcome is not read as `jsonb`, which refuses some strings of JSON. */
const retryDelivery = sqlFunction(
  "retry_webhook_delivery",
  `(p_owner text, p_id uuid, p_round integer, p_follow_ups text, p_key text, p_fingerprint text, p_answer text)
returns text language plpgsql as $$
begin
  perform from {schema}.webhook_deliveries where owner = p_owner and id = p_id for no key update;
  if {schema}.claim_answer(p_owner, p_key, p_fingerprint, p_id, p_answer) is not null then return 'repeated'; end if;
  update {schema}.webhook_deliveries
    set round = p_round + 1, at_rest = false,
        outcome = left(outcome, -1) || ',"status":"pending","attempts":0}'
    where owner = p_owner and id = p_id and round = p_round;
  if not found then
    delete from {schema}.idempotency_keys where owner = p_owner and key = p_key;
    return 'changed';
  end if;
  perform {schema}.add_follow_ups(p_owner, p_follow_ups);
  return 'stored';
end $$`
)

export const webhookFunctions: ReadonlyArray<SqlFunction> = [
  insertWebhook,
  replaceWebhook,
  insertDelivery,
  retryDelivery
]
