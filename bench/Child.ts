/** A process of the benchmark: says where it listens, and tells on demand what it has used. */
import type { AddressInfo } from "node:net"
import type { Server } from "node:http"

export interface Stats {
  readonly cpuMicros: number
  readonly rss: number
  /** What the program keeps: its heap and its buffers. */
  readonly kept: number
}

/** Called by a child when its server may be used. */
export const serve = async (server: Server): Promise<void> => {
  // While the other side is measured, its connections wait. On a slow machine they waited longer than Node's 5 seconds, and one that closes
  // while it is used again ends the benchmark.
  server.keepAliveTimeout = 600_000
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
  const address = server.address() as AddressInfo
  process.on("message", (asked) => {
    if (asked === "stats") {
      const { user, system } = process.cpuUsage()
      const { external, heapUsed, rss } = process.memoryUsage()
      process.send?.({ cpuMicros: user + system, rss, kept: heapUsed + external } satisfies Stats)
    }
    if (asked === "collect") {
      globalThis.gc?.()
      process.send?.("collected")
    }
  })
  process.on("disconnect", () => process.exit(0))
  process.send?.({ port: address.port })
}
