/** The models that the user has chosen for threads. The browser keeps them, so that a reload and another tab have them too. */
import { signal } from "../view.ts"
import { isRecord } from "../wire.ts"

type Models = Readonly<Record<string, unknown>>

const storageName = "colloquy-models"

const read = (): Models => {
  try {
    const kept: unknown = JSON.parse(localStorage.getItem(storageName) ?? "")
    return isRecord(kept) ? kept : {}
  } catch {
    return {}
  }
}

const models = signal<Models>(read())

addEventListener("storage", ({ key }) => {
  if (key === storageName) models.value = read()
})

const write = (changed: Models): void => {
  models.value = changed
  localStorage.setItem(storageName, JSON.stringify(changed))
}

export const threadModel = (threadId: string): string => {
  const model = models.value[threadId]
  return typeof model === "string" ? model : ""
}

/** An empty name removes the model of the thread. */
export const keepModel = (threadId: string, model: string): void => {
  const { [threadId]: _, ...others } = read()
  write(model === "" ? others : { ...others, [threadId]: model })
}

/** Forgets the models of threads that are gone. */
export const keepModels = (threadIds: ReadonlyArray<string>): void => {
  const kept = Object.entries(read())
  const known = kept.filter(([id]) => threadIds.includes(id))
  if (known.length < kept.length) write(Object.fromEntries(known))
}
