/** Pure: how many follow-ups a process claims, and of whom. */
import type * as Fiber from "effect/Fiber"
import type { ClaimRules, FollowUpClaim } from "./FollowUpStore.ts"

export interface RunningFollowUp {
  readonly claim: FollowUpClaim
  /** From when on it takes long. */
  readonly lateAt: number
  fiber: Fiber.Fiber<void> | null
}

/** In milliseconds. */
export const patience = 4000

/** How many slots there may be beyond those of the settings. */
const mostMore = 32

/**
 * Neither an owner nor a kind of work gets all slots. Work that was abandoned twice is done one at a time, so that what kills its process
 * takes no other work with it until that has used up its attempts too.
 */
export const rulesFor = (concurrency: number, running: ReadonlyArray<RunningFollowUp>): ClaimRules => {
  const claims = running.map(({ claim }) => claim)
  const most = Math.max(1, concurrency - 1)
  const claimLane = (isUrgent: boolean) => {
    const held = claims.flatMap(({ followUp }) => (followUp.isUrgent === isUrgent ? followUp.ownerId : []))
    return { limit: most - held.length, held }
  }
  return {
    urgent: claimLane(true),
    other: claimLane(false),
    share: Math.ceil((concurrency * 2) / 3),
    suspects: claims.some(({ followUp, isRetaken }) => isRetaken && followUp.attempts > 2) ? 0 : 1
  }
}

/**
 * The slots beyond those of the settings: one for each piece of work that takes long, when all slots of a kind are taken. They are for owners
 * of whom nothing is worked on, who would otherwise wait for the end of what others sent.
 */
export const slotsForOthers = (concurrency: number, running: ReadonlyArray<RunningFollowUp>, now: number): number => {
  const late = running.filter(({ lateAt }) => lateAt <= now).length
  const { other, urgent } = rulesFor(concurrency, running)
  const isFull = running.length >= concurrency || urgent.limit <= 0 || other.limit <= 0
  return isFull ? Math.max(concurrency + Math.min(late, mostMore) - running.length, 0) : 0
}

/** The rules for those slots: only an owner of whom nothing is worked on gets one. */
export const rulesForOthers = (concurrency: number, running: ReadonlyArray<RunningFollowUp>): ClaimRules => {
  const { other, suspects, urgent } = rulesFor(concurrency, running)
  const limit = concurrency + mostMore
  return { urgent: { ...urgent, limit }, other: { ...other, limit }, share: 1, suspects }
}
