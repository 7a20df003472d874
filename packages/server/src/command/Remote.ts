/** What commands need that ask a running server: its address, and a key of the owner. */
import { parseArgs } from "node:util"
import { StartRefused } from "../StartRefused.ts"
import { type CommandContext, WronglyCalled } from "./Command.ts"

/** The words of the command, as many as there must be, the address of the API, and whether the result is for a program. */
export const readRemote = (usage: string, args: ReadonlyArray<string>, words: number) => {
  try {
    const { positionals, values } = parseArgs({
      args: [...args],
      allowPositionals: true,
      options: {
        url: { type: "string", default: "http://localhost:8787/api" },
        json: { type: "boolean", default: false }
      }
    })
    if (values.json && !usage.includes("--json")) throw new Error("The result is no JSON.")
    if (positionals.length !== words) throw new Error(words === 1 ? "Name one file." : `Give ${words} words.`)
    return { positionals, isJson: values.json, api: new URL(values.url.endsWith("/") ? values.url : `${values.url}/`) }
  } catch (error) {
    throw new WronglyCalled(usage, error instanceof Error ? error.message : String(error))
  }
}

/** The answer to a request that only reads; everything but a success is a sentence. */
export const readApi = async (address: URL, { env }: Pick<CommandContext, "env">): Promise<Response> => {
  const key = env["COLLOQUY_API_KEY"] ?? ""
  if (key === "") throw new StartRefused({ message: "Set COLLOQUY_API_KEY to a key of the owner." })
  const response = await fetch(address, { headers: { "X-API-Key": key } }).catch(() => {
    throw new StartRefused({ message: `${address.origin} does not answer. Name the API of the server with --url.` })
  })
  if (response.ok) return response
  throw new StartRefused({ message: `The server answered ${response.status} at ${address.pathname}.` })
}
