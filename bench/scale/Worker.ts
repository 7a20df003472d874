/** One of several processes that take turns on the full database: eight at a time, each for another owner. */
import { Principal, Threads, Turns } from "@colloquy/core"
import * as Effect from "effect/Effect"
import * as ManagedRuntime from "effect/ManagedRuntime"
import { ownerName } from "./Generator.ts"
import { kernelOn, question } from "./Kernel.ts"

const [schema = "", owners = "1", place = "0"] = process.argv.slice(2)
const runtime = ManagedRuntime.make(
  kernelOn(process.env["TEST_DATABASE_URL"] ?? "", schema, { begin: [], settle: [] }, 8)
)
const concurrency = 8

const oneTurn = (owner: number) =>
  Effect.gen(function* () {
    const [found] = yield* (yield* Threads).list({ page: { limit: 1, skip: owner % 100 }, includeMessages: false })
    if (found !== undefined) yield* (yield* Turns).send({ content: question, threadId: found.thread.id })
  }).pipe(Principal.provide(ownerName(owner)), Effect.orDie)

let count = 0
const work = async (end: number, worker: number) => {
  for (let round = 0; performance.now() < end; round++) {
    const owner = 1 + ((Number(place) * 7919 + worker * 104_729 + round * 31) % Number(owners))
    await runtime.runPromise(oneTurn(owner))
    count++
  }
}

process.on("message", (told) => {
  if (told === "end") return void runtime.dispose().then(() => process.exit(0))
  count = 0
  const end = performance.now() + Number(process.env["BENCH_SECONDS"] ?? 20) * 1000
  void Promise.all(Array.from({ length: concurrency }, (_, worker) => work(end, worker))).then(() =>
    process.send?.(count)
  )
})
await work(performance.now() + 1000, 0)
process.send?.("ready")
