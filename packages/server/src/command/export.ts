import { createWriteStream } from "node:fs"
import { rename, rm } from "node:fs/promises"
import { Readable } from "node:stream"
import { pipeline } from "node:stream/promises"
import { StartRefused } from "../StartRefused.ts"
import type { CommandRun } from "./Command.ts"
import { readApi, readRemote } from "./Remote.ts"

/** How many bytes come between two lines of progress. */
const step = 10_000_000

/** The file gets its name when it is whole. */
export const exportOwner: CommandRun = async (args, { env, note, print }) => {
  const { api, positionals } = readRemote("export <file.tar> [--url URL]", args, 1)
  const [file = ""] = positionals
  const { body } = await readApi(new URL("owners/me/export", api), { env })
  if (body === null) throw new StartRefused({ message: "The server answered without a body." })
  let bytes = 0
  const counted = async function* (pieces: AsyncIterable<Uint8Array>) {
    for await (const piece of pieces) {
      const before = Math.floor(bytes / step)
      bytes += piece.byteLength
      if (Math.floor(bytes / step) > before) note(`${Math.floor(bytes / 1_000_000)} MB…`)
      yield piece
    }
  }
  const unfinished = `${file}.part`
  try {
    await pipeline(Readable.fromWeb(body), counted, createWriteStream(unfinished))
    await rename(unfinished, file)
  } catch (error) {
    await rm(unfinished, { force: true })
    const reason = error instanceof Error ? error.message : String(error)
    throw new StartRefused({ message: `The export is not whole: ${reason}. Nothing was written to ${file}.` })
  }
  print(`${file}: ${bytes} bytes`)
  return 0
}
