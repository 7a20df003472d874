/**
 * The inside of a reader's process (`ReaderProcess.ts` starts it): takes one file from stdin, gives one answer, and waits to be killed.
 *
 * While it reads, a thread watches over the process, because the main thread may be busy for ever. It ends the process when it takes too much
 * memory, measured as a whole: V8's own limit counts neither buffers nor WebAssembly, and `process.memoryUsage.rss` is the one measure that
 * Linux, macOS and Windows share. And it ends the process when stdin closes, because the host has died then. The thread is written in plain
 * JavaScript, so that no compiler of TypeScript runs in it.
 */
import { readSync, writeFileSync, writeSync } from "node:fs"
import { serialize } from "node:v8"
import { Worker } from "node:worker_threads"
import type { Refused } from "./Refused.ts"

/** Stands before the order among the arguments: a host that only loads the script is not a reader. */
export const readerMark = "colloquy-reader"

export interface Order {
  /** For the script that reads. */
  readonly task: unknown
  /** Of the file, in bytes. */
  readonly size: number
  /** By how much the process may grow, in MB. */
  readonly growth: number
}

export type Answer<A> =
  | { readonly value: A }
  | { readonly refused: { readonly reason: Refused["reason"]; readonly message: string } }

/** The number of the pipe for the answer. */
export const answerPipe = 3

export const answerOnce = async <Task, A>(
  read: (task: Task, bytes: Uint8Array<ArrayBuffer>) => A | Promise<A>,
  explain: (error: unknown) => Refused
): Promise<void> => {
  const order = orderOf<Task>(process.argv)
  if (order === null) return
  stayUntilKilled()
  const refuse = (error: unknown) => {
    const { message, reason } = explain(error)
    send({ refused: { reason, message } })
  }
  process.once("uncaughtException", refuse)
  const bytes = receive(order.size)
  startWatch(process.memoryUsage.rss() + order.growth * 1e6)
  try {
    send({ value: await read(order.task, bytes) })
  } catch (error) {
    refuse(error)
  }
}

/** The arguments of a process that `readInProcess` has started. */
const orderOf = <Task>([, , mark, order = ""]: ReadonlyArray<string>): (Order & { readonly task: Task }) | null =>
  mark === readerMark ? JSON.parse(order) : null

/**
 * A signal that stops the host may reach all its processes (Ctrl-C does), and the host may want to finish its work. Where the system itself
 * runs out of memory, Linux is asked to end the reader rather than the host.
 */
const stayUntilKilled = (): void => {
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) process.on(signal, () => {})
  try {
    writeFileSync("/proc/self/oom_score_adj", "1000", { flag: "r+" })
  } catch {
    // Another system, or one that does not allow it.
  }
}

const receive = (size: number): Uint8Array<ArrayBuffer> => {
  const bytes = new Uint8Array(size)
  for (let at = 0; at < size;) {
    const read = readSync(0, bytes, at, size - at, null)
    if (read === 0) process.exit()
    at += read
  }
  return bytes
}

/** Nothing is read without it. */
const startWatch = (mostMemory: number): void => {
  const thread = new Worker(watch, { eval: true, env: {}, workerData: mostMemory })
  thread.once("exit", () => process.exit())
}

const watch = `
const { Socket } = require("node:net")
const { workerData: most } = require("node:worker_threads")
const end = () => process.kill(process.pid, "SIGKILL")
new Socket({ fd: 0, writable: false }).on("error", end).on("close", end).resume()
setInterval(() => {
  if (process.memoryUsage.rss() > most) end()
}, 50)
`

let hasAnswered = false

/** The length, and what V8 writes for it: text goes as it is in memory. */
const send = (answer: Answer<unknown>): void => {
  if (hasAnswered) return
  hasAnswered = true
  const body = serialize(answer)
  const header = Buffer.alloc(4)
  header.writeUInt32LE(body.length)
  for (const part of [header, body]) {
    for (let at = 0; at < part.length;) at += writeSync(answerPipe, part, at)
  }
}
