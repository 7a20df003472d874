/**
 * `UsageLedger` in memory: one sum for each owner, day, model and purpose. Settlements and charges of other work are added to it. It is kept when
 * threads are deleted.
 */
import type { Charge, OwnerId } from "@colloquy/core"
import type { UsageOfDay } from "@colloquy/core/adapters"
import { addUsage, noUsage, UsageLedger } from "@colloquy/core/adapters"
import * as Duration from "effect/Duration"
import { ownedStep, step, type State } from "./State.ts"

export const usageLedger = (state: State): typeof UsageLedger.Service =>
  UsageLedger.of({
    begin: (id, charges) =>
      ownedStep((ownerId, at) => {
        const name = JSON.stringify([ownerId, id])
        if (!state.charges.has(name)) state.charges.set(name, { ownerId, at, begun: charges })
      }),
    add: (id, charges) =>
      ownedStep((ownerId, at) => {
        const name = JSON.stringify([ownerId, id])
        if (state.charges.get(name)?.begun === null) return
        state.charges.set(name, { ownerId, at, begun: null })
        for (const charge of charges) addToLedger(state, ownerId, at, charge)
      }),
    endBegun: (age, limit) =>
      step((now) => {
        const overdue = [...state.charges]
          .flatMap(([name, { at, begun, ownerId }]) =>
            begun === null || at > now - Duration.toMillis(age) ? [] : [{ name, begun, ownerId }]
          )
          .slice(0, limit)
        for (const { begun, name, ownerId } of overdue) {
          state.charges.set(name, { ownerId, at: now, begun: null })
          for (const charge of begun) addToLedger(state, ownerId, now, charge)
        }
        return overdue.length
      }),
    recent: ({ skip, limit }) =>
      ownedStep((ownerId) => {
        const rows = [...state.ledger.values()].filter((row) => row.ownerId === ownerId).sort(newestFirst)
        const days = rows
          .slice(skip, skip + limit)
          .map(({ date, model, purpose, usage }) => ({ date, model, purpose, usage }))
        return { days, total: rows.length }
      })
  })

/** Adds a charge to the owner's sum of that day. */
export const addToLedger = (state: State, ownerId: OwnerId, now: number, charge: Charge): void => {
  const { model, purpose, usage } = charge
  const date = new Date(now).toISOString().slice(0, 10)
  const key = JSON.stringify([ownerId, date, model, purpose])
  const before = state.ledger.get(key)?.usage ?? noUsage
  state.ledger.set(key, { ownerId, date, model, purpose, usage: addUsage(before, usage) })
}

const newestFirst = (a: UsageOfDay, b: UsageOfDay): number =>
  compare(b.date, a.date) || compare(a.model, b.model) || compare(a.purpose, b.purpose)

const compare = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0)
