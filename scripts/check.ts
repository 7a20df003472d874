// `npm test` runs every check: the tests in one lane, everything else in a second lane beside it, because tests often wait. All of them run even if
// one fails, so that one run reports every failure. The second lane has the lower priority: it takes what the tests leave.
import { spawn } from "node:child_process"
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs"
import { constants, setPriority, tmpdir } from "node:os"
import { join } from "node:path"
import { builtCopy, builtFolder, type Copy } from "./Copy.ts"

const tests = "test:all"
const others = ["typecheck", "lint", "format:check", "unused", "size:gates", "check:packages"]
/** The check whose output is shown even if it passes. */
const shown = "size:gates"

const folder = mkdtempSync(join(tmpdir(), "colloquy-check-"))
const summary = process.env["COLLOQUY_TEST_SUMMARY"] || join(folder, "summary.txt")

/** Colours are turned off when the output goes to a file. */
const plain = process.stdout.isTTY ? {} : { NO_COLOR: "1", FORCE_COLOR: undefined }

const passes = async (step: string): Promise<boolean> => {
  const start = performance.now()
  const child = spawn("npm", ["run", "--silent", step], {
    env: { ...process.env, ...plain, COLLOQUY_TEST_SUMMARY: summary },
    stdio: step === tests ? "inherit" : ["ignore", "pipe", "pipe"],
    shell: process.platform === "win32"
  })
  if (step !== tests && child.pid !== undefined) setPriority(child.pid, constants.priority.PRIORITY_BELOW_NORMAL)
  let output = ""
  for (const stream of [child.stdout, child.stderr]) stream?.setEncoding("utf8").on("data", (text) => (output += text))
  const ok = await new Promise<boolean>((resolve) => {
    child.on("error", (error) => {
      output += String(error)
      resolve(false)
    })
    child.on("close", (status) => resolve(status === 0))
  })
  if (!ok || step === shown) console.log(output.trim())
  console.log(`${ok ? "ok    " : "FAILED"} ${step} (${((performance.now() - start) / 1000).toFixed(1)} s)`)
  return ok
}

const lane = async (steps: ReadonlyArray<string>): Promise<ReadonlyArray<string>> => {
  const failed: Array<string> = []
  for (const step of steps) if (!(await passes(step))) failed.push(step)
  return failed
}

/** The packages are built once, before the lanes: a test and a check of them need them. */
const build = (): Copy | null => {
  try {
    return builtCopy()
  } catch (error) {
    console.log(error instanceof Error ? error.message : error)
    return null
  }
}

using built = build()
if (built !== null) process.env[builtFolder] = built.folder
const failed = (await Promise.all([lane([tests]), lane(others)])).flat()
const counts = existsSync(summary) ? readFileSync(summary, "utf8").trim() : "0 passed, 1 failed"
rmSync(folder, { recursive: true, force: true })

console.log()
if (failed.length > 0) console.log(`Failed: ${failed.map((step) => `npm run ${step}`).join(", ")}`)
console.log(counts)
process.exitCode = failed.length === 0 ? 0 : 1
