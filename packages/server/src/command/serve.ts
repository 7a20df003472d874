import { type CommandRun, WronglyCalled } from "./Command.ts"

/** The program of `npm start`, which ends by a signal. */
export const serve: CommandRun = async (args) => {
  const [folder, ...more] = args
  if (more.length > 0 || folder?.startsWith("-") === true)
    throw new WronglyCalled("serve [folder]", "Name one folder, or none.")
  if (folder !== undefined) process.env["COLLOQUY_DATA_DIR"] = folder
  await import("../main.ts")
  return 0
}
