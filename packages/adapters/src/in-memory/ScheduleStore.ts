/** `ScheduleStore` in memory. A schedule whose assistant was deleted is no longer returned, although its row stays in the map. */
import type { OwnerId } from "@colloquy/core"
import type { ScheduleId } from "@colloquy/core/adapters"
import { type Schedule, ScheduleStore } from "@colloquy/core/wings"
import * as Option from "effect/Option"
import { storeFollowUps } from "./FollowUpStore.ts"
import { findKey, keepAnswer } from "./IdempotencyKeys.ts"
import { findAssistant, insertNew, ownedStep, ownedWrite, type State, step } from "./State.ts"

export const scheduleStore = (state: State): typeof ScheduleStore.Service => {
  const hasAssistant = (ownerId: OwnerId, { assistantId }: Schedule) =>
    findAssistant(state, ownerId, assistantId) !== undefined
  const find = (ownerId: OwnerId, id: ScheduleId) => {
    const row = state.schedules.get(id)
    return row?.ownerId === ownerId && hasAssistant(ownerId, row.schedule) ? row : undefined
  }
  const all = (ownerId: OwnerId) =>
    [...state.schedules.values()].filter((row) => row.ownerId === ownerId && hasAssistant(ownerId, row.schedule))

  return ScheduleStore.of({
    insert: (schedule, most, once) =>
      ownedWrite(state, "ScheduleStore.insert", (ownerId, now) => {
        if (once !== null && findKey(state, ownerId, once.key, now) !== undefined) return "repeated"
        if (!hasAssistant(ownerId, schedule)) return "assistant_missing"
        if (all(ownerId).length >= most) return "too_many"
        insertNew(state.schedules, schedule.id, { ownerId, schedule })
        keepAnswer(state, ownerId, once, now)
        return "stored"
      }),
    get: (id) => ownedStep((ownerId) => Option.fromNullishOr(find(ownerId, id)?.schedule)),
    list: ({ after, assistantId, limit }) =>
      ownedStep((ownerId) => {
        const listed = all(ownerId)
          .map(({ schedule }) => schedule)
          .filter((schedule) => schedule.assistantId === assistantId)
          .toReversed()
        const from = after === undefined ? 0 : listed.findIndex(({ id }) => id === after) + 1
        return after !== undefined && from === 0 ? [] : listed.slice(from, from + limit)
      }),
    replace: (schedule) =>
      ownedWrite(state, "ScheduleStore.replace", (ownerId) => {
        const row = find(ownerId, schedule.id)
        if (row?.schedule.revision !== schedule.revision - 1) return false
        const { assistantId, createdAt, last } = row.schedule
        row.schedule = { ...schedule, assistantId, createdAt, last }
        return true
      }),
    remove: (id) => ownedStep((ownerId) => find(ownerId, id) !== undefined && state.schedules.delete(id)),
    due: (now, limit) =>
      step(() =>
        [...state.schedules.values()]
          .filter(
            ({ ownerId, schedule }) => schedule.next !== null && schedule.next <= now && hasAssistant(ownerId, schedule)
          )
          .toSorted((a, b) => Number(a.schedule.next) - Number(b.schedule.next))
          .slice(0, limit)
          .map(({ ownerId, schedule }) => ({ ownerId, schedule }))
      ),
    advance: ({ due, followUp, id, last, next, revision }) =>
      ownedWrite(state, "ScheduleStore.advance", (ownerId, now) => {
        const row = find(ownerId, id)
        if (row?.schedule.next?.getTime() !== due.getTime() || row.schedule.revision !== revision) return false
        row.schedule = { ...row.schedule, next, last: last ?? row.schedule.last, revision: revision + 1 }
        if (followUp !== null) storeFollowUps(state, ownerId, now, [followUp])
        return true
      }),
    note: (id, last) =>
      ownedStep((ownerId) => {
        const row = find(ownerId, id)
        if (row === undefined || (row.schedule.last !== null && row.schedule.last.time > last.time)) return
        row.schedule = { ...row.schedule, last }
      })
  })
}
