/** The turn that is shown in detail: read from the server, or from a shared file. */
import { call, isRefusal, json } from "../api/http.ts"
import { go, path, replace } from "./address.ts"
import { type EventIds, readEvents } from "../api/stream.ts"
import type { SpokenTurn } from "../lib/spoken.ts"
import { signal } from "../view.ts"
import type { Run, RunInspection, RunSummary } from "../wire.ts"
import { type LoggedEvent, runEvents, record } from "./log.ts"

export interface InspectedTurn {
  readonly threadId: string
  readonly runId: string
  readonly run: Run
  readonly inspection: RunInspection
  readonly log: ReadonlyArray<LoggedEvent>
  /** When the model wrote its first text or call. Files that were shared by an older studio have none. */
  readonly firstTokenAt?: string | null
}

export type Tab = "turn" | "prompt" | "log"

export const isOpen = signal(false)
export const tab = signal<Tab>("turn")
export const inspected = signal<InspectedTurn | SpokenTurn | null>(null)
/** The run that is being read. */
const wanted = signal<string | null>(null)

/** The number of the chosen step of the turn, from 0. */
export const step = signal<number | null>(null)

const isTalk = (threadId: string): boolean => path.value[0] === "talk" && path.value[1] === threadId

/** Opens a turn. In its conversation, the address names it. */
export const inspect = async (threadId: string, runId: string, at: number | null = null): Promise<void> => {
  if (isTalk(threadId)) go("talk", threadId, runId, ...(at === null ? [] : [at]))
  await show(threadId, runId, at)
}

/** Opens a turn that the address names already. */
export const show = async (threadId: string, runId: string, at: number | null): Promise<void> => {
  isOpen.value = true
  step.value = at
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
  const read = runId.startsWith("spoken-") ? (await import("./spoken.ts")).readSpokenTurn : readTurn
  const turn = await read(threadId, runId)
  if (wanted.value !== runId) return
  inspected.value = turn
  if ("run" in turn && isUnderWay(turn.run)) lookLater(threadId, runId)
}

/** A turn in progress is read again at intervals while it is shown. */
const lookEvery = 500

let timer: ReturnType<typeof setTimeout> | undefined

const lookLater = (threadId: string, runId: string): void => {
  clearTimeout(timer)
  timer = setTimeout(() => void again(threadId, runId), lookEvery)
}

const again = async (threadId: string, runId: string): Promise<void> => {
  if (!isOpen.value || wanted.value !== runId) return
  try {
    await load(threadId, runId)
  } catch (error) {
    // A server that does not answer is asked again.
    if (!isRefusal(error)) lookLater(threadId, runId)
  }
}

export const close = (): void => {
  isOpen.value = false
  const [name, threadId, runId] = path.value
  if (name === "talk" && threadId !== undefined && threadId !== "new" && runId !== undefined) go("talk", threadId)
}

const isUnderWay = ({ status }: Run): boolean => status === "QUEUED" || status === "IN_PROGRESS"

export const readTurn = async (threadId: string, runId: string): Promise<InspectedTurn> => {
  const address = `/threads/${threadId}/runs/${runId}`
  const [run, inspection] = await Promise.all([json<Run>(address), json<RunInspection>(`${address}/inspection`)])
  const last = runEvents(runId).at(-1)?.event.sequence ?? 0
  const reading = last < run.sequence ? readLog(address, { thread_id: threadId, run_id: runId }, last, run) : null
  // The log of a run under way ends with the run.
  if (!isUnderWay(run)) await reading
  else reading?.catch(() => {})
  return { threadId, runId, run, inspection, log: runEvents(runId), firstTokenAt: await readFirstToken(run) }
}

/** The list of runs has this time; the record of a run does not. */
const readFirstToken = async ({ created_at, run_id, thread_id }: Run): Promise<string | null> => {
  const query = new URLSearchParams({ thread_id, since: created_at, limit: "100" })
  const { runs } = await json<{ readonly runs: ReadonlyArray<RunSummary> }>(`/runs?${query.toString()}`)
  return runs.find((each) => each.run_id === run_id)?.first_token_at ?? null
}

const reading = new Set<string>()

/** The stored log of a run, over all its rounds: each response of the server ends with one round. */
const readLog = async (address: string, ids: EventIds, begin: number, { sequence, status }: Run): Promise<void> => {
  if (reading.has(ids.run_id)) return
  reading.add(ids.run_id)
  try {
    let after = begin
    while (true) {
      // A run that waits for results has no further events.
      if (status === "REQUIRES_ACTION" && after >= sequence) return
      const { body, status: answer } = await call(`${address}/events?after=${after}`)
      if (answer === 204 || body === null) return
      const before = after
      for await (const event of readEvents(body, ids)) {
        record(event, null)
        after = event.sequence
      }
      if (after === before) return
    }
  } finally {
    reading.delete(ids.run_id)
  }
}
