import type { CommandRun } from "./Command.ts"
import { readApi, readRemote } from "./Remote.ts"

/** Prints the file, so that it goes where the shell sends it. */
export const copyTest: CommandRun = async (args, context) => {
  const { api, positionals } = readRemote("copy-test <thread_id> <message_id> [--url URL]", args, 2)
  const [thread = "", message = ""] = positionals.map(encodeURIComponent)
  const response = await readApi(new URL(`threads/${thread}/messages/${message}/test`, api), context)
  context.print((await response.text()).trimEnd())
  return 0
}
