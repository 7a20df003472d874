/** CPU time of the PostgreSQL server, from Linux's `/proc`. Elsewhere, or for a server on another machine, it is not a number. */
import { readFileSync } from "node:fs"
import pg from "pg"

/** What `/proc/PID/stat` counts in. */
const ticksASecond = 100

/** User and system time, in the text of `/proc/PID/stat`. The name of a program may hold spaces and brackets. */
export const ticksIn = (stat: string): number => {
  const fields = stat.slice(stat.lastIndexOf(") ") + 2).split(" ")
  return Number(fields[11]) + Number(fields[12])
}

/** Null: the process has just ended, or this is no Linux, or the server is elsewhere. */
const processTicks = (pid: number): number | null => {
  try {
    return ticksIn(readFileSync(`/proc/${pid}/stat`, "utf8"))
  } catch {
    return null
  }
}

/** Milliseconds that the server's processes have used since the first question; those that have ended count with what was last seen. */
export const watchDatabase = async (
  connectionString: string
): Promise<{ readonly cpuMillis: () => Promise<number>; readonly stop: () => Promise<void> }> => {
  const client = new pg.Client({ connectionString, application_name: "bench" })
  await client.connect()
  const seen = new Map<number, number>()
  return {
    cpuMillis: async () => {
      const { rows } = await client.query<{ readonly pid: number }>("select pid from pg_stat_activity")
      for (const { pid } of rows) {
        const ticks = processTicks(pid)
        if (ticks !== null) seen.set(pid, ticks)
      }
      if (seen.size === 0) return Number.NaN
      return [...seen.values()].reduce((sum, ticks) => sum + ticks, 0) * (1000 / ticksASecond)
    },
    stop: () => client.end()
  }
}
