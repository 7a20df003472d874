// Two projects: `unit` (all day long, no process and no server needed) and `integration` (real sockets, processes, databases).
import { join } from "node:path"
import { defineConfig } from "vitest/config"
import SlowFirst from "./test/SlowFirst.ts"

// Processes that tests start load hundreds of files, and most of their time goes into compiling them.
process.env["NODE_COMPILE_CACHE"] ??= join(import.meta.dirname, ".vitest/compiled")

const sources = { resolve: { conditions: ["colloquy-source"] }, ssr: { resolve: { conditions: ["colloquy-source"] } } }
const never = ["**/node_modules/**", "**/dist/**"]

export default defineConfig({
  ...sources,
  test: {
    sequence: { sequencer: SlowFirst },
    reporters: [process.env["CI"] === "true" ? "dot" : "default", "./test/Summary.ts"],
    projects: [
      {
        ...sources,
        test: {
          name: "unit",
          maxWorkers: 2,
          sequence: { groupOrder: 1 },
          include: ["packages/*/test/**/*.test.ts", "test/**/*.test.ts", "examples/**/*.test.ts"],
          exclude: [...never, "**/*.integration.test.ts"],
          // Modules are loaded once for all files. What a file must not leave behind for the next one, `NoTraces.ts` looks at.
          isolate: false,
          setupFiles: ["./test/NoTraces.ts"],
          // For a test that hangs, not for one that is slow on a busy machine: some walk through hundreds of cases.
          testTimeout: 60_000
        }
      },
      {
        ...sources,
        test: {
          name: "integration",
          // More take longer: browsers and databases want the CPU at the same time (decision 96).
          maxWorkers: 2,
          sequence: { groupOrder: 0 },
          include: [
            "packages/*/test/**/*.integration.test.ts",
            "test/**/*.integration.test.ts",
            "examples/**/*.integration.test.ts"
          ],
          exclude: never,
          pool: "forks",
          globalSetup: ["./test/joinedPrograms.ts"],
          testTimeout: 120_000,
          hookTimeout: 120_000
        }
      }
    ]
  }
})
