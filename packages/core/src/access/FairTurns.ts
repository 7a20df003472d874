/**
 * Pure: whose work is next. Owners take turns: the one with the least work running is next, then the one on whom the least time was spent.
 * Time that was spent before an owner joined counts neither for nor against it. Of one owner, the work that came first is next.
 */
import { TransientMap, TransientSet } from "../primitives/Transient.ts"

/** How much of the work of all owners runs at once. */
export interface FairLimits {
  /** How many pieces of work run at once. */
  readonly atOnce: number
  /** How many of them one owner may have. Below `atOnce`, one owner alone never makes another wait. */
  readonly share: number
}

/** More places than `atOnce`, while work is late. */
const moreWhenLate = 1

interface OwnerTurns<Work> {
  readonly waiting: TransientSet<Work>
  readonly running: TransientSet<Work>
  /** In milliseconds. */
  spent: number
}

export interface FairTurns<Work> {
  readonly join: (owner: string, work: Work) => void
  /** The work takes long: until it has ended, an owner who has nothing running gets one place more. */
  readonly isLate: (work: Work) => void
  /** The work that begins now; undefined when nothing may begin. */
  readonly next: () => Work | undefined
  /** The work has ended after this time, or no longer waits. */
  readonly leave: (owner: string, work: Work, millis: number) => void
}

/** Makes the order of a fair queue, without effects. */
export const makeFairTurns = <Work>({ atOnce, share }: FairLimits): FairTurns<Work> => {
  const owners = new TransientMap<string, OwnerTurns<Work>>()
  /** What was spent on the owner that got least. Who joins begins here. */
  let floor = 0
  let running = 0
  const late = new TransientSet<Work>()

  const isIdle = (owner: OwnerTurns<Work>) => owner.waiting.size === 0 && owner.running.size === 0

  const raiseFloor = () => {
    const active = [...owners.values()].filter((owner) => !isIdle(owner))
    floor = active.length === 0 ? Number.POSITIVE_INFINITY : Math.min(...active.map(({ spent }) => spent))
    for (const [name, owner] of owners) if (isIdle(owner) && owner.spent <= floor) owners.delete(name)
    if (owners.size === 0) floor = 0
  }

  return {
    join: (name, work) => {
      const owner = owners.get(name) ?? { waiting: new TransientSet(), running: new TransientSet(), spent: floor }
      owner.waiting.add(work)
      owners.set(name, owner)
    },
    isLate: (work) => {
      late.add(work)
    },
    next: () => {
      if (running >= (late.size === 0 ? atOnce : atOnce + moreWhenLate)) return undefined
      const allowed = running >= atOnce ? 1 : share
      raiseFloor()
      let best: OwnerTurns<Work> | undefined
      for (const owner of owners.values()) {
        if (owner.waiting.size === 0 || owner.running.size >= allowed) continue
        if (best === undefined || isBefore(owner, best)) best = owner
      }
      const [work] = best?.waiting ?? []
      if (best === undefined || work === undefined) return undefined
      best.waiting.delete(work)
      best.running.add(work)
      running++
      return work
    },
    leave: (name, work, millis) => {
      late.delete(work)
      const owner = owners.get(name)
      if (owner?.running.delete(work) === true) {
        running--
        owner.spent += millis
      } else owner?.waiting.delete(work)
      raiseFloor()
    }
  }
}

const isBefore = (a: OwnerTurns<unknown>, b: OwnerTurns<unknown>): boolean =>
  a.running.size === b.running.size ? a.spent < b.spent : a.running.size < b.running.size
