/**
 * `UsageLedger` in memory: one sum for each owner, day, assistant, model and purpose. Settlements and charges of other work are added to it. It is kept when
 * threads are deleted.
 */
import type { AssistantId, Charge, OwnerId } from "@colloquy/core"
import type { UsageOfDay } from "@colloquy/core/adapters"
import { addUsage, noUsage, UsageLedger } from "@colloquy/core/adapters"
import * as Duration from "effect/Duration"
import { byCodePoints, ownedStep, step, type State } from "./State.ts"

export const usageLedger = (state: State): typeof UsageLedger.Service =>
  UsageLedger.of({
    begin: (id, charges, assistantId) =>
      ownedStep((ownerId, at) => {
        const name = JSON.stringify([ownerId, id])
        if (charges.length > 0 && !state.charges.has(name))
          state.charges.set(name, { ownerId, at, begun: charges, assistantId })
      }),
    add: (id, charges, assistantId) =>
      ownedStep((ownerId, at) => {
        const name = JSON.stringify([ownerId, id])
        if (state.charges.get(name)?.begun === null) return
        state.charges.set(name, { ownerId, at, begun: null, assistantId })
        for (const charge of charges) addToLedger(state, { ownerId, assistantId }, at, charge)
      }),
    endBegun: (age, limit) =>
      step((now) => {
        const overdue = [...state.charges]
          .flatMap(([name, { assistantId, at, begun, ownerId }]) =>
            begun === null || at > now - Duration.toMillis(age) ? [] : [{ name, begun, ownerId, assistantId }]
          )
          .slice(0, limit)
        for (const { assistantId, begun, name, ownerId } of overdue) {
          state.charges.set(name, { ownerId, at: now, begun: null, assistantId })
          for (const charge of begun) addToLedger(state, { ownerId, assistantId }, now, charge)
        }
        return overdue.length
      }),
    recent: ({ skip, limit }) =>
      ownedStep((ownerId) => {
        const sums = new Map<string, UsageOfDay>()
        for (const { date, model, purpose, usage, ...row } of state.ledger.values()) {
          if (row.ownerId !== ownerId) continue
          const key = JSON.stringify([date, model, purpose])
          sums.set(key, { date, model, purpose, usage: addUsage(sums.get(key)?.usage ?? noUsage, usage) })
        }
        const rows = [...sums.values()].sort(newestFirst)
        return { days: rows.slice(skip, skip + limit), total: rows.length }
      })
  })

/** Adds a charge to the sums of that day. A charge of unknown cost is in a sum of its own, because a budget counts it otherwise. */
export const addToLedger = (
  state: State,
  { assistantId, ownerId }: { readonly ownerId: OwnerId; readonly assistantId: AssistantId | null },
  now: number,
  charge: Charge
): void => {
  const { model, purpose, usage } = charge
  const date = new Date(now).toISOString().slice(0, 10)
  const key = JSON.stringify([ownerId, date, model, purpose, assistantId, usage.costUsd === null])
  const before = state.ledger.get(key)?.usage ?? noUsage
  state.ledger.set(key, { ownerId, assistantId, date, model, purpose, usage: addUsage(before, usage) })
}

const newestFirst = (a: UsageOfDay, b: UsageOfDay): number =>
  byCodePoints(b.date, a.date) || byCodePoints(a.model, b.model) || byCodePoints(a.purpose, b.purpose)
