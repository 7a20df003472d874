/** A list of runs: its filters, its sums, and its days. Pure. */
import type { RunSummary } from "../wire.ts"
import { midnight } from "./format.ts"

export type RunStatus = RunSummary["status"]
export type Period = "day" | "week" | "month" | "all"

export interface RunFilters {
  /** Empty: all. */
  readonly status: RunStatus | ""
  readonly assistant: string
  readonly period: Period
  /** A part of the first words, of the model's name or of an id. */
  readonly words: string
}

export const noFilters: RunFilters = { status: "", assistant: "", period: "week", words: "" }

export const statusWords: Readonly<Record<RunStatus, string>> = {
  QUEUED: "queued",
  IN_PROGRESS: "at work",
  REQUIRES_ACTION: "waits for you",
  COMPLETED: "done",
  FAILED: "failed",
  CANCELLED: "cancelled"
}

const isStatus = (text: string): text is RunStatus => Object.hasOwn(statusWords, text)

const periods: ReadonlyArray<Period> = ["day", "week", "month", "all"]

/** The filters as one segment of an address. Empty: the initial filters. */
export const writeFilters = ({ assistant, period, status, words }: RunFilters): string => {
  const fields = { status, assistant, period: period === noFilters.period ? "" : period, words }
  return new URLSearchParams(Object.entries(fields).filter(([, value]) => value !== "")).toString()
}

export const readFilters = (text: string): RunFilters => {
  const fields = new URLSearchParams(text)
  const status = fields.get("status") ?? ""
  return {
    status: isStatus(status) ? status : "",
    assistant: fields.get("assistant") ?? "",
    period: periods.find((each) => each === fields.get("period")) ?? noFilters.period,
    words: fields.get("words") ?? ""
  }
}

const lengths: Readonly<Record<Period, number | null>> = { day: 1, week: 7, month: 30, all: null }

/** The midnight with which the first day of a period begins. Null: the period has no beginning. */
export const periodStart = (period: Period, now: number): number | null => {
  const days = lengths[period]
  return days === null ? null : midnight(now, 1 - days)
}

export const isShown = (run: RunSummary, { assistant, period, status, words }: RunFilters, now: number): boolean => {
  if (status !== "" && run.status !== status) return false
  if (assistant !== "" && run.assistant_id !== assistant) return false
  const begin = periodStart(period, now)
  if (begin !== null && Date.parse(run.created_at) < begin) return false
  const text =
    `${run.content_preview ?? ""} ${run.model_provider}/${run.model_name} ${run.run_id} ${run.thread_id}`.toLowerCase()
  return words
    .toLowerCase()
    .split(/\s+/u)
    .every((word) => text.includes(word))
}

const newestFirst = (a: RunSummary, b: RunSummary): number =>
  b.created_at === a.created_at ? (b.run_id < a.run_id ? -1 : 1) : b.created_at < a.created_at ? -1 : 1

/** The list with these runs replaced by their present records. */
export const withRuns = (
  list: ReadonlyArray<RunSummary>,
  changed: ReadonlyArray<RunSummary>
): ReadonlyArray<RunSummary> => {
  const byId = new Map(list.map((run) => [run.run_id, run]))
  for (const run of changed) byId.set(run.run_id, run)
  return [...byId.values()].toSorted(newestFirst)
}

export interface Sums {
  readonly runs: number
  readonly failed: number
  readonly tokens: number
  readonly costUsd: number
  /** The number of runs whose cost is not known. */
  readonly unpriced: number
}

/** Sums over runs. A parent's tokens and cost include those of its helpers, so children are not added. */
export const sumRuns = (runs: ReadonlyArray<RunSummary>): Sums => {
  const whole = runs.filter(({ parent_run_id }) => parent_run_id === null)
  return {
    runs: runs.length,
    failed: runs.filter(({ status }) => status === "FAILED").length,
    tokens: whole.reduce((sum, { usage }) => sum + usage.total_tokens, 0),
    costUsd: whole.reduce((sum, { cost_usd }) => sum + (cost_usd ?? 0), 0),
    unpriced: whole.filter(({ cost_usd, status }) => cost_usd === null && status === "COMPLETED").length
  }
}

export interface Day {
  /** The midnight with which the day begins. */
  readonly begin: number
  readonly runs: number
  readonly failed: number
  readonly costUsd: number
}

/** The most days that a histogram shows. */
const mostDays = 30

/** The days of the runs, oldest first and without gaps, at least back to `from`. */
export const runDays = (runs: ReadonlyArray<RunSummary>, from: number | null, now: number): ReadonlyArray<Day> => {
  const byDay = Map.groupBy(runs, ({ created_at }) => midnight(Date.parse(created_at)))
  const today = midnight(now)
  const oldest = Math.min(from ?? today, today, ...byDay.keys())
  const days: Array<Day> = []
  for (let begin = today; begin >= oldest && days.length < mostDays; begin = midnight(now, -days.length)) {
    const { costUsd, failed, runs: total } = sumRuns(byDay.get(begin) ?? [])
    days.unshift({ begin, runs: total, failed, costUsd })
  }
  return days
}

const between = (from: string | null, to: string | null): number | null =>
  from === null || to === null ? null : Date.parse(to) - Date.parse(from)

/** Milliseconds until the model's first text or call. */
export const firstToken = ({ first_token_at, started_at }: RunSummary): number | null =>
  between(started_at, first_token_at)

/** Milliseconds from the begin to the end; of a run under way, until now. */
export const totalTime = ({ ended_at, started_at, status }: RunSummary, now: number): number | null =>
  status === "IN_PROGRESS" && started_at !== null
    ? Math.max(0, now - Date.parse(started_at))
    : between(started_at, ended_at)

/** The words of markdown without its marks, for a line of a list. */
export const plainWords = (text: string): string =>
  text
    .replaceAll(/ ?\[[dm]\d{1,3}\](?!\()/gu, "")
    .replaceAll(/!?\[([^\]]*)\]\([^)]*\)/gu, "$1")
    .replaceAll(/^[>*+-] |(?<=^|\s)#{1,6} (?=\S)/gu, "")
    .replaceAll(/(\*\*|\*|`)(\S(?:[^*`]*\S)?)\1/gu, "$2")
