/** The pictures of README.md: small, and the one of the terminal shows what its commands print. `npm run pictures` makes them. */
import { assert, it } from "@effect/vitest"
import { readdirSync, readFileSync, statSync } from "node:fs"
import { join } from "node:path"
import { terminalLines, terminalPicture } from "../scripts/Terminal.ts"
import { root } from "../scripts/Workspace.ts"

const folder = join(root, "docs/pictures")
const readme = readFileSync(join(root, "README.md"), "utf8")

it("are shown, and weigh less than 200 kB each", () => {
  for (const name of readdirSync(folder)) {
    assert.include(readme, `(docs/pictures/${name})`)
    assert.isBelow(statSync(join(folder, name)).size, 200_000, name)
  }
})

it("show in the terminal what the commands print", () => {
  assert.strictEqual(readFileSync(join(folder, "terminal.svg"), "utf8"), terminalPicture(terminalLines(readme)))
}, 60_000)
