/** The items of a conversation that a client may ask for again. The oldest ones are forgotten first. */
import type { Fields } from "../Json.ts"
import { isList, isObject, merge } from "../Json.ts"

export type Item = Fields & { readonly id: string }

const mostItems = 500
const mostCharacters = 500_000

export interface Items {
  /** Adds an item behind the last one, and returns that one's id. */
  readonly add: (item: Item) => string | null
  /** The id of the item before this one. */
  readonly before: (id: string) => string | null
  readonly last: () => string | null
  readonly get: (id: string) => Item | undefined
  /** The complete form of an item. */
  readonly put: (item: Item) => void
  /** Sets the words that were said in the item. */
  readonly setWords: (id: string, text: string) => void
}

export const makeItems = (): Items => {
  const kept = new Map<string, { readonly item: Item; readonly before: string | null; readonly characters: number }>()
  let last: string | null = null
  let characters = 0

  const keep = (item: Item, before: string | null): void => {
    characters -= kept.get(item.id)?.characters ?? 0
    const size = JSON.stringify(item).length
    kept.set(item.id, { item, before, characters: size })
    characters += size
    for (const [id, entry] of kept) {
      if (kept.size <= mostItems && characters <= mostCharacters) return
      kept.delete(id)
      characters -= entry.characters
    }
  }

  const put = (item: Item): void => {
    const entry = kept.get(item.id)
    if (entry !== undefined) keep(item, entry.before)
  }

  return {
    put,
    add: (item) => {
      const before = last
      last = item.id
      keep(item, before)
      return before
    },
    before: (id) => kept.get(id)?.before ?? null,
    last: () => last,
    get: (id) => kept.get(id)?.item,
    setWords: (id, text) => {
      const item = kept.get(id)?.item
      if (item === undefined || !isList(item["content"])) return
      const content = item["content"].map((part) =>
        isObject(part) ? merge(part, "transcript" in part ? { transcript: text } : { text }) : part
      )
      put({ ...item, content })
    }
  }
}
