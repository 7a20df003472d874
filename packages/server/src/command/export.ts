import { createWriteStream } from "node:fs"
import { rename, rm } from "node:fs/promises"
import { Readable } from "node:stream"
import { pipeline } from "node:stream/promises"
import { parseArgs } from "node:util"
import { StartRefused } from "../StartRefused.ts"
import { type CommandRun, WronglyCalled } from "./Command.ts"

const usage = "export <file.tar> [--url URL]"

const readArguments = (args: ReadonlyArray<string>) => {
  try {
    const { positionals, values } = parseArgs({
      args: [...args],
      allowPositionals: true,
      options: { url: { type: "string", default: "http://localhost:8787/ai" } }
    })
    const [file, ...more] = positionals
    if (file === undefined || more.length > 0) throw new Error("Name one file.")
    return { file, address: new URL("owners/me/export", values.url.endsWith("/") ? values.url : `${values.url}/`) }
  } catch (error) {
    throw new WronglyCalled(usage, error instanceof Error ? error.message : String(error))
  }
}

/** How many bytes come between two lines of progress. */
const step = 10_000_000

/** The file gets its name when it is whole. */
export const exportOwner: CommandRun = async (args, { env, note, print }) => {
  const { address, file } = readArguments(args)
  const key = env["COLLOQUY_API_KEY"] ?? ""
  if (key === "") throw new StartRefused({ message: "Set COLLOQUY_API_KEY to a key of the owner." })
  const response = await fetch(address, { headers: { "X-API-Key": key } }).catch(() => {
    throw new StartRefused({ message: `${address.origin} does not answer. Name the API of the server with --url.` })
  })
  if (!response.ok || response.body === null)
    throw new StartRefused({ message: `The server answered ${response.status} at ${address.pathname}.` })
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
    await pipeline(Readable.fromWeb(response.body), counted, createWriteStream(unfinished))
    await rename(unfinished, file)
  } catch (error) {
    await rm(unfinished, { force: true })
    const reason = error instanceof Error ? error.message : String(error)
    throw new StartRefused({ message: `The export is not whole: ${reason}. Nothing was written to ${file}.` })
  }
  print(`${file}: ${bytes} bytes`)
  return 0
}
