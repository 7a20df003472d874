// `npm run pack:all`: the tarballs of all packages, in `packed/`.
import { mkdirSync } from "node:fs"
import { basename, join } from "node:path"
import { packInto } from "./Packing.ts"
import { packages, root } from "./Workspace.ts"

const into = join(root, "packed")
mkdirSync(into, { recursive: true })
for (const each of packages) console.log(basename(packInto(each, into)))
