/** The thread in which one file is read. It gets the file with its data, sends one answer, and ends. */
import { parentPort, workerData } from "node:worker_threads"
import { explain, readFile } from "./readFile.ts"

const answer = async () => {
  try {
    return { sections: await readFile(workerData) }
  } catch (error) {
    const { message, reason } = explain(error)
    return { reason, message }
  }
}

// oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread has no origin
if (parentPort !== null) parentPort.postMessage(await answer())
