/** The other end of a `Worker`: reads orders from its input, a JSON list `[order, argument]` a line, and writes an answer a line. */
import type { FollowUpStore, Stores } from "@colloquy/core/adapters"
import type { SessionStore } from "@colloquy/core/wings"
import * as Effect from "effect/Effect"
import type * as Layer from "effect/Layer"
import type * as ManagedRuntime from "effect/ManagedRuntime"
import * as Redacted from "effect/Redacted"
import { createInterface } from "node:readline"
import { Pglite } from "../../src/pglite/index.ts"
import { Postgres } from "../../src/postgres/index.ts"
import type { WorkerDatabase } from "./Worker.ts"

export type Orders<Argument, R> = {
  readonly [order: string]: (argument: Argument) => Effect.Effect<unknown, unknown, R>
}

/** The process was started with its database as JSON. */
export const databaseFromArguments = (args: ReadonlyArray<string>): WorkerDatabase => JSON.parse(args[2] ?? "")

export type Everything = Stores | FollowUpStore | SessionStore

export const databaseStores = (database: WorkerDatabase): Layer.Layer<Everything, unknown> =>
  database.database === "pglite"
    ? Pglite.layer(database)
    : Postgres.layer({ url: Redacted.make(database.url), schema: database.schema })

export const serve = async <Argument, R>(
  runtime: ManagedRuntime.ManagedRuntime<R, unknown>,
  orders: Orders<Argument, R>
): Promise<void> => {
  const say = (answer: unknown) => {
    process.stdout.write(`${JSON.stringify(answer)}\n`)
  }
  for await (const line of createInterface({ input: process.stdin })) {
    const [order, argument]: [string, Argument] = JSON.parse(line)
    const carryOut = orders[order] ?? (() => Effect.die(`There is no order ${order}.`))
    await runtime.runPromise(carryOut(argument)).then(say, (error: unknown) => say(String(error)))
  }
}
