/** A store on PostgreSQL: `postgres({ url })`. Every other setting is that of `@colloquy/adapters/postgres`. */
import { Postgres } from "@colloquy/adapters/postgres"
import type { Store } from "./Store.ts"
import { hidden, type Secret } from "./Secret.ts"

/** The address of the database, and the options of its stores. */
export interface PostgresOptions extends Omit<Postgres.PostgresOptions, "url"> {
  /** `postgres://user:password@host:5432/database` */
  readonly url: Secret
}

export const postgres = ({ url, ...options }: PostgresOptions): Store =>
  Postgres.layer({ keepsProcess: false, ...options, url: hidden(url) })
