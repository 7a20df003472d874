/** `UsageLedger` in memory: one entry for each owner, day and model, added up as legs are settled. It outlives the threads. */
import type { OwnerId, Usage, UsageOfDay } from "@colloquy/core"
import { addUsage, noUsage, UsageLedger } from "@colloquy/core"
import { ownedStep, type State } from "./State.ts"

export const usageLedger = (state: State): typeof UsageLedger.Service =>
  UsageLedger.of({
    recent: ({ skip, limit }) =>
      ownedStep((ownerId) => {
        const rows = [...state.ledger.values()].filter((row) => row.ownerId === ownerId).sort(newestFirst)
        const days = rows.slice(skip, skip + limit).map(({ date, model, usage }) => ({ date, model, usage }))
        return { days, total: rows.length }
      })
  })

/** Adds a settled leg to what its owner used on that day. */
export const addToLedger = (state: State, ownerId: OwnerId, now: number, model: string, usage: Usage): void => {
  const date = new Date(now).toISOString().slice(0, 10)
  const key = JSON.stringify([ownerId, date, model])
  const before = state.ledger.get(key)?.usage ?? noUsage
  state.ledger.set(key, { ownerId, date, model, usage: addUsage(before, usage) })
}

const newestFirst = (a: UsageOfDay, b: UsageOfDay): number => compare(b.date, a.date) || compare(a.model, b.model)

const compare = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0)
