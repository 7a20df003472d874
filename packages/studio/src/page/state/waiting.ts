/** The runs that wait for a person: for the number in the rail, and for the room of runs. */
import { json, keys } from "../api/http.ts"
import { computed, effect, signal } from "../view.ts"
import type { RunSummary } from "../wire.ts"
import { conversation, isStarted } from "./studio.ts"

export const waiting = signal<ReadonlyArray<RunSummary>>([])
export const waitingCount = computed(() => waiting.value.length)

export const loadWaiting = async (): Promise<void> => {
  const key = keys.value
  const { runs } = await json<{ readonly runs: ReadonlyArray<RunSummary> }>("/runs?status=REQUIRES_ACTION&limit=100")
  if (key === keys.value) waiting.value = runs
}

/** Another key may be another owner's. */
effect(() => {
  if (keys.value > 0) waiting.value = []
})

/** They are counted at the start and with each key, and again when a turn of this page ends or waits. */
effect(() => {
  if (isStarted.value && !conversation.isRunning.value) void loadWaiting().catch(() => {})
})
