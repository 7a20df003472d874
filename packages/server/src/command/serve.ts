import { WronglyCalled } from "../ToldErrors.ts"
import { type CommandRun, readWords } from "./Command.ts"

/** The program of `npm start`, which ends by a signal. */
export const serve: CommandRun = async (args) => {
  const option = args.find((each) => each.startsWith("-") && each !== "--json")
  if (option !== undefined) {
    const problem = `There is no option ${option}. Settings are environment variables: PORT=8080 colloquy serve, for example.`
    throw new WronglyCalled(problem)
  }
  const { positionals, values } = readWords({
    args: [...args],
    allowPositionals: true,
    options: { json: { type: "boolean", default: false } }
  })
  const [folder, ...more] = positionals
  if (more.length > 0) throw new WronglyCalled("Name one folder, or none.")
  if (folder !== undefined) process.env["COLLOQUY_DATA_DIR"] = folder
  const { runServer } = await import("../RunServer.ts")
  await runServer(values)
  return 0
}
