/** A cache of limited size: the least recently used entries are removed. The caller states the size of an entry. */
import { TransientMap } from "./Transient.ts"

interface Entry<A> {
  readonly value: A
  readonly size: number
}

export class RecentlyUsed<A> {
  private readonly limit: number
  /** A map keeps the order in which its keys were set. */
  private readonly entries = new TransientMap<string, Entry<A>>()
  private size = 0

  /** `limit` is the total size of all entries, in the unit of their sizes. */
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

  /** An entry that is larger than the limit is not kept. */
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
