// `npm test` runs every check, one after the other. All of them run even if one fails, so that one run reports every failure.
import { spawnSync } from "node:child_process"
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"

const steps = ["typecheck", "lint", "lint:effects", "format:check", "unused", "test:all", "check:packages", "size"]
/** The checks whose output is shown even if they pass. */
const shown = new Set(["test:all", "size"])

const folder = mkdtempSync(join(tmpdir(), "colloquy-check-"))
const summary = process.env["COLLOQUY_TEST_SUMMARY"] || join(folder, "summary.txt")

/** Colours are turned off when the output goes to a file. */
const plain = process.stdout.isTTY ? {} : { NO_COLOR: "1", FORCE_COLOR: undefined }

const passes = (step: string): boolean => {
  const start = performance.now()
  const { status, stdout, stderr } = spawnSync("npm", ["run", "--silent", step], {
    env: { ...process.env, ...plain, COLLOQUY_TEST_SUMMARY: summary },
    stdio: shown.has(step) ? "inherit" : "pipe",
    encoding: "utf8",
    shell: process.platform === "win32",
    maxBuffer: 64 * 1024 * 1024
  })
  const ok = status === 0
  if (!ok && !shown.has(step)) console.log(`${stdout}${stderr}`.trim())
  console.log(`${ok ? "ok    " : "FAILED"} ${step} (${((performance.now() - start) / 1000).toFixed(1)} s)`)
  return ok
}

const failed = steps.filter((step) => !passes(step))
const counts = existsSync(summary) ? readFileSync(summary, "utf8").trim() : "0 passed, 1 failed"
rmSync(folder, { recursive: true, force: true })

console.log()
if (failed.length > 0) console.log(`Failed: ${failed.map((step) => `npm run ${step}`).join(", ")}`)
console.log(counts)
process.exitCode = failed.length === 0 ? 0 : 1
