/**
 * Runs inside of a reader's process, which `ReaderProcess.ts` starts: reads one file from stdin, sends one answer, large ones in
 * parts, and waits until the host kills the process.
 *
 * A watcher thread ends the process in two cases, also while the main thread is busy: when the process uses too much memory, and when stdin
 * closes because the host has died. The memory of the whole process is measured, because V8's own limit counts neither buffers nor WebAssembly;
 * `process.memoryUsage.rss` works on Linux, macOS and Windows. The thread is plain JavaScript, so that it needs no TypeScript compiler.
 */
import { readSync, writeFileSync, writeSync } from "node:fs"
import { serialize } from "node:v8"
import { Worker } from "node:worker_threads"
import type { Refused } from "./Refused.ts"

/** The argument that comes before the order. Without it the script does nothing, because it was only imported. */
export const readerMark = "colloquy-reader"

export interface Order {
  /** The argument of the function that reads. */
  readonly task: unknown
  /** The size of the file in bytes. */
  readonly size: number
  /** By how many MB the process may grow. */
  readonly growth: number
  /** Whether it may start threads. */
  readonly threads: boolean
}

export type ReaderAnswer<A> =
  | { readonly value: A }
  | { readonly refused: { readonly reason: Refused["reason"]; readonly message: string } }

/** A large answer comes in parts before it, so that the host receives it in small steps. */
export type Message<A, Part> = ReaderAnswer<A> | { readonly part: Part }

/** Sends a part of the answer. It waits while the host does not take it. */
export type SendPart<Part> = (part: Part) => void

/** The number of the pipe for the answer. */
export const answerPipe = 3

export const answerOnce = async <Task, A, Part>(
  read: (task: Task, bytes: Uint8Array<ArrayBuffer>, sendPart: SendPart<Part>) => A | Promise<A>,
  explain: (error: unknown) => Refused
): Promise<void> => {
  const order = readOrder<Task>(process.argv)
  if (order === null) return
  stayUntilKilled()
  const refuse = (error: unknown) => {
    const { message, reason } = explain(error)
    end({ refused: { reason, message } })
  }
  process.once("uncaughtException", refuse)
  const bytes = receive(order.size)
  startWatch(process.memoryUsage.rss() + order.growth * 1e6)
  if (!order.threads) giveUpThreads()
  try {
    end({ value: await read(order.task, bytes, (part) => send({ part })) })
  } catch (error) {
    refuse(error)
  }
}

/** The arguments of a process that `readInProcess` has started. */
const readOrder = <Task>([, , mark, order = ""]: ReadonlyArray<string>): (Order & { readonly task: Task }) | null =>
  mark === readerMark ? JSON.parse(order) : null

/**
 * Ignores signals that stop the host: they may reach all its processes (Ctrl-C does), and the host may still want the answer. On Linux, asks the
 * system to kill this process first when memory runs out, and not the host.
 */
const stayUntilKilled = (): void => {
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) process.on(signal, () => {})
  try {
    writeFileSync("/proc/self/oom_score_adj", "1000", { flag: "r+" })
  } catch {
    // The system is not Linux, or does not allow it.
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

/** Starts the watcher thread. If it ends, the process ends too, because it must not read without limits. */
const startWatch = (mostMemory: number): void => {
  const thread = new Worker(watch, { eval: true, env: {}, workerData: mostMemory })
  thread.once("exit", () => process.exit())
}

/**
 * Gives up the right to start threads, because a new thread could run without the limits of Node's permission model. Older versions of Node
 * cannot give up a right.
 */
const giveUpThreads = (): void => {
  const { permission } = process
  if (typeof permission === "object" && "drop" in permission && typeof permission.drop === "function")
    permission.drop("worker")
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

/** The last message. An exception after it changes nothing. */
const end = (answer: ReaderAnswer<unknown>): void => {
  if (hasAnswered) return
  hasAnswered = true
  send(answer)
}

/** Sends the length and the message in V8's serialization format, which is faster than JSON. */
const send = (message: Message<unknown, unknown>): void => {
  const body = serialize(message)
  const header = Buffer.alloc(4)
  header.writeUInt32LE(body.length)
  for (const part of [header, body]) {
    for (let at = 0; at < part.length;) at += writeSync(answerPipe, part, at)
  }
}
