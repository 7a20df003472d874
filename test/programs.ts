/**
 * Where a test needs programs that are no part of Node (a voice, something that measures sound), it says so through this function. Without
 * them it is skipped with a reason, and with CI=true that is a failure, so that nobody believes a test ran which did not.
 */
import { describe, it } from "@effect/vitest"
import { accessSync, constants } from "node:fs"
import { delimiter, join } from "node:path"

const isOnPath = (program: string): boolean =>
  (process.env["PATH"] ?? "").split(delimiter).some((folder) => {
    try {
      accessSync(join(folder, program), constants.X_OK)
      return true
    } catch {
      return false
    }
  })

export const withPrograms = (programs: ReadonlyArray<string>, body: () => void): void => {
  const missing = programs.filter((program) => !isOnPath(program))
  if (missing.length === 0) {
    describe(`with ${programs.join(" and ")}`, body)
    return
  }
  const reason = `there is no ${missing.join(", no ")}; on Debian: sudo scripts/install-voices.sh`
  it.skipIf(process.env["CI"] !== "true")(`with ${programs.join(" and ")} (${reason})`, () => {
    throw new Error(`With CI=true the tests with ${programs.join(" and ")} must run: ${reason}.`)
  })
}
