/**
 * Deletes once what is old enough by the server's settings, including bytes without a document, and prints what was deleted. The server does
 * the same every hour; this command is for a first time with much to delete, or for the operator's own schedule. With DATABASE_URL servers
 * may run meanwhile; the embedded database belongs to one process.
 */
import { sweepOrphanedBlobs } from "@colloquy/core/documents"
import { describePruned, Retention } from "@colloquy/core/retention"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { blobsLayer } from "../Documents.ts"
import { readSettings } from "../Settings.ts"
import { StartRefused, storeRefused } from "../StartRefused.ts"
import { inMemory, makeStores, prepareFolder } from "../Stores.ts"
import { type CommandRun, readJsonFlag } from "./Command.ts"
import { during } from "./Progress.ts"

export const retention: CommandRun = async (args, { env, print, progress }) => {
  const isJson = readJsonFlag(args)
  const settings = await Effect.runPromise(readSettings(env))
  if (settings.databaseUrl === null && settings.dataDir === inMemory) {
    throw new StartRefused({
      message:
        "COLLOQUY_DATA_DIR is memory://, which keeps nothing. Set it to the folder of the server, or set DATABASE_URL."
    })
  }
  await prepareFolder(settings)
  // Of two stores of bytes, the later one is used.
  const stores = Layer.merge(makeStores(settings), blobsLayer(settings))
  const all = Effect.all([Retention.prune(settings.retention), sweepOrphanedBlobs()])
  const deleted = Effect.runPromise(Effect.provide(all, stores)).catch((error: unknown) => {
    throw storeRefused(settings, error)
  })
  const [pruned, blobs] = await during(progress, "Deleting what is old enough", deleted)
  if (isJson) print(JSON.stringify({ ...pruned, blobs }))
  else print([describePruned(pruned), ...(blobs === 0 ? [] : [`Files without a document: ${blobs}.`])].join("\n"))
  return 0
}
