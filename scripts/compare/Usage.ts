/** Loaded before a program, it writes down what the process used. The file's name is in `USAGE_FILE`. */
import { writeFileSync } from "node:fs"

process.on("SIGTERM", () => process.exit())
process.on("exit", () => {
  const { maxRSS, systemCPUTime, userCPUTime } = process.resourceUsage()
  const usage = { milliseconds: (systemCPUTime + userCPUTime) / 1000, megabytes: maxRSS / 1024 }
  writeFileSync(process.env["USAGE_FILE"] ?? "/dev/null", JSON.stringify(usage))
})
