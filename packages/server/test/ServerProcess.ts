/** The standalone server as a separate process, for the tests that start, signal and restart it. */
import { type ChildProcess, spawn } from "node:child_process"
import { once } from "node:events"
import { fileURLToPath } from "node:url"
import { bareEnvironment } from "../../../test/environment.ts"
import { joinedProgram } from "../../../test/joinedPrograms.ts"

export interface ServerProcess {
  readonly child: ChildProcess
  /** Everything printed so far, errors included. */
  readonly output: () => string
  /** Resolves with the output when it matches, and fails when the process ends before that. */
  readonly printed: (form: RegExp) => Promise<string>
  /** Resolves with the exit code. */
  readonly ended: Promise<number | null>
  readonly [Symbol.asyncDispose]: () => Promise<void>
}

const programPath = (file: string): string => joinedProgram(fileURLToPath(new URL(`../src/${file}`, import.meta.url)))

/** `environment` is the whole environment of the process, so that no variable of the tester's machine reaches it. */
export const spawnServer = (
  environment: Readonly<Record<string, string>>,
  command: ReadonlyArray<string> = ["main.ts"]
): ServerProcess => {
  const [file = "main.ts", ...words] = command
  const child = spawn(process.execPath, ["--conditions=colloquy-source", programPath(file), ...words], {
    env: { ...bareEnvironment, ...environment }
  })
  let text = ""
  const ended = once(child, "close").then(() => child.exitCode)
  for (const stream of [child.stdout, child.stderr]) stream.on("data", (piece: Buffer) => (text += piece.toString()))
  const printed = async (form: RegExp): Promise<string> => {
    while (!form.test(text)) {
      const more = once(child.stdout, "data").then(() => true)
      if (!(await Promise.race([more, ended.then(() => false)])) && !form.test(text)) {
        throw new Error(`The server ended before it printed ${form}:\n${text}`)
      }
    }
    return text
  }
  return {
    child,
    output: () => text,
    printed,
    ended,
    [Symbol.asyncDispose]: async () => {
      child.kill("SIGKILL")
      await ended
    }
  }
}
