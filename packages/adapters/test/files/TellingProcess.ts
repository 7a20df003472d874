/** A reader that tells what its process has, after it got the signals that stop a host. */
import { existsSync, readFileSync } from "node:fs"
import { setImmediate } from "node:timers/promises"
import { answerOnce } from "../../src/files/answerOnce.ts"
import { explain } from "../../src/files/readFile.ts"

const chosenFirst = "/proc/self/oom_score_adj"

await answerOnce(async () => {
  const signals: Array<string> = []
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) {
    process.once(signal, () => signals.push(signal))
    process.kill(process.pid, signal)
    while (!signals.includes(signal)) await setImmediate()
  }
  console.log("printed")
  console.error("printed")
  const score = existsSync(chosenFirst) ? readFileSync(chosenFirst, "utf8").trim() : "1000"
  const { env, execArgv } = process
  return [{ form: "prose", text: JSON.stringify({ env, execArgv, signals, score }) }]
}, explain)
