/** `AuditStore` in memory. Entries are kept in the order in which they were appended. */
import type { AuditStorePort } from "@colloquy/core/adapters"
import { ownedStep, step, type State } from "./State.ts"

export const auditStore = (state: State): AuditStorePort => ({
  append: (entry) => step(() => void state.auditLog.push(entry)),
  list: ({ before, limit }) =>
    ownedStep((ownerId) => {
      const entries = state.auditLog.filter((entry) => entry.ownerId === ownerId)
      const end =
        before === undefined
          ? entries.length
          : Math.max(
              0,
              entries.findIndex(({ id }) => id === before)
            )
      return entries.slice(Math.max(0, end - limit), end).toReversed()
    })
})
