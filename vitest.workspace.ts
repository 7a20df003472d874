// Six projects. Two need no process and no server: `unit` (all day long) and `walks`. Four are of integration (real sockets, processes,
// databases): one with a process for each file, two whose files share processes, and one of files that measure. `--project "integration*"` are
// all four.
import { globSync } from "node:fs"
import { availableParallelism } from "node:os"
import { join } from "node:path"
import { defineConfig, type Plugin } from "vitest/config"
import SlowFirst from "./test/SlowFirst.ts"

// Processes that tests start load hundreds of files, and most of their time goes into compiling them.
process.env["NODE_COMPILE_CACHE"] ??= join(import.meta.dirname, ".vitest/compiled")

const sources = { resolve: { conditions: ["colloquy-source"] }, ssr: { resolve: { conditions: ["colloquy-source"] } } }
const never = ["**/node_modules/**", "**/dist/**"]

const integration = {
  // One more than cores, because these tests wait for a third of their time (decision 96).
  maxWorkers: Math.min(availableParallelism() + 1, 6),
  sequence: { groupOrder: 0 },
  // They run on real time, which a busy machine stretches. The summary names what passed at the second try (decision 104).
  retry: process.env["CI"] === "true" ? 1 : 0,
  pool: "forks" as const,
  globalSetup: ["./test/joinedPrograms.ts"],
  testTimeout: 120_000,
  hookTimeout: 120_000
}

/**
 * They measure memory, CPU time or how long the event loop is held. What other files have left in a process would change what they see, and
 * so would a third worker on two cores: they come after the others.
 */
const measuring = [
  "packages/core/test/retrieval/Growth.integration.test.ts",
  "packages/adapters/test/blobs/Memory.integration.test.ts",
  "packages/adapters/test/files/Preparing.integration.test.ts",
  "packages/adapters/test/providers/WorstEvents.integration.test.ts",
  "packages/adapters/test/postgres/{ChunkIndexDetails,IndexingMemory,Large*,MemorySpeed,RemovalPortions}.integration.test.ts",
  "packages/http/test/{Fair*,Followers,LargeBodies,LoopTurns,StalledReaders,UploadMemory}.integration.test.ts",
  "test/patterns.integration.test.ts"
]

/** They are long, or a library of theirs changes what all files of a process share. */
const alone = [
  "packages/adapters/test/postgres/Bouncer.integration.test.ts",
  "packages/colloquy/test/ProcessEnd.integration.test.ts",
  "packages/http/test/{EveryStore,GeneratedClient}.integration.test.ts"
]

/** Short files that load much: loading it again for each file would be most of what they cost (decision 90). Those of a worker share its process. */
const short = [
  "packages/adapters/test/{blobs,mcp,postgres,providers,realtime,voice-parts,web-search,webhooks}/*.integration.test.ts",
  "packages/{colloquy,http}/test/**/*.integration.test.ts",
  "packages/server/test/{agui,attachments,documents,limits,media,memory,openai,owners,parameters,realtime,typed,video,voiceparts}.integration.test.ts"
]

const together = globSync(short, { cwd: import.meta.dirname, exclude: [...alone, ...measuring] })

/** Visits of the studio see its page as it is published, which a browser loads with less work than the single files (decision 90). */
const visits = ["packages/studio/test/studio{,.*}.integration.test.ts"]

const pageFiles = (id: string): boolean => id.endsWith("/packages/studio/src/PageFiles.ts")

const publishedPage: Plugin = {
  name: "published-page",
  // Kept by vitest, the page would be that of an earlier run: its sources are no modules of the tests.
  configureVitest: ({ defineCacheKeyGenerator: define }) => define(({ id }) => (pageFiles(id) ? false : undefined)),
  load: async (id: string) => {
    if (!pageFiles(id)) return null
    const { buildPage, pageModule } = await import("./scripts/StudioPage.ts")
    return pageModule(await buildPage())
  }
}

/** They try every moment, every write or many random cases, which takes a quarter of the time of all unit tests. */
const walks = [
  "packages/adapters/test/providers/RepeatedChunk.test.ts",
  "packages/core/test/**/*Crash.test.ts",
  "packages/core/test/turns/Interleavings.test.ts",
  "packages/http/test/EveryStore.test.ts",
  "packages/*/test/**/*.property.test.ts"
]

const unit = {
  maxWorkers: 2,
  sequence: { groupOrder: 1 },
  // Modules are loaded once for all files. What a file must not leave behind for the next one, `NoTraces.ts` looks at.
  isolate: false,
  setupFiles: ["./test/NoTraces.ts"],
  // For a test that hangs, not for one that is slow on a busy machine: some walk through hundreds of cases.
  testTimeout: 60_000
}

export default defineConfig({
  ...sources,
  test: {
    sequence: { sequencer: SlowFirst },
    reporters: [process.env["CI"] === "true" ? "dot" : "default", "./test/Summary.ts"],
    projects: [
      {
        ...sources,
        test: {
          ...unit,
          name: "unit",
          include: ["packages/*/test/**/*.test.ts", "test/**/*.test.ts", "examples/**/*.test.ts"],
          exclude: [...never, ...walks, "**/*.integration.test.ts"]
        }
      },
      { ...sources, test: { ...unit, name: "walks", include: walks, exclude: never } },
      {
        ...sources,
        test: {
          ...integration,
          name: "integration",
          include: [
            "packages/*/test/**/*.integration.test.ts",
            "test/**/*.integration.test.ts",
            "examples/**/*.integration.test.ts"
          ],
          exclude: [...never, ...measuring, ...together, ...visits]
        }
      },
      {
        ...sources,
        plugins: [publishedPage],
        test: {
          ...integration,
          name: "integration-studio",
          include: visits,
          exclude: never,
          isolate: false,
          setupFiles: ["./test/NoTraces.ts"]
        }
      },
      {
        ...sources,
        test: {
          ...integration,
          name: "integration-together",
          include: together,
          exclude: never,
          isolate: false,
          setupFiles: ["./test/NoTraces.ts"]
        }
      },
      {
        ...sources,
        test: {
          ...integration,
          name: "integration-measuring",
          maxWorkers: 2,
          sequence: { groupOrder: 1 },
          include: measuring,
          exclude: never
        }
      }
    ]
  }
})
