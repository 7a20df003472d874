/**
 * All runs, live: first those that wait for a person, then sums, a histogram by day, and one line for each run. A line opens the inspector.
 */
import { isRefusal, json, keys } from "../api/http.ts"
import { count, duration, money, plural, shortDate, wholeDate } from "../lib/format.ts"
import { controlValue } from "../lib/forms.ts"
import { mayAct } from "../lib/host.ts"
import {
  type Day,
  firstToken,
  noFilters,
  periodStart,
  plainWords,
  readFilters,
  runDays,
  type RunFilters,
  statusWords,
  sumRuns,
  totalTime,
  writeFilters
} from "../lib/runList.ts"
import { href, path as place, replace, useTitle } from "../state/address.ts"
import * as inspector from "../state/inspector.ts"
import { act, assistants, tell, threads, threadTitle } from "../state/studio.ts"
import * as runs from "../state/runs.ts"
import { loadWaiting, waiting } from "../state/waiting.ts"
import { classes, computed, html, useEffect, useMemo, useRef, useState, type View } from "../view.ts"
import type { RunSummary, Thread } from "../wire.ts"
import { Icon, IconButton } from "./Icon.ts"
import { WaitingRun } from "./WaitingRun.ts"

interface RoomProps {
  readonly path: ReadonlyArray<string>
}

/** The room's address: the run that is open and its thread, then the filters. */
const address = (run: RunSummary | null, filters: RunFilters): ReadonlyArray<string> => {
  const written = writeFilters(filters)
  if (run === null) return written === "" ? ["runs"] : ["runs", "-", "-", written]
  return ["runs", run.run_id, run.thread_id, ...(written === "" ? [] : [written])]
}

const titles = computed(() => new Map(threads.value.map((thread) => [thread.thread_id, threadTitle(thread)])))
const names = computed(() => new Map(assistants.value?.map((each) => [each.assistant_id, each.name])))

/** The number of lines that are drawn at once; more are drawn on demand. */
const pageSize = 100

export const Room = ({ path }: RoomProps): View => {
  const [runId = "-", threadId = "-", written = ""] = path
  const filters = useMemo(() => readFilters(written), [written])
  useTitle("Runs")
  useEffect(() => {
    const stop = new AbortController()
    runs
      .followRuns(stop.signal, (run) => {
        const turn = inspector.inspected.value
        if (turn?.runId === run.run_id) inspector.refresh(turn.threadId, turn.runId).catch(tell)
      })
      .catch(tell)
    const clock = setInterval(() => {
      if (runs.isAtWork.value) runs.now.value = Date.now()
    }, 1000)
    loadWaiting().catch(tell)
    return () => {
      stop.abort()
      clearInterval(clock)
    }
  }, [keys.value])
  useEffect(() => {
    runs.loadRuns(filters).catch(tell)
  }, [filters])
  const shown = runs.shown.value
  useEffect(() => {
    for (const { thread_id } of shown.slice(0, pageSize)) readThread(thread_id)
  }, [shown])
  useInspector(runId, threadId, filters)
  return html`<div class="room runs">
    <header class="room-head"><h2>Runs</h2><${Filters} filters=${filters} /></header>
    <${Waiting} />
    <${Overview} period=${filters.period} />
    <${RunTable} filters=${filters} current=${runId} />
  </div>`
}

const asked = new Set<string>()

/** Reads the thread of another client that began after the threads were read. */
const readThread = (threadId: string): void => {
  if (titles.value.has(threadId) || asked.has(threadId)) return
  asked.add(threadId)
  json<Thread>(`/threads/${threadId}`).then(
    (thread) => {
      if (!titles.value.has(threadId)) threads.value = [thread, ...threads.value]
    },
    (error: unknown) => {
      if (!isRefusal(error)) asked.delete(threadId)
    }
  )
}

/** The address opens the inspector. Closing the inspector removes the run from the address. */
const useInspector = (runId: string, threadId: string, filters: RunFilters): void => {
  const wasOpen = useRef(false)
  useEffect(() => {
    if (runId !== "-" && threadId !== "-") act(inspector.inspect)(threadId, runId)
  }, [runId, threadId])
  const isOpen = inspector.isOpen.value
  useEffect(() => {
    if (wasOpen.current && !isOpen && place.value[0] === "runs") replace(...address(null, filters))
    wasOpen.current = isOpen
  }, [isOpen])
}

/** The number of waiting runs that are shown at once. More are shown on demand, so that the list of all runs stays in view. */
const firstWaiting = 2

const Waiting = (): View => {
  const [isWhole, showAll] = useState(false)
  const open = waiting.value
  if (open.length === 0) return null
  const shown = isWhole ? open : open.slice(0, firstWaiting)
  return html`<section class="inbox" aria-labelledby="inbox-title">
    <h3 id="inbox-title"><${Icon} name="inbox" /> ${plural(open.length, "run waits", "runs wait")} for ${mayAct() ? "you" : "a person"}</h3>
    ${shown.map((run) => html`<${WaitingRun} key=${run.run_id} run=${run} title=${titles.value.get(run.thread_id) ?? "Untitled thread"} />`)}
    ${open.length > shown.length && html`<button type="button" onClick=${() => showAll(true)}>Show all ${count(open.length)}</button>`}
  </section>`
}

const periodWords: Readonly<Record<RunFilters["period"], string>> = {
  day: "Today",
  week: "7 days",
  month: "30 days",
  all: "All"
}

const Filters = ({ filters }: { readonly filters: RunFilters }): View => {
  const set = (patch: Record<string, string>) =>
    replace(...address(null, readFilters(writeFilters({ ...filters, ...patch }))))
  return html`<form class="filters" role="search" aria-label="Which runs" onSubmit=${(event: Event) => event.preventDefault()}>
    <div class="choice" role="group" aria-label="Period">
      ${Object.entries(periodWords).map(
        ([period, word]) =>
          html`<button type="button" aria-pressed=${filters.period === period} onClick=${() => set({ period })}>${word}</button>`
      )}
    </div>
    <select aria-label="State" value=${filters.status} onChange=${(event: Event) => set({ status: controlValue(event) })}>
      <option value="">Every state</option>
      ${Object.entries(statusWords).map(([status, word]) => html`<option value=${status}>${word}</option>`)}
    </select>
    <select aria-label="Assistant" value=${filters.assistant} onChange=${(event: Event) => set({ assistant: controlValue(event) })}>
      <option value="">Every assistant</option>
      ${assistants.value?.map(({ assistant_id: id, name }) => html`<option value=${id}>${name}</option>`)}
    </select>
    <input
      type="search"
      aria-label="Words, model or id"
      placeholder="Words, model or id"
      value=${filters.words}
      onInput=${(event: Event) => set({ words: controlValue(event) })}
    />
  </form>`
}

const Overview = ({ period }: { readonly period: RunFilters["period"] }): View => {
  const shown = runs.shown.value
  const sums = useMemo(() => sumRuns(shown), [shown])
  const days = useMemo(() => runDays(shown, periodStart(period, Date.now()), Date.now()), [shown, period])
  const share = sums.runs === 0 ? "" : ` (${Math.round((sums.failed / sums.runs) * 100)} %)`
  return html`<div class="overview">
    <dl class="figures">
      <div><dt>Runs</dt><dd>${count(sums.runs)}</dd></div>
      <div><dt>Failed</dt><dd>${count(sums.failed)}<small>${share}</small></dd></div>
      <div><dt>Tokens</dt><dd>${count(sums.tokens)}</dd></div>
      <div>
        <dt>Cost</dt>
        <dd>${money(sums.costUsd)}${sums.unpriced > 0 && html`<small> and ${count(sums.unpriced)} not known</small>`}</dd>
      </div>
    </dl>
    ${days.length > 1 && html`<${Histogram} days=${days} />`}
  </div>`
}

const dayName = (begin: number): string =>
  new Date(begin).toLocaleDateString([], { weekday: "short", day: "numeric", month: "short" })

const Histogram = ({ days }: { readonly days: ReadonlyArray<Day> }): View => {
  const most = Math.max(1, ...days.map((day) => day.runs))
  const words = (day: Day) =>
    `${dayName(day.begin)}: ${plural(day.runs, "run")}, ${count(day.failed)} failed, ${money(day.costUsd)}`
  return html`<ol class="days" aria-label="Runs by day">
    ${days.map(
      (day) =>
        html`<li key=${day.begin} title=${words(day)}>
          <span class="unseen">${words(day)}</span>
          <span class="day-bar" style=${{ height: `${(day.runs / most) * 100}%` }}>
            <span class="day-failed" style=${{ height: day.runs === 0 ? "0" : `${(day.failed / day.runs) * 100}%` }}></span>
          </span>
        </li>`
    )}
    <li class="scale" aria-hidden="true"><span>${dayName(days[0]?.begin ?? 0)}</span><span>${dayName(days.at(-1)?.begin ?? 0)}</span></li>
  </ol>`
}

const RunTable = ({ current, filters }: { readonly current: string; readonly filters: RunFilters }): View => {
  const [limit, setLimit] = useState(pageSize)
  const shown = runs.shown.value
  if (shown.length === 0) {
    if (runs.state.value === "failed")
      return html`<p class="hint" role="status">The runs could not be read. They are read again when the server answers.</p>`
    if (runs.state.value === "loading") return html`<p class="hint" role="status">The runs are being read.</p>`
    const isFiltered = writeFilters(filters) !== ""
    return html`<div class="nothing">
      <${Icon} name="runs" />
      <p>${isFiltered ? "No run fits these filters." : "No run in the last seven days. Each message to an assistant makes one."}</p>
      ${isFiltered && html`<a href=${href(...address(null, noFilters))}>Show all of this week</a>`}
    </div>`
  }
  return html`<div class="run-table">
    <table>
      <caption class="unseen">Runs, newest first</caption>
      <thead>
        <tr>
          <th scope="col">State</th>
          <th scope="col">Thread and first words</th>
          <th scope="col">Model</th>
          <th scope="col" class="side-right">Steps</th>
          <th scope="col" class="side-right">First token</th>
          <th scope="col" class="side-right">Total</th>
          <th scope="col" class="side-right">Tokens</th>
          <th scope="col" class="side-right">Cost</th>
          <th scope="col"><span class="unseen">Acts</span></th>
        </tr>
      </thead>
      <tbody>
        ${shown.slice(0, limit).map((run) => html`<${RunRow} key=${run.run_id} run=${run} filters=${filters} isCurrent=${run.run_id === current} />`)}
      </tbody>
    </table>
    ${
      (shown.length > limit || runs.hasMore.value) &&
      html`<p class="actions">
        <button
          type="button"
          onClick=${() => {
            if (shown.length <= limit) act(runs.loadMore)()
            setLimit(limit + pageSize)
          }}
        >
          Show more
        </button>
      </p>`
    }
  </div>`
}

interface RowProps {
  readonly run: RunSummary
  readonly filters: RunFilters
  readonly isCurrent: boolean
}

const isOpenRun = ({ status }: RunSummary): boolean => ["QUEUED", "IN_PROGRESS", "REQUIRES_ACTION"].includes(status)

const RunRow = ({ filters, isCurrent, run }: RowProps): View => {
  const name = titles.value.get(run.thread_id) ?? "Untitled thread"
  // Only the time of a run in progress changes with the clock.
  const total = totalTime(run, run.status === "IN_PROGRESS" ? runs.now.value : 0)
  const first = firstToken(run)
  const problem = run.fault?.message
  const link = href(...address(run, filters))
  const look = (event: Event) => {
    if (event.target instanceof Element && event.target.closest("a, button") === null) location.hash = link
  }
  return html`<tr class=${classes(`run-${run.status}`, isCurrent && "current")} onClick=${look}>
    <td class="cell-state">
      <span class="run-state state-${run.status}">${statusWords[run.status]}</span>
      <time class="detail" datetime=${run.created_at} title=${wholeDate(run.created_at)}>${shortDate(run.created_at)}</time>
    </td>
    <td class="cell-words">
      <a href=${link} aria-current=${isCurrent ? "true" : undefined}>${name}</a>
      ${run.parent_run_id !== null && html` <span class="badge soft">helper</span>`}
      ${run.schedule_id !== null && html` <span class="badge soft">schedule</span>`}
      <span class=${classes("detail", problem !== undefined && "problem")} dir="auto">${problem ?? plainWords(run.content_preview ?? "")}</span>
    </td>
    <td class="cell-model"><span>${run.model_name}</span><span class="detail">${names.value.get(run.assistant_id) ?? run.model_provider}</span></td>
    <td class="side-right" data-word=${run.steps === 1 ? "step" : "steps"}>${count(run.steps)}</td>
    <td class=${classes("side-right", first === null && "none")} data-word="first token">${first === null ? "–" : duration(first)}</td>
    <td class=${classes("side-right", total === null && "none")} data-word="total">${total === null ? "–" : duration(total)}</td>
    <td class="side-right" data-word="tokens" title="${count(run.usage.input_tokens)} in, ${count(run.usage.output_tokens)} out">${count(run.usage.total_tokens)}</td>
    <td class=${classes("side-right", run.cost_usd === null && "none")} data-word="cost">${run.cost_usd === null ? "–" : money(run.cost_usd)}</td>
    <td class="cell-acts">
      ${mayAct() && isOpenRun(run) && html`<${IconButton} icon="stop" label="Cancel the run of ${name}" onClick=${() => act(runs.cancelRun)(run)} />`}
    </td>
  </tr>`
}
