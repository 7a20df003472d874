// `node scripts/in-copy.ts SCRIPT`: runs a script of this repository in a copy of it, which is removed afterwards.
import { spawnSync } from "node:child_process"
import { copyRepository } from "./Copy.ts"

using copy = copyRepository()
process.exitCode =
  spawnSync(process.execPath, process.argv.slice(2), { cwd: copy.folder, stdio: "inherit" }).status ?? 1
