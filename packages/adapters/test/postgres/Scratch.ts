/** A schema of its own for each suite, dropped at the end, so that a shared database stays as it was. */
import * as PgClient from "@effect/sql-pg/PgClient"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import type * as Scope from "effect/Scope"
import type { SqlError } from "effect/sql/SqlError"

/** A plain client, as a host would have. */
export const hostClient = (
  url: string,
  options: PgClient.PgPoolConfig = {}
): Layer.Layer<PgClient.PgClient, SqlError> =>
  PgClient.layer({ url: Redacted.make(url), maxConnections: 4, ...options })

const drop = (url: string, schema: string): Effect.Effect<void> =>
  PgClient.PgClient.use((client) => client.unsafe(`drop schema if exists ${schema} cascade`)).pipe(
    Effect.provide(hostClient(url)),
    Effect.orDie
  )

/** A name that no schema has yet. */
export const scratchSchema = (url: string): Effect.Effect<string, never, Scope.Scope> =>
  Effect.acquireRelease(
    Effect.sync(() => `test_${globalThis.crypto.randomUUID().replaceAll("-", "").slice(0, 16)}`),
    (schema) => drop(url, schema)
  )

/** A layer over a scratch schema. */
export const onScratchSchema = <A, E, R>(
  url: string,
  make: (schema: string) => Layer.Layer<A, E, R>
): Layer.Layer<A, E, R> => Layer.unwrap(Effect.map(scratchSchema(url), make))
