import { type CommandRun, WronglyCalled } from "./Command.ts"

/** The program of `npm start`, which ends by a signal. */
export const serve: CommandRun = async (args) => {
  const option = args.find((each) => each.startsWith("-"))
  if (option !== undefined) {
    const problem = `There is no option ${option}. Settings are environment variables: PORT=8080 colloquy serve, for example.`
    throw new WronglyCalled("serve [folder]", problem)
  }
  const [folder, ...more] = args
  if (more.length > 0) throw new WronglyCalled("serve [folder]", "Name one folder, or none.")
  if (folder !== undefined) process.env["COLLOQUY_DATA_DIR"] = folder
  await import("../main.ts")
  return 0
}
