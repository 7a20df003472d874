/** A memory of limited size: what was used longest ago makes room for what is new. The caller says how large an entry is. */

interface Entry<A> {
  readonly value: A
  readonly size: number
}

export class RecentlyUsed<A> {
  private readonly limit: number
  /** A map keeps the order in which its keys were set. */
  private readonly entries = new Map<string, Entry<A>>()
  private size = 0

  /** Of so much together, in whatever the sizes of entries are counted in. */
  constructor(limit: number) {
    this.limit = limit
  }

  get(key: string): A | undefined {
    const entry = this.entries.get(key)
    if (entry === undefined) return undefined
    this.entries.delete(key)
    this.entries.set(key, entry)
    return entry.value
  }

  /** An entry that is larger than all may be together is not kept. */
  set(key: string, value: A, size: number): void {
    this.delete(key)
    this.entries.set(key, { value, size })
    this.size += size
    for (const oldest of this.entries.keys()) {
      if (this.size <= this.limit) return
      this.delete(oldest)
    }
  }

  delete(key: string): void {
    this.size -= this.entries.get(key)?.size ?? 0
    this.entries.delete(key)
  }
}
