/** A program of docs/comparison as a process: what it printed, and when. */
import { spawn } from "node:child_process"
import { join } from "node:path"
import { bareEnvironment } from "../../test/environment.ts"

/** How a library's programs are started. */
export interface Library {
  readonly name: string
  /** The folder whose `node_modules` has the library, or the repository. */
  readonly folder: string
  readonly nodeOptions: ReadonlyArray<string>
  readonly programFile: (application: string) => string
  /** How long a program has to print what is looked for, and to end. */
  readonly patience: number
}

export interface Running {
  readonly output: () => string
  /** Resolves when the output has the words; false when the process ended, or took too long, without them. */
  readonly prints: (words: string) => Promise<boolean>
  /** The exit code; null for a process that did not end in time, and was killed. */
  readonly ended: () => Promise<number | null>
  readonly write: (line: string) => void
  /** Ends the process at once (`kill -9`), or as a service is ended. */
  readonly kill: (signal?: "SIGKILL" | "SIGTERM") => Promise<void>
}

const within = <A>(milliseconds: number, otherwise: A, promise: Promise<A>): Promise<A> => {
  const { promise: late, resolve } = Promise.withResolvers<A>()
  const timer = setTimeout(() => resolve(otherwise), milliseconds)
  return Promise.race([promise, late]).finally(() => clearTimeout(timer))
}

/** What runs a program that does not run alone. */
const runners: Readonly<Record<string, ReadonlyArray<string>>> = {
  test: ["--test"],
  "use-chat": [join(import.meta.dirname, "ServeRoute.ts")]
}

export const startProgram = (
  library: Library,
  application: string,
  parameters: ReadonlyArray<string>,
  environment: Readonly<Record<string, string>>
): Running => {
  const before = runners[application] ?? []
  const command = [...library.nodeOptions, ...before, library.programFile(application), ...parameters]
  const child = spawn(process.execPath, command, {
    cwd: library.folder,
    env: { ...bareEnvironment, ...environment }
  })
  let output = ""
  const waiting = new Set<() => void>()
  const read = (piece: Buffer) => {
    output += piece.toString()
    for (const look of waiting) look()
  }
  child.stdout.on("data", read)
  child.stderr.on("data", read)
  // A process that was killed no longer reads.
  child.stdin.on("error", () => {})
  const closed = new Promise<number | null>((resolve) => child.on("close", resolve))
  const prints = (words: string) => {
    const { promise, resolve } = Promise.withResolvers<boolean>()
    const look = () => {
      if (output.includes(words)) resolve(true)
    }
    waiting.add(look)
    look()
    void closed.then(() => resolve(output.includes(words)))
    return within(library.patience, false, promise).finally(() => waiting.delete(look))
  }
  const kill = async (signal: "SIGKILL" | "SIGTERM" = "SIGKILL") => {
    child.kill(signal)
    await closed
  }
  const ended = async () => {
    child.stdin.end()
    const code = await within<number | null>(library.patience, null, closed)
    if (code === null) await kill()
    return code
  }
  return { output: () => output, prints, ended, write: (line) => child.stdin.write(`${line}\n`), kill }
}
