/**
 * Eight uploads of 50 MiB at once cost a process less than 100 MB. Their downloads make chunks that wait for the garbage collector, which
 * may be late on a busy machine; less than half of what the files are together shows that none is whole in memory.
 */
import { assert, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { execFile } from "node:child_process"
import { mkdtemp, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { promisify } from "node:util"
import { onPostgres } from "../../../../test/databases.ts"
import { scratchSchema } from "../postgres/Scratch.ts"

const script = fileURLToPath(new URL("UploadProcess.ts", import.meta.url))

const transferCost = (...parameters: ReadonlyArray<string>) =>
  Effect.promise(async () => {
    const { stdout } = await promisify(execFile)(process.execPath, [
      "--conditions=colloquy-source",
      "--expose-gc",
      script,
      ...parameters
    ])
    return JSON.parse(stdout) as {
      readonly uploading: number
      readonly downloading: number
      readonly sizes: ReadonlyArray<number>
      readonly sums: number
    }
  })

const check = (...parameters: ReadonlyArray<string>) =>
  Effect.map(transferCost(...parameters), ({ downloading, sizes, sums, uploading }) => {
    assert.deepStrictEqual(
      sizes,
      Array.from({ length: 8 }, () => 800 * 65_536)
    )
    assert.strictEqual(sums, 1)
    assert.isBelow(uploading, 100)
    assert.isBelow(downloading, 200)
  })

const scratchFolder = Effect.acquireRelease(
  Effect.promise(() => mkdtemp(join(tmpdir(), "blobs-"))),
  (folder) => Effect.promise(() => rm(folder, { recursive: true }))
)

it.live("in a folder", () => Effect.scoped(Effect.flatMap(scratchFolder, (folder) => check("folder", folder))), 300_000)

onPostgres((url) => {
  it.live(
    "in Postgres",
    () => Effect.scoped(Effect.flatMap(scratchSchema(url), (schema) => check("postgres", url, schema))),
    300_000
  )
})
