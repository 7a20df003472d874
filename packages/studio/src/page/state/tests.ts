/** Cases, experiments and feedback: reads and writes of the API, and the experiment that is followed while it runs. */
import { call, isRefusal, json, post } from "../api/http.ts"
import { copyText } from "../lib/clipboard.ts"
import { pause } from "../lib/pause.ts"
import { signal } from "../view.ts"
import type {
  AttemptResult,
  Comparison,
  EvalCase,
  Experiment,
  Expectation,
  Feedback,
  JsonRecord,
  Judge,
  OnlineReport,
  QuestionReport,
  VariantSummary
} from "../wire.ts"

const pageSize = 100

export interface CasePage {
  readonly cases: ReadonlyArray<EvalCase>
  readonly next_cursor: string | null
}

export const readCases = (tag: string, cursor: string | null): Promise<CasePage> => {
  const query = new URLSearchParams({
    limit: String(pageSize),
    ...(tag === "" ? {} : { tag }),
    ...(cursor === null ? {} : { cursor })
  })
  return json<CasePage>(`/evals/cases?${query.toString()}`)
}

export const readCase = (id: string): Promise<EvalCase> => json<EvalCase>(`/evals/cases/${id}`)

export const addCase = (body: JsonRecord): Promise<EvalCase> => post<EvalCase>("/evals/cases", body)

export interface CaseChange {
  readonly name: string
  readonly tags: ReadonlyArray<string>
  readonly expectations: ReadonlyArray<Expectation>
}

export const changeCase = (id: string, change: CaseChange): Promise<EvalCase> =>
  json<EvalCase>(`/evals/cases/${id}`, {
    method: "PUT",
    body: { ...change, name: change.name === "" ? null : change.name }
  })

export const removeCase = (id: string): Promise<Response> => call(`/evals/cases/${id}`, { method: "DELETE" })

/** A stored turn as a file for Vitest. It is also copied to the clipboard, if the browser allows this. */
export const copyTest = async (threadId: string, messageId: string): Promise<string> => {
  const test = await (await call(`/threads/${threadId}/messages/${messageId}/test`)).text()
  await copyText(test)
  return test
}

export const readExperiments = async (): Promise<ReadonlyArray<Experiment>> =>
  (await json<{ readonly experiments: ReadonlyArray<Experiment> }>(`/evals/experiments?limit=${pageSize}`)).experiments

export const beginExperiment = (body: JsonRecord): Promise<Experiment> => post<Experiment>("/evals/experiments", body)

export const cancelExperiment = (id: string): Promise<Experiment> =>
  post<Experiment>(`/evals/experiments/${id}/cancel`, {})

/** Continues an experiment that was cancelled or stopped. */
export const resumeExperiment = (id: string): Promise<Experiment> =>
  post<Experiment>(`/evals/experiments/${id}/resume`, {})

export const readOnline = (): Promise<OnlineReport> => json<OnlineReport>("/evals/online")

export const removeExperiment = (id: string): Promise<Response> =>
  call(`/evals/experiments/${id}`, { method: "DELETE" })

/** Stores the outcome that a person tells of a judge's answer, and reads the judges of the shown experiment again. */
export const tellOutcome = async (
  id: string,
  at: { readonly number: number; readonly score: number },
  outcome: string | number | boolean
): Promise<void> => {
  const { number, score } = at
  await post(`/evals/experiments/${id}/results/${number}/outcomes`, { score, outcome })
  const next = await look(id)
  if (shown.value?.experiment.experiment_id === id) shown.value = next
}

export const compareVariants = (id: string, a: string, b: string): Promise<Comparison> =>
  json<Comparison>(`/evals/experiments/${id}/comparison?${new URLSearchParams({ a, b }).toString()}`)

export const readFeedback = async (): Promise<ReadonlyArray<Feedback>> =>
  (await json<{ readonly feedback: ReadonlyArray<Feedback> }>(`/evals/feedback?limit=${pageSize}`)).feedback

export const giveFeedback = (
  threadId: string,
  messageId: string,
  body: { readonly score: number; readonly comment?: string }
): Promise<Feedback> => post<Feedback>(`/threads/${threadId}/messages/${messageId}/feedback`, body)

export interface AnswersReport {
  readonly cases: number
  readonly question_sets: ReadonlyArray<{
    readonly question_set: string
    readonly questions: ReadonlyArray<QuestionReport>
  }>
}

export const readReport = (assistantId: string): Promise<AnswersReport> =>
  json<AnswersReport>(`/assistants/${assistantId}/answers/report`)

/** The experiment that is shown. */
export interface Shown {
  readonly experiment: Experiment
  readonly results: ReadonlyArray<AttemptResult>
  readonly summaries: ReadonlyArray<VariantSummary>
  readonly judges: ReadonlyArray<Judge>
}

export const shown = signal<Shown | null>(null)

interface ResultPage {
  readonly results: ReadonlyArray<AttemptResult>
  readonly next_cursor: string | null
}

/** All results, page by page. */
const readResults = async (id: string): Promise<ReadonlyArray<AttemptResult>> => {
  const found: Array<AttemptResult> = []
  let cursor: string | null = null
  do {
    const page: ResultPage = await json<ResultPage>(
      `/evals/experiments/${id}/results?limit=${pageSize}${cursor === null ? "" : `&cursor=${cursor}`}`
    )
    found.push(...page.results)
    cursor = page.next_cursor
  } while (cursor !== null)
  return found
}

const look = async (id: string): Promise<Shown> => {
  const [experiment, results, { judges, variants }] = await Promise.all([
    json<Experiment>(`/evals/experiments/${id}`),
    readResults(id),
    json<{ readonly variants: ReadonlyArray<VariantSummary>; readonly judges: ReadonlyArray<Judge> }>(
      `/evals/experiments/${id}/summary`
    )
  ])
  return { experiment, results, summaries: variants, judges }
}

/** The pause between two reads of an experiment that runs, in milliseconds. */
const lookEvery = 700

/** Shows an experiment, and reads its state at intervals until it has ended. All results are read when their number has changed. */
export const followExperiment = async (id: string, stop: AbortSignal): Promise<void> => {
  if (shown.value?.experiment.experiment_id !== id) shown.value = null
  while (!stop.aborted) {
    try {
      const before = shown.value
      const experiment = await json<Experiment>(`/evals/experiments/${id}`, { signal: stop })
      const isSame = before !== null && before.experiment.attempts.done === experiment.attempts.done
      const next = isSame ? { ...before, experiment } : await look(id)
      if (stop.aborted) return
      shown.value = next
      if (next.experiment.status !== "running") return
    } catch (error) {
      // A server that does not answer is asked again.
      if (stop.aborted || isRefusal(error)) throw error
    }
    await pause(lookEvery, stop)
  }
}
