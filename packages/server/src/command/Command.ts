/**
 * What a subcommand of `colloquy` is. Each is loaded when it is called, because most need only a part of the server; this file loads nothing of the server.
 */
import { parseArgs, type ParseArgsConfig } from "node:util"
import type { Environment } from "../Settings.ts"
import type { Progress } from "./Progress.ts"

export interface CommandContext {
  readonly env: Environment
  /** The result. */
  readonly print: (text: string) => void
  /** Reasons and hints, which are no result. */
  readonly note: (text: string) => void
  /** How far a long work is, for a person at a terminal. */
  readonly progress: Progress
  /** Begins to listen for Ctrl C: it is aborted then, so that the command removes what is half written. Without a call, Ctrl C ends the process. */
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

/**
 * The command was called with words that it does not take. Who runs it adds how it is called. A plain error, because `colloquy --help` loads
 * nothing of Effect.
 */
export class WronglyCalled extends Error {}

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

/** The options and words of a command. What is wrong with them becomes `WronglyCalled`. */
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

/** Ctrl C ended the command before it was done. */
export class Stopped extends Error {}

/** Errors that have a sentence for a person; every typed error of the packages has one. */
const isTold = (error: unknown): error is Error =>
  error instanceof WronglyCalled || error instanceof Stopped || (error instanceof Error && "_tag" in error)

/** What a person reads when the command could not do its work. A fault of ours says so; its stack is shown only if the operator wants to see it. */
export const toldError = (error: unknown, showsStack: boolean): string => {
  if (isTold(error)) return error.message
  const what = error instanceof Error ? error.message : JSON.stringify(error)
  if (showsStack && error instanceof Error) return error.stack ?? what
  return `This is a fault of Colloquy: ${what}. Set LOG_LEVEL=debug to see where it happened, and report it.`
}

/** 2: wrongly called; 130, as shells count it: stopped by Ctrl C. */
export const exitStatus = (error: unknown): number => {
  if (error instanceof WronglyCalled) return 2
  return error instanceof Stopped ? 130 : 1
}
