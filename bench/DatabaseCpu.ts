/** CPU time of the PostgreSQL server, from Linux's `/proc`. Elsewhere, or for a server on another machine, it is not a number. */
import { readFileSync } from "node:fs"
import pg from "pg"

/** What `/proc/PID/stat` counts in. */
const ticksASecond = 100

const ticksOf = (pid: number): number => {
  try {
    const fields = readFileSync(`/proc/${pid}/stat`, "utf8").split(") ").at(-1)?.split(" ") ?? []
    return Number(fields[11]) + Number(fields[12])
  } catch {
    return Number.NaN
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
      for (const { pid } of rows) seen.set(pid, ticksOf(pid))
      return [...seen.values()].reduce((sum, ticks) => sum + ticks, 0) * (1000 / ticksASecond)
    },
    stop: () => client.end()
  }
}
