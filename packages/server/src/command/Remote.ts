/** What commands need that ask a running server: its address, and a key of the owner. */
import { StartRefused } from "../StartRefused.ts"
import { WronglyCalled } from "../ToldErrors.ts"
import { type CommandContext, readWords } from "./Command.ts"

/** The address of an API, as `--url` names it. */
export const readAddress = (given: string): URL => {
  const address = URL.parse(given)
  if (address !== null && /^https?:$/u.test(address.protocol)) return address
  throw new WronglyCalled(`--url is an address such as http://localhost:8787/api, and not "${given}".`)
}

/** The words of the command, one for each name, the address of the API, and whether the result is for a program. */
export const readRemote = (args: ReadonlyArray<string>, names: ReadonlyArray<string>) => {
  const { positionals, values } = readWords({
    args: [...args],
    allowPositionals: true,
    options: {
      url: { type: "string", default: "http://localhost:8787/api" },
      json: { type: "boolean", default: false }
    }
  })
  if (positionals.length !== names.length) throw new WronglyCalled(`Name ${names.join(" and ")}.`)
  const api = readAddress(values.url.endsWith("/") ? values.url : `${values.url}/`)
  return { positionals, isJson: values.json, api }
}

/** What a person does about a refusal. */
const advice: Readonly<Record<number, string>> = {
  401: "The key of COLLOQUY_API_KEY is not valid there.",
  403: "The key of COLLOQUY_API_KEY may not do this: make one with the scope admin.",
  404: "There is no such thing for this user, or --url is not the API: its path is part of it, /api for example."
}

/** The answer to a request that only reads; everything but a success is a sentence. */
export const readApi = async (address: URL, { env }: Pick<CommandContext, "env">): Promise<Response> => {
  const key = env["COLLOQUY_API_KEY"] ?? ""
  if (key === "")
    throw new StartRefused({
      message:
        "Set COLLOQUY_API_KEY to an API key of the user. Where the server runs, colloquy key make <user> makes one."
    })
  if (!/^[\x21-\x7e]+$/u.test(key))
    throw new StartRefused({ message: "COLLOQUY_API_KEY is no key: it has a space or a letter that no key has." })
  const response = await fetch(address, { headers: { "X-API-Key": key } }).catch(() => {
    throw new StartRefused({
      message: `${address.origin} does not answer. Start the server (colloquy serve), or name its API with --url.`
    })
  })
  if (response.ok) return response
  const told = [
    `The server answered ${response.status} at ${address.pathname}.`,
    advice[response.status] ?? "Its log says why."
  ]
  throw new StartRefused({ message: told.join(" ") })
}
