/**
 * Reads one file or picture in a process of its own. A worker thread is not safe enough: an array that grows too large, or a fault in V8 or in a
 * library's WebAssembly, ends the whole process of the host, whatever limits the thread has (decision 16). `answerOnce.ts` runs inside of the
 * reader's process.
 *
 * The file is written to stdin, which stays open afterwards; when it closes, the reader knows that the host has died. The answer comes through a
 * separate pipe, because libraries print to stdout.
 */
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import { type ChildProcess, spawn } from "node:child_process"
import { Readable } from "node:stream"
import { type ReaderAnswer, answerPipe, type Order, readerMark } from "./answerOnce.ts"
import { receiveMessages } from "./Messages.ts"
import type { ReaderRights } from "./ReaderRights.ts"

export interface Bounds {
  readonly deadline: Duration.Duration
  /** The largest JavaScript heap of the reader, in MB. */
  readonly heap: number
  /** By how many MB its process may grow, including buffers and WebAssembly. */
  readonly growth: number
}

/** Why there is no answer. */
export type Ending = "too_slow" | "too_much_memory" | "died"

export type WholeAnswer<A, Part> =
  | { readonly value: A; readonly parts: ReadonlyArray<Part> }
  | Extract<ReaderAnswer<A>, { readonly refused: unknown }>

/** If the process dies, the file is read once more: a fault in native code may not happen again, and then the file is not damaged. */
export const readInProcess = <A, Part = never>(
  rights: ReaderRights,
  task: unknown,
  bytes: Uint8Array,
  bounds: Bounds
): Effect.Effect<WholeAnswer<A, Part>, Ending> =>
  Effect.retry(readOnce<A, Part>(rights, task, bytes, bounds), { times: 1, while: (ending) => ending === "died" })

const readOnce = <A, Part>(
  { flags, script, threads, user }: ReaderRights,
  task: unknown,
  bytes: Uint8Array,
  bounds: Bounds
): Effect.Effect<WholeAnswer<A, Part>, Ending> =>
  Effect.callback((resume) => {
    const order: Order = { task, size: bytes.length, growth: bounds.growth, threads }
    const child = spawn(
      process.execPath,
      [`--max-old-space-size=${bounds.heap}`, ...conditions(), ...flags, script, readerMark, JSON.stringify(order)],
      { env: environment(), stdio: ["pipe", "ignore", "ignore", "pipe"], windowsHide: true, ...user }
    )
    let outcome: Effect.Effect<WholeAnswer<A, Part>, Ending> | null = null
    const end = (why: Effect.Effect<WholeAnswer<A, Part>, Ending>) => {
      outcome ??= why
      child.kill("SIGKILL")
    }
    const stopClock = atDeadline(bounds, () => end(Effect.fail("too_slow")))
    const closed = Promise.withResolvers<void>()
    const finish = (final: Effect.Effect<WholeAnswer<A, Part>, Ending>) => {
      stopClock()
      closed.resolve()
      resume(final)
    }
    // The process could not be started. This is a defect, because the file is not the reason.
    child.once("error", (error) => finish(Effect.die(error)))
    // Waits until the process has ended, so that its memory is free before the next file is read.
    child.once("close", (code, signal) => finish(outcome ?? endingFromExit(code, signal)))
    onAnswer<A, Part>(child, end)
    // If the reader dies while the file is being written, writing fails. The reason is determined by the event `close`.
    child.stdin?.on("error", () => {})
    child.stdin?.write(bytes)
    return Effect.promise(() => {
      end(Effect.fail("died"))
      return closed.promise
    })
  })

/** Uses a timer of the system, because the host's effects may run on a test clock. Returns a function that stops the timer. */
const atDeadline = ({ deadline }: Bounds, act: () => void): (() => void) => {
  const timer = setTimeout(act, Duration.toMillis(deadline))
  return () => clearTimeout(timer)
}

/**
 * Of the host's flags, only the export conditions are passed on. Others must not be: a port of the inspector can be used only once, and modules
 * that the host preloads are meant for the host.
 */
const conditions = (): ReadonlyArray<string> => {
  const given = [...process.execArgv, ...(process.env["NODE_OPTIONS"] ?? "").split(/\s+/u)]
  return given.flatMap((flag, index) => {
    if (/^(?:--conditions|-C)=/u.test(flag)) return [flag]
    return flag === "--conditions" || flag === "-C" ? [flag, given[index + 1] ?? ""] : []
  })
}

/** The environment is empty, except for the variable without which Windows cannot start a program. */
const environment = (): Record<string, string | undefined> =>
  process.platform === "win32" ? { SystemRoot: process.env["SystemRoot"] } : {}

/** Calls `end` when the whole answer has arrived, with its parts; or with the reason why it is of no use. */
const onAnswer = <A, Part>(
  child: ChildProcess,
  end: (answer: Effect.Effect<WholeAnswer<A, Part>, Ending>) => void
): void => {
  const pipe = child.stdio?.[answerPipe]
  if (!(pipe instanceof Readable)) return
  const parts: Array<Part> = []
  const receive = receiveMessages<A, Part>({
    message: (message) => {
      if ("part" in message) parts.push(message.part)
      else end(Effect.succeed("refused" in message ? message : { value: message.value, parts }))
    },
    tooLarge: () => end(Effect.fail("too_much_memory")),
    unreadable: () => end(Effect.fail("died"))
  })
  pipe.on("error", () => {})
  pipe.on("data", receive)
}

/**
 * Why a process ended without an answer. V8 aborts when its heap is full, and traps when one object is too large. The watcher thread of the
 * process and a system without free memory kill it. On Windows, exit codes tell the same. When the host is being stopped, the system may send
 * the signal to all its processes; this is a defect and not a result, so the file is read again later.
 */
const endingFromExit = (code: number | null, signal: NodeJS.Signals | null): Effect.Effect<never, Ending> => {
  if (signal === "SIGINT" || signal === "SIGTERM" || signal === "SIGHUP") {
    return Effect.die(new Error(`The process that reads files was stopped by ${signal}.`))
  }
  const isMemory =
    signal === null
      ? process.platform === "win32" && (code === 1 || code === 134 || code === 0x80000003)
      : signal === "SIGKILL" || signal === "SIGABRT" || signal === "SIGTRAP"
  return Effect.fail(isMemory ? "too_much_memory" : "died")
}
