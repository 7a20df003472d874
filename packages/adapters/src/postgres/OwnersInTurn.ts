/** A line in which owners take turns: the next of each owner, in their order, then the next of each again. */
export class OwnersInTurn<Work extends { readonly owner: string }> {
  /** The owner whose turn is next comes first. */
  private readonly owners = new Map<string, Array<Work>>()
  /** Work that was taken and could not begin. */
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

  /** It is the next again. */
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
