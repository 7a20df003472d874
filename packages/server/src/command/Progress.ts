/**
 * The progress of a long work, as one line of a terminal that changes. Without a terminal nothing is written, because a log has no use for
 * such lines.
 */
import type { WriteStream } from "node:tty"

export interface Progress {
  readonly show: (text: string) => void
  /** Removes the line. */
  readonly clear: () => void
}

const start = "\r\u001b[2K"

export const makeProgress = (stream: Pick<WriteStream, "isTTY" | "write">): Progress => {
  let isShown = false
  const write = (text: string) => {
    if (stream.isTTY) stream.write(start + text)
    isShown = text !== ""
  }
  return { show: write, clear: () => (isShown ? write("") : undefined) }
}

/** Shows what is being done, and for how many seconds, until it has ended. */
export const during = async <A>(progress: Progress, what: string, work: Promise<A>): Promise<A> => {
  const begin = performance.now()
  progress.show(`${what}…`)
  const tick = () => progress.show(`${what}… ${Math.round((performance.now() - begin) / 1000)} s`)
  const timer = setInterval(tick, 1000)
  try {
    return await work
  } finally {
    clearInterval(timer)
    progress.clear()
  }
}
