/** What a process loads: a host without a wing has none of the wing's work in memory, whatever store and API it serves. */
import { execFile } from "node:child_process"
import { dirname, join } from "node:path"
import { promisify } from "node:util"
import { assert, describe, it } from "@effect/vitest"

const root = dirname(import.meta.dirname)

/** A program that imports the entries and prints the files of core that this loaded. */
const program = (entries: ReadonlyArray<string>) => `
  import { registerHooks } from "node:module"
  const loaded = []
  registerHooks({ load: (url, context, next) => (loaded.push(url), next(url, context)) })
  for (const entry of ${JSON.stringify(entries)}) await import(entry)
  console.log(JSON.stringify(loaded.flatMap((url) => url.split("/packages/core/src/")[1] ?? [])))
`

const filesOfCore = async (...entries: ReadonlyArray<string>): Promise<ReadonlyArray<string>> => {
  const flags = ["--conditions=colloquy-source", "--disable-warning=ExperimentalWarning", "--input-type=module"]
  const { stdout } = await promisify(execFile)(process.execPath, [...flags, "--eval", program(entries)], {
    cwd: join(root, "packages/http")
  })
  return JSON.parse(stdout)
}

const wings =
  /^(retrieval|documents|memory|summaries|answers|helpers|outputs|media|web-search|voice|realtime|inspection|retention|schedules|webhooks|evals)\//

describe("what is loaded", () => {
  it("with the kernel: nothing of any wing", async () => {
    const loaded = await filesOfCore("@colloquy/core", "@colloquy/core/adapters")
    assert.include(loaded, "turns/Turns.ts")
    assert.deepStrictEqual(
      loaded.filter((file) => wings.test(file)),
      []
    )
  })

  it("with what wings show: no part of a turn, no layer, no worker, no wing as a whole", async () => {
    const loaded = await filesOfCore("@colloquy/core/wings")
    assert.include(loaded, "documents/DocumentStore.ts")
    const works = /(index|Part|Layer|Chunking|Cutting|Terms|Retrieval|Learning|IndexDocument|Speech|Session)\.ts$/
    assert.deepStrictEqual(
      loaded.filter((file) => works.test(file)),
      []
    )
  })

  it.each(["@colloquy/adapters/postgres", "@colloquy/adapters/in-memory", "@colloquy/http"])(
    "with %s: of the wings only what they show",
    async (entry) => {
      const [loaded, shown] = await Promise.all([filesOfCore(entry), filesOfCore("@colloquy/core/wings")])
      assert.isAbove(loaded.filter((file) => wings.test(file)).length, 5)
      assert.deepStrictEqual(
        loaded.filter((file) => wings.test(file) && !shown.includes(file)),
        []
      )
    }
  )
})
