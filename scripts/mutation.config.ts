// Vitest with one mutant of one source file, which `mutation.ts` names in the environment.
import { defineConfig } from "vitest/config"

const [file = "", start = "0", end = "0", text = ""] = (process.env["MUTANT"] ?? "").split("\n")
const conditions = { resolve: { conditions: ["colloquy-source"] } }

export default defineConfig({
  ...conditions,
  ssr: conditions,
  plugins: [
    {
      name: "mutant",
      enforce: "pre",
      transform: (code, id) => (id === file ? code.slice(0, Number(start)) + text + code.slice(Number(end)) : null)
    }
  ],
  test: { bail: 1, pool: "threads", maxWorkers: 1, testTimeout: 20_000, reporters: ["dot"], fsModuleCache: false }
})
