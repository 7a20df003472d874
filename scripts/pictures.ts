/**
 * `npm run pictures`: the pictures of README.md in `docs/pictures`. `studio.png` is one of `npm run screenshots`, which this calls;
 * `terminal.svg` is what two commands print.
 */
import { spawnSync } from "node:child_process"
import { copyFileSync, mkdirSync, readFileSync, statSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { root } from "./Workspace.ts"
import { terminalLines, terminalPicture } from "./Terminal.ts"

const folder = join(root, "docs/pictures")
mkdirSync(folder, { recursive: true })

const made = spawnSync("npm", ["run", "--silent", "screenshots", "--", "excerpts"], { cwd: root, stdio: "inherit" })
if (made.status !== 0) throw new Error("No picture of the studio was made.")
copyFileSync(join(root, "screenshots/excerpts-1100-light.png"), join(folder, "studio.png"))

writeFileSync(
  join(folder, "terminal.svg"),
  terminalPicture(terminalLines(readFileSync(join(root, "README.md"), "utf8")))
)

for (const name of ["studio.png", "terminal.svg"])
  console.log(`docs/pictures/${name}: ${statSync(join(folder, name)).size} bytes`)
