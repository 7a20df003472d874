/** The memory that the indexing of a large text takes in the process of the server, whose database is in it. */
import { assert, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { execFile } from "node:child_process"
import { mkdtemp, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { promisify } from "node:util"
import { onEmbedded } from "../../../../test/databases.ts"

const scratchFolder = Effect.acquireRelease(
  Effect.promise(() => mkdtemp(join(tmpdir(), "colloquy-memory-"))),
  (folder) => Effect.promise(() => rm(folder, { recursive: true }))
)

onEmbedded("PGlite", () => {
  it.live(
    "4 MB of text in a folder take less than 220 MB over what the process had before",
    () =>
      Effect.gen(function* () {
        const dataDir = join(yield* scratchFolder, "base")
        const script = join(import.meta.dirname, "IndexingMemoryProcess.ts")
        const run = promisify(execFile)
        const { stdout } = yield* Effect.promise(() =>
          run(process.execPath, ["--conditions=colloquy-source", script, dataDir])
        )
        assert.isBelow(Number(stdout), 220, "MB; it is about 130")
      }),
    600_000
  )
})
