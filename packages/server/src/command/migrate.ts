import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { readSettings } from "../Settings.ts"
import { StartRefused, storeRefused } from "../StartRefused.ts"
import { inMemory, makeStores, prepareFolder } from "../Stores.ts"
import { type CommandRun, readJsonFlag } from "./Command.ts"
import { during } from "./Progress.ts"

/** The stores migrate when they are opened, so this opens them and closes them again. */
export const migrate: CommandRun = async (args, { env, print, progress }) => {
  const isJson = readJsonFlag(args)
  const settings = await Effect.runPromise(readSettings(env))
  const { databaseUrl, dataDir } = settings
  if (databaseUrl === null && dataDir === inMemory)
    throw new StartRefused({
      message:
        "COLLOQUY_DATA_DIR is memory://, which keeps no database. Set it to the folder of the server, or set DATABASE_URL."
    })
  await prepareFolder(settings)
  const where = databaseUrl === null ? `in ${dataDir}` : "of DATABASE_URL"
  const opened = Effect.runPromise(Effect.scoped(Layer.build(makeStores(settings)))).catch((error: unknown) => {
    throw storeRefused(settings, error)
  })
  await during(progress, `Migrating the database ${where}`, opened)
  print(
    isJson
      ? JSON.stringify({ ok: true, database: databaseUrl === null ? dataDir : "DATABASE_URL" })
      : `The database ${where} has the schema of this version.`
  )
  return 0
}
