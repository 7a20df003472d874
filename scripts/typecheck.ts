// `npm run typecheck`: the types of everything, without a build, and in the same walk the effects that are never run. The compiler is TypeScript with
// the diagnostics of Effect, which tsconfig.json sets; with TypeScript's own one the same files would be read twice.
import { execFileSync, spawnSync } from "node:child_process"
import { availableParallelism } from "node:os"
import { root } from "./Workspace.ts"

const shell = process.platform === "win32"
const compiler = execFileSync("effect-tsgo", ["get-exe-path"], { cwd: root, encoding: "utf8", shell }).trim()

// Each checker works out for itself the types that files share. The default are four, which take 65 s of CPU where one takes 39.
const checkers = String(Math.min(4, Math.ceil(availableParallelism() / 4)))

for (const project of ["tsconfig.json", "packages/studio/src/page", "examples/chat/tsconfig.check.json"]) {
  const { status } = spawnSync(compiler, ["-p", project, "--checkers", checkers], { cwd: root, stdio: "inherit" })
  if (status !== 0) process.exitCode = 1
}
