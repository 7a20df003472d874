/**
 * A map and a set for entries that come and go with requests.
 *
 * When V8 gives a `Map` or a `Set` a new table, the old table points to the new one. As soon as one table has moved to the old part of the
 * heap, the garbage collector takes all later tables, and every request that was ever in them, for reachable, until the next full
 * collection. Here a new table begins from time to time that no other one points to (decision 98).
 */

const mostDeletions = 8

class Table<Key, Value> {
  protected table = new Map<Key, Value>()
  private deletions = 0

  get size(): number {
    return this.table.size
  }

  delete(key: Key): boolean {
    if (!this.table.delete(key)) return false
    if (++this.deletions > Math.max(mostDeletions, this.table.size)) {
      this.table = new Map(this.table)
      this.deletions = 0
    }
    return true
  }
}

/** A map for entries that come and go with requests. It has the order of a `Map`. */
export class TransientMap<Key, Value> extends Table<Key, Value> {
  get(key: Key): Value | undefined {
    return this.table.get(key)
  }

  has(key: Key): boolean {
    return this.table.has(key)
  }

  set(key: Key, value: Value): void {
    this.table.set(key, value)
  }

  /** In the order in which the keys were set, as in a `Map`. */
  keys(): MapIterator<Key> {
    return this.table.keys()
  }

  values(): MapIterator<Value> {
    return this.table.values()
  }

  [Symbol.iterator](): MapIterator<[Key, Value]> {
    return this.table[Symbol.iterator]()
  }
}

/** What `TransientMap` is, without keys: each value is in it once. */
export class TransientSet<Value> extends Table<Value, null> {
  add(value: Value): void {
    this.table.set(value, null)
  }

  /** In the order in which the values were added, as in a `Set`. */
  [Symbol.iterator](): MapIterator<Value> {
    return this.table.keys()
  }
}
