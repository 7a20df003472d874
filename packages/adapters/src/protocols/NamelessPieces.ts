/** A limit for pieces of calls that have no name: a call that never gets one is kept for nothing, and a broken provider sends them for ever. */
import type { Fault } from "./Fault.ts"

const mostNamelessPieces = 1024

export interface NamelessPieces {
  /** One more; the fault when it is one too many. */
  readonly add: () => Fault | undefined
}

export const countNameless = (most: number = mostNamelessPieces): NamelessPieces => {
  let seen = 0
  return { add: () => (++seen > most ? tooMany : undefined) }
}

const tooMany: Fault = { reason: "malformed", code: "nameless_tool_calls", shouldRetry: false }
