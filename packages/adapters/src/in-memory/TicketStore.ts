/** `TicketStore` in memory. Expired tickets are removed when a new one is stored. */
import { TicketStore } from "@colloquy/core/wings"
import * as Option from "effect/Option"
import { ownedWrite, type State, step, findThread } from "./State.ts"

export const ticketStore = (state: State): typeof TicketStore.Service =>
  TicketStore.of({
    insert: (record) =>
      ownedWrite(state, "TicketStore.insert", (ownerId, now) => {
        if (findThread(state, ownerId, record.threadId) === undefined) return false
        for (const [hash, { expiresAt }] of state.tickets) if (expiresAt.getTime() <= now) state.tickets.delete(hash)
        state.tickets.set(record.hash, record)
        return true
      }),
    redeem: (hash, now) =>
      step(() => {
        const found = state.tickets.get(hash)
        state.tickets.delete(hash)
        return Option.filter(Option.fromNullishOr(found), ({ expiresAt }) => expiresAt > now)
      })
  })
