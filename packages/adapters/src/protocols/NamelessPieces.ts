/** Limits the pieces of tool calls that have no name yet: a broken provider could send such pieces without end, and they stay in memory. */
import type { Fault } from "./Fault.ts"

const mostNamelessPieces = 1024

export interface NamelessPieces {
  /** Counts one more piece. Returns a fault when there are too many. */
  readonly add: () => Fault | undefined
}

export const countNameless = (most: number = mostNamelessPieces): NamelessPieces => {
  let seen = 0
  return { add: () => (++seen > most ? tooMany : undefined) }
}

const tooMany: Fault = { reason: "malformed", code: "nameless_tool_calls", shouldRetry: false }
