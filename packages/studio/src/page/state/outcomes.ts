/** The outcomes of typed answers, of the open thread and of judges. Outcomes that cannot be read are not shown. */
import { json, post } from "../api/http.ts"
import { signal } from "../view.ts"

/** The truth of a yes or no, the name of an option, or the number of a level. */
export type Truth = string | number | boolean

const told = signal<ReadonlyMap<string, Truth>>(new Map())
/** The thread whose outcomes are in `told`. */
let shown: string | null = null

const outcomeKey = (messageId: string, question: string): string => `${messageId} ${question}`

/** Null: no outcome was told. */
export const toldOutcome = (messageId: string, question: string): Truth | null =>
  told.value.get(outcomeKey(messageId, question)) ?? null

interface ThreadOutcomes {
  readonly outcomes: ReadonlyArray<{ readonly message_id: string; readonly question: string; readonly outcome: Truth }>
}

/** Reads the outcomes of a thread, once while the thread is shown. */
export const readTold = async (threadId: string): Promise<void> => {
  if (shown === threadId) return
  shown = threadId
  told.value = new Map()
  try {
    const { outcomes } = await json<ThreadOutcomes>(`/threads/${threadId}/outcomes`)
    const read = outcomes.map((each) => [outcomeKey(each.message_id, each.question), each.outcome] as const)
    // Outcomes that were told meanwhile are newer.
    if (shown === threadId) told.value = new Map([...read, ...told.value])
  } catch {
    if (shown === threadId) shown = null
  }
}

export const tellOfAnswer = async (
  threadId: string,
  messageId: string,
  question: string,
  outcome: Truth
): Promise<void> => {
  await post(`/threads/${threadId}/messages/${messageId}/outcomes`, { question, outcome })
  if (shown === threadId) told.value = new Map([...told.value, [outcomeKey(messageId, question), outcome]])
}

interface JudgeOutcomes {
  readonly outcomes: ReadonlyArray<{ readonly score: number; readonly outcome: Truth }>
}

/** The outcomes of the judges of a result, by the positions of their scores. */
export const readToldOfJudges = async (experimentId: string, number: number): Promise<ReadonlyMap<number, Truth>> => {
  const { outcomes } = await json<JudgeOutcomes>(`/evals/experiments/${experimentId}/results/${number}/outcomes`)
  return new Map(outcomes.map(({ outcome, score }) => [score, outcome]))
}
