/** The turn that is shown in detail: read from the server, or from a shared file. */
import { call, json } from "../api/http.ts"
import { go, path as address, replace } from "./address.ts"
import { type EventPlace, readEvents } from "../api/stream.ts"
import { signal } from "../view.ts"
import type { Run, RunInspection } from "../wire.ts"
import { type LoggedEvent, runEvents, record } from "./log.ts"

export interface InspectedTurn {
  readonly threadId: string
  readonly runId: string
  readonly run: Run
  readonly inspection: RunInspection
  readonly log: ReadonlyArray<LoggedEvent>
}

export type Tab = "turn" | "prompt" | "log" | "documents" | "memories"

export const isOpen = signal(false)
export const tab = signal<Tab>("turn")
export const inspected = signal<InspectedTurn | null>(null)
/** The run that is being read. */
const wanted = signal<string | null>(null)

/** The number of the chosen step of the turn, from 0. */
export const step = signal<number | null>(null)

const isTalk = (threadId: string): boolean => address.value[0] === "talk" && address.value[1] === threadId

/** Opens a turn. In its conversation, the address names it. */
export const inspect = async (threadId: string, runId: string, at: number | null = null): Promise<void> => {
  if (isTalk(threadId)) go("talk", threadId, runId, ...(at === null ? [] : [at]))
  await show(threadId, runId, at)
}

/** Opens a turn that the address names already. */
export const show = async (threadId: string, runId: string, at: number | null): Promise<void> => {
  isOpen.value = true
  step.value = at
  if (tab.value === "documents" || tab.value === "memories") tab.value = "turn"
  await load(threadId, runId)
}

/** Opens the panel with the turn that it showed last. */
export const open = (): void => {
  isOpen.value = true
  const turn = inspected.value
  if (turn !== null && isTalk(turn.threadId)) go("talk", turn.threadId, turn.runId)
}

/** Chooses a step of the turn that is shown; null: none. */
export const chooseStep = (at: number | null): void => {
  step.value = at
  const turn = inspected.value
  if (turn !== null && isTalk(turn.threadId)) {
    replace("talk", turn.threadId, turn.runId, ...(at === null ? [] : [at]))
  }
}

/** Reads the turn again if it is the one that is shown. */
export const refresh = async (threadId: string, runId: string): Promise<void> => {
  if (isOpen.value) await load(threadId, runId)
}

const load = async (threadId: string, runId: string): Promise<void> => {
  wanted.value = runId
  const turn = await readTurn(threadId, runId)
  if (wanted.value === runId) inspected.value = turn
}

export const close = (): void => {
  isOpen.value = false
  const [name, threadId, runId] = address.value
  if (name === "talk" && threadId !== undefined && threadId !== "new" && runId !== undefined) go("talk", threadId)
}

export const readTurn = async (threadId: string, runId: string): Promise<InspectedTurn> => {
  const path = `/threads/${threadId}/runs/${runId}`
  const [run, inspection] = await Promise.all([json<Run>(path), json<RunInspection>(`${path}/inspection`)])
  if (runEvents(runId).length === 0) await readLog(path, { thread_id: threadId, run_id: runId })
  return { threadId, runId, run, inspection, log: runEvents(runId) }
}

/** The whole stored log, over all rounds of the run: each response of the server ends with one round. */
const readLog = async (path: string, place: EventPlace): Promise<void> => {
  let after = 0
  while (true) {
    const { body, status } = await call(`${path}/events?after=${after}`)
    if (status === 204 || body === null) return
    const before = after
    for await (const event of readEvents(body, place)) {
      record(event, null)
      after = event.sequence
    }
    if (after === before) return
  }
}
