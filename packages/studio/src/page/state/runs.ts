/** All runs of the user, live: a page of them from the server, and the stream of those that begin or change. */
import { call, isRefusal, json, keys } from "../api/http.ts"
import { pause } from "../lib/pause.ts"
import { isShown, noFilters, periodStart, type RunFilters, withRuns } from "../lib/runList.ts"
import { computed, effect, signal } from "../view.ts"
import type { RunSummary } from "../wire.ts"
import { loadWaiting, waiting } from "./waiting.ts"

/** The runs that were read, with their later changes. The filters are applied again, because runs change. */
const known = signal<ReadonlyArray<RunSummary>>([])
const filters = signal<RunFilters>(noFilters)
export const state = signal<"loading" | "ready" | "failed">("loading")
/** True: there are more runs of the period than were read. */
export const hasMore = signal(false)
/** The present time. It changes each second while a run is in progress, so that the shown time of the run does. */
export const now = signal(Date.now())

export const shown = computed(() => known.value.filter((run) => isShown(run, filters.value, now.value)))
export const isAtWork = computed(() => known.value.some(({ status }) => status === "IN_PROGRESS"))

interface Page {
  readonly runs: ReadonlyArray<RunSummary>
  readonly next_cursor: string | null
}

const pageSize = 100
/** The most pages that are read together. */
const mostPages = 10

let cursor: string | null = null
let visit = 0

/** Another key may be another owner's: what was read with an earlier one is forgotten. */
effect(() => {
  if (keys.value === 0) return
  visit += 1
  known.value = []
  state.value = "failed"
})

const query = ({ assistant, period, status }: RunFilters, after: string | null): string => {
  const since = periodStart(period, Date.now())
  const fields = {
    limit: String(pageSize),
    status,
    assistant_id: assistant,
    since: since === null ? "" : new Date(since).toISOString(),
    cursor: after ?? ""
  }
  return new URLSearchParams(Object.entries(fields).filter(([, value]) => value !== "")).toString()
}

const readPages = async (wanted: RunFilters, after: string | null, isWanted: () => boolean): Promise<void> => {
  cursor = after
  for (let page = 0; page < mostPages; page++) {
    const { next_cursor, runs } = await json<Page>(`/runs?${query(wanted, cursor)}`)
    if (!isWanted()) return
    known.value = withRuns(known.value, runs)
    cursor = next_cursor
    state.value = "ready"
    if (next_cursor === null) break
  }
  hasMore.value = cursor !== null
}

/** Reads the newest runs that match the filters. */
export const loadRuns = async (wanted: RunFilters): Promise<void> => {
  const { words: _, ...before } = filters.value
  const { words: __, ...after } = wanted
  filters.value = wanted
  if (state.value === "ready" && JSON.stringify(before) === JSON.stringify(after)) return
  const own = ++visit
  state.value = "loading"
  known.value = []
  try {
    await readPages(wanted, null, () => own === visit)
  } catch (error) {
    if (own === visit) state.value = "failed"
    throw error
  }
}

export const loadMore = (): Promise<void> => {
  const own = visit
  return readPages(filters.value, cursor, () => own === visit)
}

const take = (run: RunSummary): void => {
  known.value = withRuns(known.value, [run])
  const others = waiting.value.filter(({ run_id }) => run_id !== run.run_id)
  if (run.status === "REQUIRES_ACTION") waiting.value = withRuns(others, [run])
  else if (others.length < waiting.value.length) waiting.value = others
}

export const cancelRun = async ({ run_id, thread_id }: RunSummary): Promise<void> => {
  await call(`/threads/${thread_id}/runs/${run_id}/cancel`, { method: "POST" })
}

/**
 * Follows the stream of changes until it is stopped. After a break it continues behind the last change. After the first connection and
 * after a long break the list is read again, because a stream begins with the next change.
 */
export const followRuns = async (stop: AbortSignal, onChange: (run: RunSummary) => void): Promise<void> => {
  let last: string | null = null
  while (!stop.aborted) {
    try {
      const headers = last === null ? {} : { "last-event-id": last }
      const { body } = await call("/runs/events", { signal: stop, headers })
      if (body === null) return
      const again = visit
      if (state.value !== "loading") await readPages(filters.value, null, () => again === visit)
      await loadWaiting()
      for await (const { data, id } of readLines(body)) {
        last = id
        take(data.run)
        onChange(data.run)
      }
    } catch (error) {
      // The connection broke. The next one delivers the missed changes.
      if (isRefusal(error) && !stop.aborted) throw error
    }
    await pause(1000, stop)
  }
}

interface Change {
  readonly id: string
  readonly data: { readonly run: RunSummary }
}

async function* readLines(body: ReadableStream<Uint8Array>): AsyncGenerator<Change> {
  const reader = body.getReader()
  const decoder = new TextDecoder()
  let rest = ""
  let id = ""
  for (let piece = await reader.read(); !piece.done; piece = await reader.read()) {
    const lines = (rest + decoder.decode(piece.value, { stream: true })).split("\n")
    rest = lines.pop() ?? ""
    for (const line of lines) {
      if (line.startsWith("id:")) id = line.slice(3).trim()
      if (line.startsWith("data:")) yield { id, data: JSON.parse(line.slice(5)) }
    }
  }
}
