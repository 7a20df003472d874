/** How soon a kernel of a test gives up the dead. Its polls are slow on purpose: what comes earlier was heard. */
import type { TurnSettings } from "@colloquy/core"

export const shortLease = "short"

/** Leases are long unless a test waits for one to expire, so that a slow machine does not lose any. */
export const leaseOf = (kind: string | undefined): Partial<TurnSettings> => ({
  poll: "10 seconds",
  ...(kind === shortLease ? { lease: "1 second", sweep: "300 millis" } : {})
})
