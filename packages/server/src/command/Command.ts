/**
 * What a subcommand of `colloquy` is. Each is loaded when it is called, because most need only a part of the server; this file loads nothing of the server.
 */
import { parseArgs } from "node:util"
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
}

/** Returns the exit status: 0 done, 1 not good, 2 wrongly called. */
export type CommandRun = (args: ReadonlyArray<string>, context: CommandContext) => Promise<number>

export interface Command {
  /** The words after `colloquy`. */
  readonly usage: string
  readonly does: string
  readonly load: () => Promise<CommandRun>
}

/** The command was called with words that it does not take. A plain error, because `colloquy --help` loads nothing of Effect. */
export class WronglyCalled extends Error {
  constructor(usage: string, problem: string) {
    super(`${problem}\nUsage: colloquy ${usage}`)
  }
}

/** Whether `--json` was given to a command that takes nothing else. */
export const readJsonFlag = (usage: string, args: ReadonlyArray<string>): boolean => {
  try {
    return parseArgs({ args: [...args], options: { json: { type: "boolean", default: false } } }).values.json
  } catch (error) {
    throw new WronglyCalled(usage, error instanceof Error ? error.message : String(error))
  }
}

/** Errors that are told as one sentence, without the place in the code, by their tags. */
const refusals: ReadonlySet<unknown> = new Set(["StartRefused", "SettingsRefused"])

export const isRefusal = (error: unknown): error is Error =>
  error instanceof WronglyCalled || (error instanceof Error && "_tag" in error && refusals.has(error._tag))
