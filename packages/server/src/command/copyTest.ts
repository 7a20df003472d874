import type { CommandRun } from "./Command.ts"
import { readApi, readRemote } from "./Remote.ts"

/** Prints the file, so that it goes where the shell sends it. */
export const copyTest: CommandRun = async (args, context) => {
  const { api, isJson, positionals } = readRemote(args, ["the thread", "the message"])
  const [thread = "", message = ""] = positionals.map(encodeURIComponent)
  const response = await readApi(new URL(`threads/${thread}/messages/${message}/test`, api), context)
  const test = (await response.text()).trimEnd()
  context.print(isJson ? JSON.stringify({ test }) : test)
  return 0
}
