/** A separate database on the Postgres server of the tests, for servers in processes. It is removed with the test. */
import { randomUUID } from "node:crypto"
import { Postgres } from "@colloquy/adapters/postgres"
import * as Effect from "effect/Effect"
import * as Redacted from "effect/Redacted"
import pg from "pg"

export const scratchDatabase = async (url: string) => {
  const name = `server_${randomUUID().replaceAll("-", "")}`
  const admin = async (statement: string) => {
    const client = new pg.Client({ connectionString: url })
    await client.connect()
    await client.query(statement)
    await client.end()
  }
  await admin(`create database ${name}`)
  const own = new URL(url)
  own.pathname = `/${name}`
  return { url: own.href, [Symbol.asyncDispose]: () => admin(`drop database if exists ${name} with (force)`) }
}

/** A new database of Citus would have no workers, so this is the schema of a service in the database that the tests may empty. */
export const distributedDatabase = async (url: string) => {
  const drop = async () => {
    const client = new pg.Client({ connectionString: url })
    await client.connect()
    await client.query("drop schema if exists colloquy cascade")
    await client.end()
  }
  await drop()
  await Effect.runPromise(Postgres.distribute({ url: Redacted.make(url) }))
  return { url, [Symbol.asyncDispose]: drop }
}
