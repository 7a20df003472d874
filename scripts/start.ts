// `npm start`: the standalone server of the examples, as soon as there is one.
import { existsSync } from "node:fs"

const server = new URL("../examples/standalone-server/main.ts", import.meta.url)

if (existsSync(server)) await import(server.href)
else
  console.log(
    "There is no server to start yet: examples/standalone-server is still to be written. `npm test` runs what there is."
  )
