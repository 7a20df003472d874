/** A queue of work in which owners take turns: one piece of each owner, in the order of the owners, then the next piece of each. */
import { TransientMap } from "@colloquy/core/adapters"

export class OwnersInTurn<Work extends { readonly owner: string }> {
  /** The waiting work by owner. The first owner is served next. */
  private readonly owners = new TransientMap<string, Array<Work>>()
  private readonly returned: Array<Work> = []
  private count = 0

  get length(): number {
    return this.count
  }

  push(work: Work): void {
    const waiting = this.owners.get(work.owner)
    if (waiting === undefined) this.owners.set(work.owner, [work])
    else waiting.push(work)
    this.count++
  }

  /** Puts back work that was taken and could not begin. It is taken next. */
  unshift(work: Work): void {
    this.returned.push(work)
    this.count++
  }

  shift(): Work | undefined {
    const work = this.returned.pop() ?? this.nextInTurn()
    if (work !== undefined) this.count--
    return work
  }

  remove(work: Work): void {
    const lines = [this.returned, this.owners.get(work.owner) ?? []]
    for (const line of lines) {
      const index = line.indexOf(work)
      if (index < 0) continue
      line.splice(index, 1)
      this.count--
    }
    if (this.owners.get(work.owner)?.length === 0) this.owners.delete(work.owner)
  }

  private nextInTurn(): Work | undefined {
    const [first] = this.owners
    if (first === undefined) return undefined
    const [owner, waiting] = first
    const work = waiting.shift()
    this.owners.delete(owner)
    if (waiting.length > 0) this.owners.set(owner, waiting)
    return work
  }
}
