/**
 * What a subcommand of `colloquy` is. Each is loaded when it is called, because most need only a part of the server; this file loads nothing of the server.
 */
import { parseArgs, type ParseArgsConfig } from "node:util"
import type { Environment } from "../Settings.ts"
import { WronglyCalled } from "../ToldErrors.ts"
import type { Progress } from "./Progress.ts"

export interface CommandContext {
  readonly env: Environment
  /** The result. */
  readonly print: (text: string) => void
  /** Reasons and hints, which are no result. */
  readonly note: (text: string) => void
  /** The progress of a long work, for a person at a terminal. */
  readonly progress: Progress
  /**
   * Begins to listen for Ctrl C. The signal is aborted then, so that the command can remove a file that is half written. Without a call,
   * Ctrl C ends the process.
   */
  readonly whenStopped: () => AbortSignal
}

/** Returns the exit status: 0 done, 1 not good, 2 wrongly called. */
export type CommandRun = (args: ReadonlyArray<string>, context: CommandContext) => Promise<number>

export interface Command {
  /** The words after `colloquy`. */
  readonly usage: string
  readonly does: string
  /** The lines of its help below that sentence, at most 80 characters each. */
  readonly more?: ReadonlyArray<string>
  readonly load: () => Promise<CommandRun>
}

/** What Node says about wrong options, as one short sentence. */
const wordsProblem = (error: unknown): string => {
  if (!(error instanceof Error)) return String(error)
  const [, named = ""] = /'([^']*)'/u.exec(error.message) ?? []
  const option = named.split(" ")[0] ?? ""
  switch ("code" in error ? error.code : null) {
    case "ERR_PARSE_ARGS_UNKNOWN_OPTION":
      return `There is no option ${option}.`
    case "ERR_PARSE_ARGS_UNEXPECTED_POSITIONAL":
      return `"${named}" is one word too many.`
    case "ERR_PARSE_ARGS_INVALID_OPTION_VALUE":
      return / not take /u.test(error.message) ? `${option} takes no value.` : `${option} needs a value.`
    default:
      return error.message
  }
}

/** The options and words of a command. Throws `WronglyCalled` if they are wrong. */
export const readWords = <T extends ParseArgsConfig>(config: T) => {
  try {
    return parseArgs(config)
  } catch (error) {
    throw new WronglyCalled(wordsProblem(error))
  }
}

/** Whether `--json` was given to a command that takes nothing else. */
export const readJsonFlag = (args: ReadonlyArray<string>): boolean =>
  readWords({ args: [...args], options: { json: { type: "boolean", default: false } } }).values.json
