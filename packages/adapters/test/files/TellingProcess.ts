/** A reader that tells what its process has and may do, after it got the signals that stop a host. */
import { spawnSync } from "node:child_process"
import { existsSync, readFileSync, writeFileSync } from "node:fs"
import { setImmediate } from "node:timers/promises"
import { Worker } from "node:worker_threads"
import { answerOnce } from "../../src/files/answerOnce.ts"
import { explain } from "../../src/files/readFile.ts"

const chosenFirst = "/proc/self/oom_score_adj"

/** Whether Node's permission model refuses it. */
const isDenied = (act: () => unknown): boolean => {
  try {
    act()
    return false
  } catch (error) {
    return error instanceof Error && "code" in error && error.code === "ERR_ACCESS_DENIED"
  }
}

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
  const denied = {
    "a file of the system": isDenied(() => readFileSync("/etc/passwd")),
    "a file of the host": isDenied(() => readFileSync(new URL("../../../../package.json", import.meta.url))),
    "writing beside the code": isDenied(() => writeFileSync(new URL("Written.txt", import.meta.url), "x")),
    "another program": isDenied(() => spawnSync("true")),
    // Older versions of Node cannot give up this right.
    "a thread without limits":
      !("drop" in process.permission) || isDenied(() => new Worker("", { eval: true, execArgv: [] }))
  }
  const user = [process.getuid?.(), process.getgid?.()]
  return [{ form: "prose", text: JSON.stringify({ env, execArgv, signals, score, denied, user }) }]
}, explain)
