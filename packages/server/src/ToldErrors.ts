/** What a person at a terminal reads of an error, and the exit status of the command. This file loads nothing of the server. */

/**
 * The command was called with words that it does not take. The caller adds the usage. A plain error, because `colloquy --help` loads
 * nothing of Effect.
 */
export class WronglyCalled extends Error {}

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
