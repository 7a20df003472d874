/** How soon a kernel of a test gives up the dead. Its polls are slow on purpose: what comes earlier was heard. */
import type { TurnSettings } from "@colloquy/core"

export const shortLease = "short"
/** What comes before an hour has passed does not come from a lease that has expired in its time. */
export const longLease = "long"

/** Leases are long unless a test waits for one to expire, so that a slow machine does not lose any. */
export const leaseSettings = (kind: string | undefined): Partial<TurnSettings> => ({
  poll: "10 seconds",
  ...(kind === shortLease ? { lease: "1 second", sweep: "300 millis" } : {}),
  ...(kind === longLease ? { lease: "1 hour", sweep: "1 hour" } : {})
})
