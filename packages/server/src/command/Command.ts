/**
 * What a subcommand of `colloquy` is. Each is loaded when it is called, because most need only a part of the server; this file loads nothing.
 */
import type { Environment } from "../Settings.ts"

export interface CommandContext {
  readonly env: Environment
  /** The result. */
  readonly print: (text: string) => void
  /** Progress and reasons, which are no result. */
  readonly note: (text: string) => void
}

/** Returns the exit status: 0 done, 1 not good, 2 wrongly called. */
export type CommandRun = (args: ReadonlyArray<string>, context: CommandContext) => Promise<number>

export interface Command {
  /** The words after `colloquy`. */
  readonly usage: string
  readonly does: string
  readonly load: () => Promise<CommandRun>
}

/** The command was called with words that it does not take. */
export class WronglyCalled extends Error {
  constructor(usage: string, problem: string) {
    super(`${problem}\nUsage: colloquy ${usage}`)
  }
}

/** Errors that are told as one sentence, without the place in the code, by their tags. */
const refusals: ReadonlySet<unknown> = new Set(["StartRefused", "SettingsRefused"])

export const isRefusal = (error: unknown): error is Error =>
  error instanceof WronglyCalled || (error instanceof Error && "_tag" in error && refusals.has(error._tag))
