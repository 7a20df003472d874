import { createWriteStream } from "node:fs"
import { rename, rm } from "node:fs/promises"
import { Readable } from "node:stream"
import { pipeline } from "node:stream/promises"
import { StartRefused } from "../StartRefused.ts"
import { Stopped } from "../ToldErrors.ts"
import type { CommandRun } from "./Command.ts"
import { readApi, readRemote } from "./Remote.ts"

/** How many bytes come before the progress changes. */
const step = 1_000_000

/** The file gets its name when it is whole. */
export const exportOwner: CommandRun = async (args, { env, print, progress, whenStopped }) => {
  const { api, isJson, positionals } = readRemote(args, ["one file"])
  const [file = ""] = positionals
  const { body } = await readApi(new URL("owners/me/export", api), { env })
  if (body === null) throw new StartRefused({ message: "The server answered without a body." })
  let bytes = 0
  progress.show("Exporting…")
  const counted = async function* (pieces: AsyncIterable<Uint8Array>) {
    for await (const piece of pieces) {
      const before = Math.floor(bytes / step)
      bytes += piece.byteLength
      if (Math.floor(bytes / step) > before) progress.show(`Exporting… ${Math.floor(bytes / 1_000_000)} MB`)
      yield piece
    }
  }
  const unfinished = `${file}.part`
  try {
    await pipeline(Readable.fromWeb(body), counted, createWriteStream(unfinished), { signal: whenStopped() })
    await rename(unfinished, file)
  } catch (error) {
    await rm(unfinished, { force: true })
    progress.clear()
    if (error instanceof Error && error.name === "AbortError")
      throw new Stopped(`The export was stopped. Nothing was written to ${file}.`)
    const reason = error instanceof Error ? error.message : String(error)
    throw new StartRefused({ message: `The export is not whole: ${reason}. Nothing was written to ${file}.` })
  }
  progress.clear()
  print(isJson ? JSON.stringify({ file, bytes }) : `${file}: ${bytes} bytes`)
  return 0
}
