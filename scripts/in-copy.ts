// `node scripts/in-copy.ts SCRIPT`: runs a script of this repository in a copy of it with built packages.
import { spawnSync } from "node:child_process"
import { builtCopy } from "./Copy.ts"

using copy = builtCopy()
process.exitCode =
  spawnSync(process.execPath, process.argv.slice(2), { cwd: copy.folder, stdio: "inherit" }).status ?? 1
