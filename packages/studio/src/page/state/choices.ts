/** The user's choices for the turns of each thread. The browser stores them, so that they survive a reload and hold in other tabs. */
import type { QuestionRow } from "../lib/questionRows.ts"
import { readStored, store } from "../lib/storage.ts"
import { signal } from "../view.ts"
import { isRecord } from "../wire.ts"

export interface TurnOptions {
  /** `provider/model`; empty: the assistant's own. */
  readonly model: string
  readonly thinking: "off" | "on" | "low" | "medium" | "high" | "max"
  readonly memory: "off" | "Readonly" | "Auto"
  readonly hasWebSearch: boolean
  /** Empty: no picture is made. */
  readonly imageModel: string
  readonly videoModel: string
  readonly isSpoken: boolean
  readonly isAsking: boolean
  readonly typedModel: string
  readonly questions: ReadonlyArray<QuestionRow>
}

export type Choices = Partial<TurnOptions>

type Kept = Readonly<Record<string, unknown>>

const storageName = "colloquy-options"

const read = (): Kept => {
  try {
    const kept: unknown = JSON.parse(readStored(storageName) ?? "")
    return isRecord(kept) ? kept : {}
  } catch {
    return {}
  }
}

const kept = signal<Kept>(read())

addEventListener("storage", ({ key }) => {
  if (key === storageName) kept.value = read()
})

const write = (changed: Kept): void => {
  kept.value = changed
  store(storageName, JSON.stringify(changed))
}

export const threadChoices = (threadId: string): Choices => {
  const choices = kept.value[threadId]
  // Only this file writes them.
  return isRecord(choices) ? choices : {}
}

export const keepChoices = (threadId: string, choices: Choices): void => {
  const { [threadId]: _, ...others } = read()
  write(Object.keys(choices).length === 0 ? others : { ...others, [threadId]: choices })
}

/** Forgets the choices of threads that are gone. */
export const forgetOthers = (threadIds: ReadonlyArray<string>): void => {
  const all = Object.entries(read())
  const known = all.filter(([id]) => threadIds.includes(id))
  if (known.length < all.length) write(Object.fromEntries(known))
}
