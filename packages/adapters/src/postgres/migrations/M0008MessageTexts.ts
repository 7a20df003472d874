/**
 * Messages as the kernel reads them, many in one value: a client takes one long text faster than thousands of small columns. What is JSON in
 * its column goes in as it is. And how a statement says how long it will wait for a lock, because those that share a connection
 * must not hold up the others.
 */
import type { Migration } from "./Migration.ts"

/** An array, made of what needs no escaping: ids, words of ours, numbers, JSON. `concat` leaves out what is null. */
const messageText = `
create function {schema}.message_text(p_message {schema}.messages) returns text language sql stable as $$
  select concat(
    '["', p_message.id, '","', p_message.thread_id, '",',
    '"' || p_message.run_id || '"', case when p_message.run_id is null then 'null' end,
    ',', p_message.sequence, ',"', p_message.role, '","', p_message.status, '",', p_message.tokens, ',',
    (date_part('epoch', p_message.created_at) * 1000)::bigint, ',', p_message.body, ',', p_message.tool_results, ']')
$$`

/** The history of a run: one text, or rows of about a million bytes where it is longer, because a client takes no value of any length. */
const historyTexts = `
create function {schema}.history_texts(p_owner text, p_run uuid, p_budget bigint)
returns table (part bigint, tokens_before bigint, messages text) language plpgsql as $$
declare
  v_first {schema}.messages;
  v_from integer;
  v_before bigint;
  v_texts text;
begin
  if p_run is null then return; end if;
  select * into v_first from {schema}.messages m
    where m.run_id = p_run and m.owner = p_owner and m.sequence is not null order by m.sequence limit 1;
  select least(m.sequence, v_first.sequence) into v_from from {schema}.messages m
    where m.thread_id = v_first.thread_id and m.owner = p_owner and m.tokens_before >= v_first.tokens_before - p_budget
    order by m.tokens_before, m.sequence limit 1;
  select min(m.tokens_before), '[' || string_agg({schema}.message_text(m), ',' order by m.sequence) || ']' into v_before, v_texts
    from {schema}.messages m where m.thread_id = v_first.thread_id and m.owner = p_owner and m.sequence >= v_from;
  if octet_length(v_texts) <= 1000000 then
    return query select bigint '0', v_before, v_texts;
    return;
  end if;
  return query
    select page.part, min(page.tokens_before), '[' || string_agg(page.message, ',' order by page.sequence) || ']'
    from (
      select listed.*, sum(octet_length(listed.message)) over (order by listed.sequence) / 1000000 as part
      from (
        select m.sequence, m.tokens_before, {schema}.message_text(m) as message
        from {schema}.messages m where m.thread_id = v_first.thread_id and m.owner = p_owner and m.sequence >= v_from
      ) listed
    ) page
    group by page.part order by page.part;
end $$`

/** Gives its first argument back, for the rest of whose transaction nothing waits longer for a lock; null leaves that as it is. */
const patient = `
create function {schema}.patient(p_owner text, p_millis integer) returns text language plpgsql as $$
begin
  if p_millis is not null then perform set_config('lock_timeout', p_millis::text, true); end if;
  return p_owner;
end $$`

export const M0008MessageTexts: Migration = {
  name: "0008_message_texts",
  tables: [],
  statements: [messageText, historyTexts, patient]
}
