/**
 * The move of an owner to another database (`OwnerMove.ts`). The first move from or to a database creates this table, and the first move from
 * it the triggers that refuse writes of an owner who moves.
 */

/**
 * The state of each move from this database, or to it. DRAINING: no new work of the owner begins. MOVING: nothing of the owner is written.
 * LEFT: the owner is in the other database, and its old rows are still here. REMOVED: they are deleted. ARRIVED: the owner came from another
 * database.
 */
export const movesTable = `
create table if not exists {schema}.owner_moves (
  owner text collate "C" primary key,
  id uuid not null,
  state text not null,
  changed_at timestamptz not null default clock_timestamp()
)`

/** The SQLSTATE of a refusal. Its class is "operator intervention", which earlier versions of the stores report as unavailable. */
export const movingState = "57CQ2"

/** A writer holds the lock until its transaction ends, so that nothing is written after the state has become MOVING. */
export const moveLock = (owner: string): string => `hashtextextended(${owner}, 1836021349)`

/**
 * While the owner drains: a follow-up is not claimed, and no run or voice session begins. Helpers of a run may still begin, because their run
 * needs them. Afterwards the rows of an owner who has left are only deleted.
 */
export const fenceFunction = `
create or replace function {schema}.fence_owner() returns trigger language plpgsql as $$
declare
  v_owner text := case when tg_op = 'DELETE' then old.owner else new.owner end;
  v_state text;
begin
  perform pg_advisory_xact_lock_shared(${moveLock("v_owner")});
  select state into v_state from {schema}.owner_moves where owner = v_owner;
  if v_state = 'DRAINING' then
    if tg_table_name = 'follow_ups' and tg_op = 'UPDATE' then
      if new.token is distinct from old.token then return null; end if;
    elsif tg_table_name = 'realtime_sessions' and tg_op = 'INSERT' then v_state := 'MOVING';
    elsif tg_table_name = 'runs' and tg_op = 'INSERT' then
      if new.parent_run_id is null then v_state := 'MOVING'; end if;
    elsif tg_table_name = 'runs' and tg_op = 'UPDATE' then
      if old.status = 'REQUIRES_ACTION' and new.status in ('QUEUED', 'IN_PROGRESS') then v_state := 'MOVING'; end if;
    end if;
  end if;
  if v_state = 'MOVING' or v_state in ('LEFT', 'REMOVED') and tg_op <> 'DELETE' and pg_trigger_depth() = 1 then
    raise exception using errcode = '${movingState}', message = 'The owner is being moved to another database, or has been moved.';
  end if;
  if tg_op = 'DELETE' then return old; end if;
  return new;
end $$`

/** The name begins so that the trigger is the first of those that fire before a change. */
export const fenceTrigger = (table: string): string => `
create trigger a_fence before insert or update or delete on {schema}.${table} for each row execute function {schema}.fence_owner()`
