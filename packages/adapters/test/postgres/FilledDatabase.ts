/** A database that has been in use for a while: 100,000 messages of 100 owners, and everything around them. Written behind the ports. */
import { AssistantId, RunId, ThreadId } from "@colloquy/core"
import { PgClient } from "@effect/sql-pg/PgClient"
import * as Effect from "effect/Effect"

/** Of the owner in the middle, whose first thread is a long one. */
export interface Filled {
  readonly owner: string
  readonly assistantId: AssistantId
  readonly longThread: ThreadId
  readonly threads: ReadonlyArray<ThreadId>
  readonly runId: RunId
}

const statements = (schema: string): ReadonlyArray<string> => [
  `create function ${schema}.nth(kind text, n bigint) returns uuid language sql immutable as $$ select md5(kind || '/' || n)::uuid $$`,

  `insert into ${schema}.assistants (id, owner, name, search_limit, embedding, created_at, updated_at)
   select ${schema}.nth('assistant', n), 'owner-' || n % 100, 'assistant ' || n % 7, 10, '{}', now() - n * interval '1 minute', now()
   from generate_series(1, 4000) n`,

  `insert into ${schema}.threads (id, owner, assistant_id, created_at, updated_at, message_count, tokens)
   select ${schema}.nth('thread', n), 'owner-' || n % 100, ${schema}.nth('assistant', n), now() - n * interval '1 minute', now(),
     case when n = 50 then 20020 else 20 end, case when n = 50 then 200200 else 200 end
   from generate_series(1, 4000) n`,

  // Twenty messages in each thread, and twenty thousand more in one.
  `create temporary table places as
     select n as thread, place from generate_series(1, 4000) n, generate_series(1, 20) place
     union all select 50, place from generate_series(21, 20020) place`,

  `insert into ${schema}.messages (id, owner, thread_id, run_id, sequence, role, status, tokens, tokens_before, created_at, body, tool_results)
   select ${schema}.nth('message ' || thread, place), 'owner-' || thread % 100, ${schema}.nth('thread', thread),
     ${schema}.nth('run ' || thread, (place + 1) / 2), place, case place % 2 when 1 then 'user' else 'assistant' end, 'COMPLETED',
     10, (place - 1) * 10, now(), '{"content": "words", "toolCalls": [], "steps": []}', '[]'
   from places`,

  `insert into ${schema}.runs (id, owner, thread_id, assistant_id, status, leg_start, last_sequence, user_message_id, answer_id, stream,
     provider, model, plan, created_at, token, leg_token, first_message, last_message)
   select ${schema}.nth('run ' || thread, place / 2), 'owner-' || thread % 100, ${schema}.nth('thread', thread),
     ${schema}.nth('assistant', thread), 'COMPLETED', 1, 20, ${schema}.nth('message ' || thread, place - 1),
     ${schema}.nth('message ' || thread, place), false, 'provider', 'model', '{}', now(), 1, 1, place - 1, place
   from places where place % 2 = 0`,

  `insert into ${schema}.run_log
   select owner, id, half * 10 - 9, half * 10, '[]' from ${schema}.runs, generate_series(1, 2) half`,

  `insert into ${schema}.idempotency_keys
   select owner, 'key ' || id, 'print', id, 1, now() - ordinal * interval '10 seconds' from ${schema}.runs`,

  `insert into ${schema}.keys (id, owner, name, hash, created_at)
   select ${schema}.nth('key', n), 'owner-' || n % 1000, 'a key', md5(n::text) || md5('b' || n), now() from generate_series(1, 20000) n`,

  `insert into ${schema}.usage_days
   select 'owner-' || n % 100, current_date - (n / 1600)::int, n % 5, n / 100 % 16, 'provider', 'model ' || n % 5, 'answer', 1, 1, 0, 0, 0, null, false
   from generate_series(1, 20000) n on conflict do nothing`,

  `insert into ${schema}.follow_ups (owner, id, kind, key, payload, sequence, status, due_at, created_at, ended_at)
   select 'owner-' || n % 100, ${schema}.nth('follow-up', n), 'kind ' || n % 5, 'key ' || n, '{}', 'sequence ' || n % 50,
     case when n % 100 = 0 then 'dead' when n % 10 = 0 then 'pending' else 'done' end, now() + interval '1 hour', now(),
     now() - n * interval '1 minute'
   from generate_series(1, 20000) n`,

  `insert into ${schema}.deleted_runs (owner, id, token) select 'owner-' || n % 1000, ${schema}.nth('deleted', n), 1
   from generate_series(1, 20000) n`,

  "analyze"
]

export const fillDatabase = (schema: string): Effect.Effect<Filled, unknown, PgClient> =>
  PgClient.use((client) =>
    Effect.gen(function* () {
      yield* Effect.forEach(statements(schema), (statement) => client.unsafe(statement).unprepared)
      const id = (kind: string, n: number) =>
        Effect.map(
          client.unsafe<{ readonly id: string }>(`select ${schema}.nth($1, $2) as id`, [kind, n]),
          ([row]) => row?.id ?? ""
        )
      return {
        owner: "owner-50",
        assistantId: AssistantId.make(yield* id("assistant", 50)),
        longThread: ThreadId.make(yield* id("thread", 50)),
        threads: (yield* Effect.forEach([50, 150, 250, 350], (n) => id("thread", n))).map((each) =>
          ThreadId.make(each)
        ),
        runId: RunId.make(yield* id("run 150", 3))
      }
    })
  )
