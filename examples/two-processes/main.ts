/**
 * Run `node --conditions=colloquy-source examples/two-processes/main.ts begin` in one terminal, and `… cancel <thread> <run>` with the
 * printed ids in another one; DATABASE_URL names the database that both use.
 */
import { RunId, ThreadId, type Turns } from "@colloquy/core"
import * as Effect from "effect/Effect"
import { begin, followAndCancel, kernelOn } from "./Worker.ts"

const [command, threadId = "", runId = ""] = process.argv.slice(2)
const { DATABASE_SCHEMA: schema = "colloquy", DATABASE_URL: url = "" } = process.env

const work: Effect.Effect<unknown, unknown, Turns> =
  command === "cancel" ? followAndCancel(ThreadId.make(threadId), RunId.make(runId)) : begin

console.log(JSON.stringify(await Effect.runPromise(Effect.provide(work, kernelOn(url, schema)))))
