/**
 * The playground: instructions, messages, tools and model options, with which two to four models answer at once, each on a scratch thread
 * that is deleted when its answer has ended. It begins with an assistant, or with the prompt of a model call.
 */
import { call, json, once, post } from "../api/http.ts"
import { follow } from "../api/stream.ts"
import { listedEfforts, type OptionTexts, readOptions, writeOptions } from "../lib/modelOptions.ts"
import { readTools, writeTools } from "../lib/tools.ts"
import { find, readModelName, writeModelName } from "./catalogue.ts"
import { batch, computed, signal, type Signal } from "../view.ts"
import type { Assistant, JsonRecord, Run, RunInspection, Thread } from "../wire.ts"
import { afterEvent, type Answer, emptyAnswer } from "../lib/answer.ts"
import type { Kept } from "./dialogs.ts"
import { saveAssistant, readAssistant } from "./knowledge.ts"

export interface Line {
  readonly role: "user" | "assistant"
  readonly text: string
}

export interface Column {
  readonly id: number
  readonly model: Signal<string>
  /** Options that replace those of all columns. */
  readonly options: Signal<OptionTexts>
  /** How much the model may think. Empty: the model decides. */
  readonly effort: Signal<string>
  readonly answer: Signal<Answer | null>
  /** Milliseconds to the first word and to the end. */
  readonly times: Signal<{ readonly first: number | null; readonly total: number | null }>
  readonly problem: Signal<string | null>
}

let columnIds = 0

const makeColumn = (model: string): Column => ({
  id: ++columnIds,
  model: signal(model),
  options: signal<OptionTexts>({}),
  effort: signal(""),
  answer: signal<Answer | null>(null),
  times: signal({ first: null, total: null }),
  problem: signal<string | null>(null)
})

export const mostColumns = 4

export const instructions = signal("")
export const lines = signal<ReadonlyArray<Line>>([{ role: "user", text: "" }])
export const columns = signal<ReadonlyArray<Column>>([makeColumn(""), makeColumn("")])
/** The tools that are answered by hand, as the assistant's form has them. */
export const tools = signal("")
/** The options of all columns. */
export const options = signal<OptionTexts>({})
/** The assistant with which it began. */
const begun = signal<Assistant | null>(null)
/** Whether that assistant has tools. */
export const hasTools = computed(() => (begun.value?.tools ?? []).length > 0)
export const assistantId = computed(() => begun.value?.assistant_id ?? null)
/** The number of messages that are not sent again: those of tools, and those behind the last question. */
export const leftOut = signal(0)
/** The number of columns that wait for their answers. */
const running = signal(0)
export const isRunning = computed(() => running.value > 0)

let stop = new AbortController()

const clear = (): void => {
  for (const { answer, problem, times } of columns.value) {
    answer.value = null
    problem.value = null
    times.value = { first: null, total: null }
  }
}

const take = (assistant: Assistant): void => {
  begun.value = assistant
  tools.value = writeTools(assistant.tools ?? [])
  options.value = writeOptions(assistant.model_options)
}

/** Begins with an assistant's settings and one empty message. */
export const beginWith = (assistant: Assistant): void =>
  batch(() => {
    take(assistant)
    instructions.value = assistant.system_prompt ?? ""
    lines.value = [{ role: "user", text: "" }]
    leftOut.value = 0
    clear()
  })

const isLine = (role: string): role is Line["role"] => role === "user" || role === "assistant"

/** Begins with the prompt of a step's model call, unless the playground shows another place when it is read. */
export const beginWithStep = async (
  [threadId = "", runId = "", step = "0"]: ReadonlyArray<string>,
  isWanted: () => boolean
): Promise<void> => {
  const address = `/threads/${threadId}/runs/${runId}`
  const [run, { prompts, steps }] = await Promise.all([
    json<Run>(address),
    json<RunInspection>(`${address}/inspection`)
  ])
  const assistant = await readAssistant(run.assistant_id)
  const number = Math.max(0, steps.slice(0, Number(step) + 1).filter(({ kind }) => kind === "model").length - 1)
  const parts = (prompts[number] ?? prompts.at(-1))?.parts.filter(({ part }) => part !== "tools") ?? []
  const read = parts.flatMap(({ messages }) => messages)
  const said = read.flatMap(({ role, text }) => (isLine(role) ? [{ role, text }] : []))
  const last = said.findLastIndex(({ role }) => role === "user")
  if (!isWanted()) return
  batch(() => {
    take(assistant)
    instructions.value = read.flatMap(({ role, text }) => (role === "system" ? [text] : [])).join("\n\n")
    // The last message is answered again, so that it ends with the user's.
    lines.value = last === -1 ? [{ role: "user", text: "" }] : said.slice(0, last + 1)
    leftOut.value = read.length - read.filter(({ role }) => role === "system").length - (last + 1)
    const model = writeModelName({ provider: run.model_provider, model: run.model_name })
    columns.value = [makeColumn(model), makeColumn(model)]
  })
}

export const addColumn = (): void => {
  columns.value = [...columns.value, makeColumn(columns.value.at(-1)?.model.value ?? "")]
}

export const removeColumn = (id: number): void => {
  columns.value = columns.value.filter((each) => each.id !== id)
}

/** The options of all columns, replaced where this column has its own. */
const columnOptions = (column: Column): JsonRecord | null => {
  const own = Object.entries(column.options.value).filter(([, text]) => text.trim() !== "")
  return readOptions({ ...options.value, ...Object.fromEntries(own) })
}

/** The tools, if they are not the assistant's. */
const changedTools = (): JsonRecord => {
  const given = readTools(tools.value)
  return writeTools(given) === writeTools(begun.value?.tools ?? []) ? {} : { tools: given }
}

/** The efforts of thinking that the column's model takes, as far as the catalogue says. */
export const columnEfforts = ({ model }: Column): ReadonlyArray<string> => {
  const { llm_provider: provider = null, model_name: own = null } = begun.value ?? {}
  return listedEfforts(find(model.value.trim() === "" ? { provider, model: own } : readModelName(model.value)))
}

const modelFields = (column: Column): JsonRecord => {
  const { model, provider } = readModelName(column.model.value)
  const effort = columnEfforts(column).find((each) => each === column.effort.value)
  const model_options = columnOptions(column)
  return {
    ...(provider === null ? {} : { llm_provider: provider }),
    ...(model === null ? {} : { model_name: model }),
    ...(model_options === null ? {} : { model_options }),
    ...(effort === undefined ? {} : { thinking: { effort } }),
    ...changedTools()
  }
}

/** A thread that holds all messages but the last, and that no list shows. The server deletes it after a day, if this page could not. */
const makeScratch = async (id: string, before: ReadonlyArray<Line>): Promise<string> => {
  const messages = before.map(({ role, text }) => ({ role, content: text }))
  const { thread_id } = await post<Thread>(`/assistants/${id}/threads/import`, { scratch: true, messages })
  return thread_id
}

/** The conversation of the playground as a case. */
export const asCase = (): Kept => ({
  question: lines.value.at(-1)?.text ?? "",
  messages: lines.value.slice(0, -1).map(({ role, text }) => ({ role, content: text })),
  assistant_id: assistantId.value ?? "",
  ...(instructions.value === (begun.value?.system_prompt ?? "") ? {} : { instructions: instructions.value }),
  ...("tools" in changedTools() ? { tool_definitions: readTools(tools.value) } : {})
})

const ask = async (column: Column, id: string, stopped: AbortSignal): Promise<void> => {
  const last = lines.value.at(-1)
  if (last === undefined) return
  const threadId = await makeScratch(id, lines.value.slice(0, -1))
  const begin = performance.now()
  try {
    column.answer.value = emptyAnswer
    const body = { content: last.text, system_prompt: instructions.value, stream: true, ...modelFields(column) }
    const headers = once()
    const send = () => call(`/threads/${threadId}/messages`, { method: "POST", body, headers, signal: stopped })
    await follow(send, {
      threadId,
      stop: stopped,
      onEvent: (event) => {
        const { first } = column.times.value
        if (event.type === "content_streaming" && first === null)
          column.times.value = { first: performance.now() - begin, total: null }
        column.answer.value = afterEvent(column.answer.value ?? emptyAnswer, event)
      },
      onBreak: () => {}
    })
    column.times.value = { ...column.times.value, total: performance.now() - begin }
  } finally {
    await removeScratch(threadId, column.answer.value?.runId ?? null)
  }
}

/** Deletes the thread with its run. A run in progress is cancelled first. */
const removeScratch = async (threadId: string, runId: string | null): Promise<void> => {
  try {
    if (stop.signal.aborted && runId !== null)
      await call(`/threads/${threadId}/runs/${runId}/cancel`, { method: "POST" })
    await call(`/threads/${threadId}`, { method: "DELETE" })
  } catch {
    // The server deletes it later.
  }
}

export const askAll = async (): Promise<void> => {
  const id = assistantId.value
  if (id === null || isRunning.value) return
  clear()
  stop = new AbortController()
  const { signal: stopped } = stop
  const all = columns.value
  running.value = all.length
  await Promise.all(
    all.map(async (column) => {
      try {
        await ask(column, id, stopped)
      } catch (error) {
        if (!stopped.aborted) column.problem.value = error instanceof Error ? error.message : String(error)
      } finally {
        running.value -= 1
      }
    })
  )
}

export const stopAll = (): void => {
  stop.abort()
  for (const { answer } of columns.value) {
    if (answer.value?.state === "live") answer.value = { ...answer.value, state: "cancelled" }
  }
}

/** The instructions and tools, and the model and options of a column, as the next version of the assistant. */
export const saveColumn = async (column: Column): Promise<Assistant> => {
  const present = await readAssistant(assistantId.value ?? "")
  const { model, provider } = readModelName(column.model.value)
  const saved = await saveAssistant(present.assistant_id, present.version, {
    system_prompt: instructions.value,
    model_name: model ?? "",
    llm_provider: provider ?? "",
    model_options: columnOptions(column),
    ...changedTools()
  })
  begun.value = saved
  return saved
}
