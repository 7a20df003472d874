/** A separate database on the Postgres server of the tests, for servers in processes. It is removed with the test. */
import { randomUUID } from "node:crypto"
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
