/** Started by a test: opens the stores in a folder for the first time, as a program does, and writes the most memory that it had. */
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { Pglite } from "../../src/pglite/index.ts"

await Effect.runPromise(Effect.scoped(Layer.build(Pglite.layer({ dataDir: process.argv[2] ?? "" }))))
process.stdout.write(String(process.resourceUsage().maxRSS))
