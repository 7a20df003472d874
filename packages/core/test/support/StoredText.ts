import type { InMemory } from "@colloquy/adapters/in-memory"

/** Everything that a store in memory holds, as one text: for tests of what must not be stored. */
export const textIn = (state: InMemory.State): string => {
  const seen = new Set<unknown>()
  return JSON.stringify(state, (_, value: unknown) => {
    if (typeof value !== "object" || value === null) return value
    if (seen.has(value)) return null
    seen.add(value)
    return value instanceof Map ? [...value.entries()] : value instanceof Set ? [...value] : value
  })
}
