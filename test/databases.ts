/**
 * Where a test runs on a database, it says so through these two functions. The test reporter counts them, so that nobody believes a test ran
 * which did not: without TEST_DATABASE_URL the tests on Postgres are skipped with a reason, and with CI=true that is a failure.
 */
import { afterAll, beforeAll, describe, it } from "@effect/vitest"
import type * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as ManagedRuntime from "effect/ManagedRuntime"

declare module "vitest" {
  interface TaskMeta {
    /** The database that this test ran on, for the summary at the end. */
    readonly database?: string
  }
}

const reason = "TEST_DATABASE_URL is not set; `npm run test:postgres` starts a server for the tests"

/** A server: `body` receives its connection URL. */
export const onPostgres = (body: (url: string) => void): void => {
  const url = process.env["TEST_DATABASE_URL"]
  if (url !== undefined && url !== "") {
    describe("on Postgres", { meta: { database: "Postgres" } }, () => body(url))
    return
  }
  it.skipIf(process.env["CI"] !== "true")(`on Postgres (${reason})`, () => {
    throw new Error(`With CI=true the tests on Postgres must run: ${reason}.`)
  })
}

/** A coordinator of Citus with workers: `body` receives its connection URL. Such a server is had nowhere but by who sets its address. */
export const onCitus = (body: (url: string) => void): void => {
  const url = process.env["TEST_CITUS_URL"]
  if (url !== undefined && url !== "") describe("on Citus", { meta: { database: "Citus" } }, () => body(url))
  else it.skipIf(true)("on Citus (TEST_CITUS_URL is not set: the address of a coordinator with two workers)", () => {})
}

/** A database inside the process, which is always there. */
export const onEmbedded = (database: "PGlite" | "in-memory", body: () => void): void => {
  describe(`on ${database}`, { meta: { database } }, body)
}

/**
 * Stores that several suites of a file share: they are opened before the first of them, and closed after the last. Each suite finds what those
 * before it have left. Not for kernels: one could take the background work of another. A database in the process costs a second of CPU to open.
 */
export const oneDatabase = <Stores>(stores: Layer.Layer<Stores, unknown>): Layer.Layer<Stores> => {
  let runtime: ManagedRuntime.ManagedRuntime<Stores, unknown>
  let opened: Promise<Context.Context<Stores>>
  beforeAll(() => {
    runtime = ManagedRuntime.make(stores)
    opened = runtime.context()
  })
  afterAll(() => runtime.dispose())
  return Layer.effectContext(Effect.promise(() => opened))
}
