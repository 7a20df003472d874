/**
 * One file in one thread. The thread is ended at a deadline, when it takes too much memory, and when the caller is interrupted. A thread's
 * own limit does not count buffers, so that the memory of the process is watched as well; therefore only one file is read at a time.
 */
import type { Section } from "@colloquy/core/retrieval"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import { Worker } from "node:worker_threads"
import type { FileOfThread } from "./readFile.ts"
import { damaged, Refused, tooMuchMemory, tooSlow } from "./Refused.ts"

export interface Bounds {
  readonly deadline: Duration.Duration
  /** What the reader's objects may take, in MB. */
  readonly heap: number
  /** By how much the process may grow, in MB. */
  readonly growth: number
}

/** Nothing in the data of a worker that is not meant for it: no environment, and what libraries print is dropped. */
const startWorker = (script: URL, file: FileOfThread, { heap }: Bounds): Worker =>
  new Worker(script, {
    workerData: file,
    transferList: [file.bytes.buffer],
    env: {},
    stdout: true,
    stderr: true,
    resourceLimits: { maxOldGenerationSizeMb: heap, maxYoungGenerationSizeMb: 32, stackSizeMb: 4 }
  })

/** Time and memory, by the clock of the machine: a reader that never pauses must end as well. Answers how to stop the watch. */
const watch = ({ deadline, growth }: Bounds, exceeded: (refused: Refused) => void): (() => void) => {
  const before = process.memoryUsage.rss()
  const late = setTimeout(() => exceeded(tooSlow(Duration.toSeconds(deadline))), Duration.toMillis(deadline))
  const memory = setInterval(() => {
    if (process.memoryUsage.rss() - before > growth * 1e6) exceeded(tooMuchMemory())
  }, 50)
  return () => {
    clearTimeout(late)
    clearInterval(memory)
  }
}

/** What libraries leave open may keep a thread from ending. */
const timeToEnd = Duration.seconds(1)

export const readInThread = (
  script: URL,
  file: FileOfThread,
  bounds: Bounds
): Effect.Effect<ReadonlyArray<Section>, Refused> =>
  Effect.callback((resume) => {
    const worker = startWorker(script, file, bounds)
    const stopWatch = watch(bounds, (refused) => fail(refused))
    const leave = () => {
      stopWatch()
      worker.removeAllListeners()
      // A worker that is being ended may still report an error, which nobody waits for any more.
      worker.on("error", () => {})
    }
    const stop = () => {
      leave()
      return worker.terminate()
    }
    const fail = (refused: Refused) => void stop().then(() => resume(Effect.fail(refused)))
    /** A thread that has answered ends by itself, which is safer than to be stopped in the middle of its work. */
    worker.once("message", (answer) => {
      leave()
      const late = setTimeout(() => void worker.terminate(), Duration.toMillis(timeToEnd))
      // Answers when the thread has ended, and its memory is free for the next one.
      worker.once("exit", () => {
        clearTimeout(late)
        resume(decodeAnswer(answer))
      })
    })
    worker.once("error", (error: Error & { readonly code?: string }) =>
      fail(error.code === "ERR_WORKER_OUT_OF_MEMORY" ? tooMuchMemory() : damaged("file of its type"))
    )
    worker.once("exit", () => fail(damaged("file of its type")))
    return Effect.promise(stop)
  })

type Answer =
  | { readonly sections: ReadonlyArray<Section> }
  | { readonly reason: Refused["reason"]; readonly message: string }

/** What comes from the thread was sent by `worker.ts`. */
const decodeAnswer = (answer: Answer): Effect.Effect<ReadonlyArray<Section>, Refused> =>
  "sections" in answer ? Effect.succeed(answer.sections) : Effect.fail(new Refused(answer.reason, answer.message))
