/** A child process with stores of its own, for tests about several processes. It does what it is asked, one line after the other. */
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import { type ChildProcessWithoutNullStreams, spawn } from "node:child_process"
import { createInterface } from "node:readline"
import { fileURLToPath } from "node:url"
import { joinedProgram } from "../../../../test/joinedPrograms.ts"

export type WorkerDatabase =
  | { readonly database: "postgres"; readonly url: string; readonly schema: string }
  | { readonly database: "pglite"; readonly dataDir: string }

export interface Worker {
  /** Sends a line and gives the next line of the answer. */
  readonly ask: (order: string, argument?: unknown) => Effect.Effect<unknown>
  readonly signal: (signal: "SIGKILL" | "SIGSTOP" | "SIGCONT") => void
  /** Completes when the process has ended. */
  readonly ended: Effect.Effect<void>
}

/** What a worker may be: stores alone, a whole kernel, one that learns, or one that a file kills. */
const scripts = {
  stores: "StoresProcess.ts",
  kernel: "KernelProcess.ts",
  memory: "MemoryProcess.ts",
  dying: "DyingProcess.ts"
}

export const startWorker = (
  database: WorkerDatabase,
  kind: keyof typeof scripts = "stores",
  ...more: ReadonlyArray<string>
): Effect.Effect<Worker, never, Scope.Scope> =>
  Effect.acquireRelease(
    Effect.sync(() => {
      const script = joinedProgram(fileURLToPath(new URL(scripts[kind], import.meta.url)))
      const child = spawn(process.execPath, ["--conditions=colloquy-source", script, JSON.stringify(database), ...more])
      child.stderr.pipe(process.stderr)
      return { child, worker: workerFromChild(child) }
    }),
    ({ child }) => Effect.sync(() => child.kill("SIGKILL"))
  ).pipe(Effect.map(({ worker }) => worker))

const workerFromChild = (child: ChildProcessWithoutNullStreams): Worker => {
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]()
  const ended = new Promise<void>((resolve) => child.once("exit", () => resolve()))
  return {
    ask: (order, argument = null) =>
      Effect.promise(async () => {
        child.stdin.write(`${JSON.stringify([order, argument])}\n`)
        const line = await lines.next()
        if (line.done === true) throw new Error(`The worker ended before it answered "${order}".`)
        return JSON.parse(line.value)
      }),
    signal: (signal) => {
      child.kill(signal)
    },
    ended: Effect.promise(() => ended)
  }
}
