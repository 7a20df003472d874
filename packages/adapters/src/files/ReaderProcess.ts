/**
 * One file in one process of its own, which ends with it. A thread would share the fate of the host: an array that grows too large, a fault
 * in V8 or a library's WebAssembly ends the whole process, whatever the limits of the thread say (decision 16). Files and pictures are read
 * this way; `answerOnce.ts` is what runs on the other side.
 *
 * The file goes in by stdin, which stays open afterwards: its end tells the reader that the host has died. The answer comes by a pipe of its
 * own, because libraries print to stdout.
 */
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import { type ChildProcess, spawn } from "node:child_process"
import { Readable } from "node:stream"
import { fileURLToPath } from "node:url"
import { deserialize } from "node:v8"
import { type Answer, answerPipe, type Order, readerMark } from "./answerOnce.ts"

export interface Bounds {
  readonly deadline: Duration.Duration
  /** What the reader's objects may take, in MB. */
  readonly heap: number
  /** By how much its process may grow, in MB: objects, buffers and WebAssembly. */
  readonly growth: number
}

/** Why there is no answer. */
export type Ending = "too_slow" | "too_much_memory" | "died"

/** A process that dies is tried once more: native code may have a fault that comes and goes, and then the file is not damaged. */
export const readInProcess = <A>(
  script: URL,
  task: unknown,
  bytes: Uint8Array,
  bounds: Bounds
): Effect.Effect<Answer<A>, Ending> =>
  Effect.retry(readOnce<A>(script, task, bytes, bounds), { times: 1, while: (ending) => ending === "died" })

const readOnce = <A>(script: URL, task: unknown, bytes: Uint8Array, bounds: Bounds): Effect.Effect<Answer<A>, Ending> =>
  Effect.callback((resume) => {
    const order: Order = { task, size: bytes.length, growth: bounds.growth }
    const child = spawn(
      process.execPath,
      [...flags(bounds), fileURLToPath(script), readerMark, JSON.stringify(order)],
      { env: environment(), stdio: ["pipe", "ignore", "ignore", "pipe"], windowsHide: true }
    )
    let outcome: Effect.Effect<Answer<A>, Ending> | null = null
    const end = (why: Effect.Effect<Answer<A>, Ending>) => {
      outcome ??= why
      child.kill("SIGKILL")
    }
    const stopClock = atDeadline(bounds, () => end(Effect.fail("too_slow")))
    const gone = Promise.withResolvers<void>()
    const leave = (final: Effect.Effect<Answer<A>, Ending>) => {
      stopClock()
      gone.resolve()
      resume(final)
    }
    // It could not be started at all, which is not the file's fault.
    child.once("error", (error) => leave(Effect.die(error)))
    // Not before the process is gone and its memory is free for the next one.
    child.once("close", (code, signal) => leave(outcome ?? endingOf(code, signal)))
    onAnswer<A>(child, (answer) => end(answer === null ? Effect.fail("too_much_memory") : Effect.succeed(answer)))
    // A reader that dies closes it while the file is being written; what that means is told when it has ended.
    child.stdin?.on("error", () => {})
    child.stdin?.write(bytes)
    return Effect.promise(() => {
      end(Effect.fail("died"))
      return gone.promise
    })
  })

/** By the clock of the machine, whatever clock the host's effects have. Answers how to stop it. */
const atDeadline = ({ deadline }: Bounds, act: () => void): (() => void) => {
  const timer = setTimeout(act, Duration.toMillis(deadline))
  return () => clearTimeout(timer)
}

/**
 * Nothing of the host's flags but which files of a package are meant: an inspector's port can be taken once, and what a host preloads is for
 * the host.
 */
const flags = ({ heap }: Bounds): ReadonlyArray<string> => {
  const given = [...process.execArgv, ...(process.env["NODE_OPTIONS"] ?? "").split(/\s+/u)]
  const conditions = given.flatMap((flag, index) => {
    if (/^(?:--conditions|-C)=/u.test(flag)) return [flag]
    return flag === "--conditions" || flag === "-C" ? [flag, given[index + 1] ?? ""] : []
  })
  return [`--max-old-space-size=${heap}`, ...conditions]
}

/** Windows starts no program without it. */
const environment = (): Record<string, string | undefined> =>
  process.platform === "win32" ? { SystemRoot: process.env["SystemRoot"] } : {}

/** More than 20 million characters of text and their places take. */
const largestAnswer = 256_000_000

/** Gives the answer when all of it is here; null for one that is too large. */
const onAnswer = <A>(child: ChildProcess, give: (answer: Answer<A> | null) => void): void => {
  const pipe = child.stdio?.[answerPipe]
  if (!(pipe instanceof Readable)) return
  let header = Buffer.alloc(0)
  let answer: Buffer | null = null
  let at = 0
  pipe.on("error", () => {})
  pipe.on("data", (chunk: Buffer) => {
    let rest = chunk
    if (answer === null) {
      header = Buffer.concat([header, chunk])
      if (header.length < 4) return
      const length = header.readUInt32LE()
      if (length > largestAnswer) return give(null)
      answer = Buffer.allocUnsafe(length)
      rest = header.subarray(4)
    }
    at += rest.copy(answer, at)
    if (at === answer.length) give(deserialize(answer))
  })
}

/**
 * What a process died of that gave no answer. V8 aborts when its heap is full, and traps when one object is too large; the watch inside of
 * the process, and a system that runs out of memory, kill it. On Windows these are exit codes. A host that is being stopped may have its
 * signal sent to all its processes: the file is then to be read again.
 */
const endingOf = (code: number | null, signal: NodeJS.Signals | null): Effect.Effect<never, Ending> => {
  if (signal === "SIGINT" || signal === "SIGTERM" || signal === "SIGHUP") {
    return Effect.die(new Error(`The process that reads files was stopped by ${signal}.`))
  }
  const isMemory =
    signal === null
      ? process.platform === "win32" && (code === 1 || code === 134 || code === 0x80000003)
      : signal === "SIGKILL" || signal === "SIGABRT" || signal === "SIGTRAP"
  return Effect.fail(isMemory ? "too_much_memory" : "died")
}
