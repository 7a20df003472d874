/** A store on PGlite, which is Postgres inside the process: `pglite({ dataDir: "./data" })`, or in memory without a folder. */
import { Pglite } from "@colloquy/adapters/pglite"
import type { Store } from "./Store.ts"

export const pglite = (options: Pglite.PgliteOptions = {}): Store => Pglite.layer(options)
