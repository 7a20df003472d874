/** Creates separate databases on the server of the benchmark, and measures how long a commit takes there: without waiting for a disk it is cheap. */
import pg from "pg"
import { median } from "./Load.ts"

/** Creates an empty database with this name, after dropping an existing one, and returns its URL. */
export const emptyDatabase = async (server: string, name: string): Promise<string> => {
  const client = await connect(server)
  await client.query(`drop database if exists ${name} with (force)`)
  await client.query(`create database ${name}`)
  await client.end()
  return Object.assign(new URL(server), { pathname: `/${name}` }).href
}

export const dropDatabase = async (server: string, name: string): Promise<void> => {
  const client = await connect(server)
  await client.query(`drop database if exists ${name} with (force)`)
  await client.end()
}

export interface Durability {
  /** The server's `fsync`, `synchronous_commit` and `full_page_writes`. */
  readonly settings: Readonly<Record<string, string>>
  readonly version: string
  /** The median time of a transaction that writes one row, when no other transaction runs. */
  readonly commitMillis: number
}

export const measureDurability = async (server: string): Promise<Durability> => {
  const client = await connect(server)
  const settings: Record<string, string> = {}
  for (const name of ["fsync", "synchronous_commit", "full_page_writes"]) {
    const shown = await client.query<Readonly<Record<string, string>>>(`show ${name}`)
    settings[name] = shown.rows[0]?.[name] ?? ""
  }
  const version = (await client.query<{ readonly server_version: string }>("show server_version")).rows[0]
    ?.server_version
  await client.query("create table bench_commits (n int)")
  const commits: Array<number> = []
  for (let n = 0; n < 50; n++) {
    const start = performance.now()
    await client.query("insert into bench_commits values ($1)", [n])
    commits.push(performance.now() - start)
  }
  await client.query("drop table bench_commits")
  await client.end()
  return { settings, version: version ?? "", commitMillis: median(commits) }
}

const connect = async (connectionString: string): Promise<pg.Client> => {
  const client = new pg.Client({ connectionString })
  await client.connect()
  return client
}
