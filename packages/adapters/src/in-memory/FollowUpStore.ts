/** `FollowUpStore` in memory. The map of rows keeps the order in which they were stored. */
import type { OwnerId } from "@colloquy/core"
import type { FollowUpClaim, NewFollowUp } from "@colloquy/core/adapters"
import { FollowUpStore } from "@colloquy/core/adapters"
import * as Duration from "effect/Duration"
import * as Option from "effect/Option"
import { byCodePoints, type FollowUpRow, ownedStep, type State, step } from "./State.ts"

export const followUpStore = (state: State): typeof FollowUpStore.Service =>
  FollowUpStore.of({
    add: (followUps) => ownedStep((ownerId, now) => storeFollowUps(state, ownerId, now, followUps)),

    claim: (kinds, limit, duration, rules) =>
      step((now) => {
        const claims: Array<FollowUpClaim> = []
        let suspects = rules?.suspects ?? Number.POSITIVE_INFINITY
        const take = (row: FollowUpRow) => {
          const isRetaken = row.followUp.status === "running"
          if (isSuspect(row)) suspects--
          row.token++
          row.claimExpiresAt = now + Duration.toMillis(duration)
          row.followUp = { ...row.followUp, status: "running", attempts: row.followUp.attempts + 1 }
          claims.push({ followUp: row.followUp, token: row.token, isRetaken })
        }
        for (const isUrgent of [true, false]) {
          const lane = (isUrgent ? rules?.urgent : rules?.other) ?? { limit, held: [] }
          const held = [...lane.held]
          const last = claims.length + Math.min(lane.limit, limit - claims.length)
          const next = (owner: OwnerId) =>
            [...state.followUps.values()]
              .filter(({ followUp }) => followUp.ownerId === owner && followUp.isUrgent === isUrgent)
              .filter((row) => kinds.includes(row.followUp.kind) && (suspects > 0 || !isSuspect(row)))
              .filter((row) => isDue(state, row, now) && !claims.some((claim) => claim.followUp.id === row.followUp.id))
              .sort((one, other) => dueSince(one) - dueSince(other))[0]
          const owners = ownersTurns(state, isUrgent)
          for (let waiting = owners.length; waiting > 0 && claims.length < last;) {
            const owner = owners.shift()
            if (owner === undefined) break
            owners.push(owner)
            const isFull = held.filter((each) => each === owner).length >= (rules?.share ?? Number.POSITIVE_INFINITY)
            const row = isFull ? undefined : next(owner)
            waiting = row === undefined ? waiting - 1 : owners.length
            if (row === undefined) continue
            take(row)
            held.push(owner)
            state.lastClaims.set(isUrgent, owner)
          }
        }
        return claims
      }),

    renew: (claims, duration) =>
      step((now) =>
        claims.flatMap((claim) => {
          const row = claimedRow(state, claim)
          if (row?.followUp.status !== "running") return [claim.followUp.id]
          row.claimExpiresAt = now + Duration.toMillis(duration)
          return []
        })
      ),

    complete: (claim) =>
      step((now) => {
        const row = claimedRow(state, claim)
        if (row === undefined) return false
        if (row.followUp.status === "running") {
          row.followUp = { ...row.followUp, status: "done", lastError: null, endedAt: new Date(now) }
        }
        return row.followUp.status === "done"
      }),

    fail: (claim, { error, isCounted, pause }) =>
      step((now) => {
        const row = claimedRow(state, claim)
        if (row?.followUp.status !== "running") return false
        const attempts = isCounted ? row.followUp.attempts : row.followUp.attempts - 1
        const end =
          pause === null ? ({ status: "dead", endedAt: new Date(now) } as const) : ({ status: "pending" } as const)
        row.dueAt = pause === null ? row.dueAt : now + Duration.toMillis(pause)
        row.followUp = { ...row.followUp, ...end, attempts, lastError: error }
        return true
      }),

    find: (kind, key) =>
      ownedStep((ownerId) =>
        Option.fromNullishOr(
          [...state.followUps.values()].findLast(
            ({ followUp }) => followUp.ownerId === ownerId && followUp.kind === kind && followUp.key === key
          )?.followUp
        )
      ),

    list: (kind, { skip, limit }) =>
      ownedStep((ownerId) =>
        [...state.followUps.values()]
          .filter(({ followUp }) => followUp.ownerId === ownerId && followUp.kind === kind)
          .toReversed()
          .slice(skip, skip + limit)
          .map(({ followUp }) => followUp)
      ),

    cancel: (kind, key) =>
      ownedStep((ownerId) => {
        const row = [...state.followUps.values()].find(
          (each) =>
            isOpen(each) &&
            each.followUp.ownerId === ownerId &&
            each.followUp.kind === kind &&
            each.followUp.key === key
        )
        return row !== undefined && state.followUps.delete(row.followUp.id)
      }),

    dead: ({ skip, limit }) =>
      step(() =>
        [...state.followUps.values()]
          .filter(({ followUp }) => followUp.status === "dead")
          .toReversed()
          .slice(skip, skip + limit)
          .map(({ followUp }) => followUp)
      ),

    revive: (id) =>
      step((now) => {
        const row = state.followUps.get(id)
        if (row?.followUp.status !== "dead") return false
        const { key, kind, ownerId } = row.followUp
        if (isOrdered(state, ownerId, kind, key)) return false
        row.dueAt = now
        row.followUp = { ...row.followUp, status: "pending", attempts: 0, endedAt: null }
        return true
      }),

    prune: (before, limit) =>
      step(() => {
        const old = [...state.followUps.values()]
          .filter(
            ({ followUp }) => followUp.status === "done" && followUp.endedAt !== null && followUp.endedAt < before
          )
          .slice(0, limit)
        for (const { followUp } of old) state.followUps.delete(followUp.id)
        return old.length
      })
  })

/** Called inside of the step that stores the operation which orders the follow-ups, so that both are stored together. */
export const storeFollowUps = (
  state: State,
  ownerId: OwnerId,
  now: number,
  followUps: ReadonlyArray<NewFollowUp>
): void => {
  for (const { delayMillis, isUrgent = false, ...added } of followUps) {
    if (state.followUps.has(added.id)) continue
    const start = { status: "pending", attempts: 0, lastError: null, endedAt: null } as const
    const followUp = { ...added, ...start, ownerId, isUrgent }
    if (isOrdered(state, ownerId, added.kind, added.key)) continue
    state.followUps.set(added.id, { followUp, token: 0, dueAt: now + delayMillis, claimExpiresAt: 0 })
  }
}

/** Whether a follow-up of this kind and key is open. */
export const isOrdered = (state: State, ownerId: OwnerId, kind: string, key: string): boolean =>
  [...state.followUps.values()].some(
    (row) => isOpen(row) && row.followUp.ownerId === ownerId && row.followUp.kind === kind && row.followUp.key === key
  )

const isOpen = ({ followUp }: FollowUpRow): boolean => followUp.status === "pending" || followUp.status === "running"

/** The owners with open follow-ups of this priority, beginning with the one after the last that was served. */
const ownersTurns = (state: State, isUrgent: boolean): Array<OwnerId> => {
  const owners = new Set<OwnerId>()
  for (const row of state.followUps.values()) {
    if (isOpen(row) && row.followUp.isUrgent === isUrgent) owners.add(row.followUp.ownerId)
  }
  const served = state.lastClaims.get(isUrgent) ?? ""
  const all = [...owners].sort(byCodePoints)
  const isNext = (owner: OwnerId) => byCodePoints(owner, served) > 0
  return [...all.filter(isNext), ...all.filter((owner) => !isNext(owner))]
}

const dueSince = ({ claimExpiresAt, dueAt, followUp }: FollowUpRow): number =>
  followUp.status === "running" ? claimExpiresAt : dueAt

/** A worker holds a claim on it. */
export const isClaimed = ({ claimExpiresAt, followUp }: FollowUpRow, now: number): boolean =>
  followUp.status === "running" && claimExpiresAt > now

const isSuspect = ({ followUp }: FollowUpRow): boolean => followUp.status === "running" && followUp.attempts >= 2

const isDue = (state: State, row: FollowUpRow, now: number): boolean => {
  const { followUp } = row
  const isFree =
    followUp.status === "pending" ? row.dueAt <= now : followUp.status === "running" && row.claimExpiresAt <= now
  if (!isFree || followUp.sequence === null) return isFree
  for (const earlier of state.followUps.values()) {
    if (earlier === row) return true
    const isBefore = earlier.followUp.ownerId === followUp.ownerId && earlier.followUp.sequence === followUp.sequence
    if (isBefore && isOpen(earlier)) return false
  }
  return true
}

const claimedRow = (state: State, { followUp, token }: FollowUpClaim): FollowUpRow | undefined => {
  const row = state.followUps.get(followUp.id)
  return row?.token === token ? row : undefined
}
