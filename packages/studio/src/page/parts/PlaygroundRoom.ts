/** The playground: instructions, messages, tools and options at the left; beside them two to four models that answer, and how the answers differ. */
import { count, duration, money, plural } from "../lib/format.ts"
import { controlValue } from "../lib/forms.ts"
import { effortWords, type OptionTexts } from "../lib/modelOptions.ts"
import { readTools } from "../lib/tools.ts"
import { catalogueProblem, readModelName } from "../state/catalogue.ts"
import { useTitle } from "../state/address.ts"
import { kept } from "../state/dialogs.ts"
import { act, assistant, assistants, can, ensureAssistant, loadAssistants, pressing } from "../state/studio.ts"
import * as playground from "../state/playground.ts"
import type { Column, Line } from "../state/playground.ts"
import { html, useEffect, useState, type View } from "../view.ts"
import { IconButton } from "./Icon.ts"
import { Markdown } from "./Markdown.ts"
import { ModelPicker } from "./ModelPicker.ts"
import { OptionFields } from "./OptionFields.ts"
import { WordDiff } from "./WordDiff.ts"

interface RoomProps {
  readonly path: ReadonlyArray<string>
}

const begin = async (path: ReadonlyArray<string>, isWanted: () => boolean): Promise<void> => {
  if (path.length > 1) return playground.beginWithStep(path, isWanted)
  if (playground.assistantId.value !== null) return
  const id = await ensureAssistant()
  const chosen = assistants.value?.find(({ assistant_id }) => assistant_id === id) ?? assistant.value
  if (chosen !== null) playground.beginWith(chosen)
}

export const Room = ({ path }: RoomProps): View => {
  const [hasDiff, setDiff] = useState(false)
  useTitle("Playground")
  useEffect(() => {
    let isWanted = true
    act(begin)(path, () => isWanted)
    return () => {
      isWanted = false
    }
  }, [path.join("/")])
  const columns = playground.columns.value
  const isRunning = playground.isRunning.value
  const problemOfTools = findToolsProblem()
  const isReady =
    problemOfTools === null &&
    (playground.lines.value.at(-1)?.text.trim() ?? "") !== "" &&
    columns.every(({ model }) => catalogueProblem(readModelName(model.value)) === null)
  const submit = (event: Event) => {
    event.preventDefault()
    act(playground.askAll)()
  }
  return html`<div class="room playground">
    <header class="room-head">
      <h2>Playground</h2>
      <label class="check"><input type="checkbox" checked=${hasDiff} onChange=${() => setDiff(!hasDiff)} /> Differences from the first</label>
    </header>
    <form class="sheet" onSubmit=${submit} aria-label="What is asked">
      <label>
        Instructions
        <textarea rows="3" dir="auto" value=${playground.instructions.value} onInput=${(event: Event) => (playground.instructions.value = controlValue(event))}></textarea>
      </label>
      <${Lines} />
      ${playground.leftOut.value > 0 && html`<p class="hint">${plural(playground.leftOut.value, "message")} of tools, or behind the last question, are not sent again.</p>`}
      <details open=${playground.hasTools.value}>
        <summary>Tools</summary>
        <label>
          Tools that you answer by hand
          <textarea
            rows=${Math.min(8, playground.tools.value.split("\n").length + 1)}
            spellcheck=${false}
            value=${playground.tools.value}
            placeholder=${"get_weather: weather of a city\n(one a line, or a JSON list)"}
            onInput=${(event: Event) => (playground.tools.value = controlValue(event))}
          ></textarea>
        </label>
        <p class="hint">The tools of the server are there as in every turn. A call of these ends the answer.</p>
        ${problemOfTools !== null && html`<p class="problem" role="alert">${problemOfTools}</p>`}
      </details>
      <details open=${Object.keys(playground.options.value).length > 0}>
        <summary>Model options</summary>
        <${OptionFields} texts=${playground.options.value} onChange=${(texts: OptionTexts) => (playground.options.value = texts)} />
      </details>
      <div class="actions">
        ${columns.length < playground.mostColumns && html`<button type="button" onClick=${playground.addColumn}>Add a model</button>`}
        ${isRunning && html`<button type="button" onClick=${playground.stopAll}>Stop</button>`}
        <button class="primary" disabled=${isRunning || !isReady}>Ask ${plural(columns.length, "model")}</button>
      </div>
    </form>
    <div class="answers">
      ${columns.map((column, index) => html`<${ColumnView} key=${column.id} column=${column} number=${index + 1} first=${hasDiff && index > 0 ? columns[0] : undefined} />`)}
    </div>
  </div>`
}

/** The problem with the tools. Null: there is none. */
const findToolsProblem = (): string | null => {
  try {
    readTools(playground.tools.value)
    return null
  } catch (error) {
    return error instanceof Error ? error.message : String(error)
  }
}

const Lines = (): View => {
  const lines = playground.lines.value
  const change = (index: number, patch: Partial<Line>) => {
    playground.lines.value = lines.map((line, each) => (each === index ? { ...line, ...patch } : line))
  }
  const add = () => {
    playground.lines.value = [...lines, { role: "assistant", text: "" }, { role: "user", text: "" }]
  }
  return html`<fieldset class="lines">
    <legend>Messages</legend>
    <ol>
      ${lines.map(
        ({ role, text }, index) =>
          html`<li key=${index}>
            <select
              aria-label="Who says message ${index + 1}"
              value=${role}
              disabled=${index === lines.length - 1}
              onChange=${(event: Event) => change(index, { role: controlValue(event) === "assistant" ? "assistant" : "user" })}
            >
              <option value="user">user</option>
              <option value="assistant">assistant</option>
            </select>
            <textarea
              rows=${Math.min(6, text.split("\n").length + 1)}
              dir="auto"
              aria-label="Message ${index + 1}"
              value=${text}
              onInput=${(event: Event) => change(index, { text: controlValue(event) })}
            ></textarea>
            ${
              lines.length > 1 &&
              index < lines.length - 1 &&
              html`<${IconButton} icon="trash" label="Remove message ${index + 1}" onClick=${() => (playground.lines.value = lines.filter((_, each) => each !== index))} />`
            }
          </li>`
      )}
    </ol>
    <button type="button" class="quiet" onClick=${add}>Add an answer and a question</button>
  </fieldset>`
}

interface ColumnViewProps {
  readonly column: Column
  readonly number: number
  /** The column with which the answer is compared. Undefined: the answer is shown without a comparison. */
  readonly first: Column | undefined
}

const ColumnView = ({ column, first, number }: ColumnViewProps): View => {
  const [saved, setSaved] = useState<number | null>(null)
  const { answer: shown, model, options, problem, times } = column
  const answer = shown.value
  const base = first?.answer.value?.text
  const save = async () => {
    const { version } = await playground.saveColumn(column)
    setSaved(version)
    await loadAssistants()
  }
  return html`<section class="sheet" aria-label="Model ${number}">
    <header class="row">
      <h3>Model ${number}</h3>
      ${playground.columns.value.length > 2 && html`<${IconButton} icon="close" label="Remove model ${number}" onClick=${() => playground.removeColumn(column.id)} />`}
    </header>
    <${ModelPicker} label="Name of model ${number}" empty="The assistant’s own" value=${model.value} onInput=${(next: string) => (model.value = next)} />
    <details>
      <summary>Options of this model</summary>
      <${Effort} column=${column} />
      <${OptionFields} texts=${options.value} empty="as for all" onChange=${(texts: OptionTexts) => (options.value = texts)} />
    </details>
    ${problem.value !== null && html`<p class="problem" role="alert">${problem.value}</p>`}
    ${
      answer !== null &&
      html`<div class="answered" aria-live="off" aria-busy=${answer.state === "live"}>
      ${base === undefined ? html`<div class="text" dir="auto"><${Markdown} text=${answer.text} /></div>` : html`<${WordDiff} before=${base} after=${answer.text} />`}
      ${answer.calls.map(({ given, name }) => html`<p class="tool-call"><code>${name}</code> <code>${given}</code></p>`)}
      ${answer.problem !== null && html`<p class="problem">${answer.problem}</p>`}
      ${answer.state === "cancelled" && html`<p class="hint">Stopped.</p>`}
    </div>`
    }
    <${Figures} answer=${answer} times=${times.value} />
    <div class="actions">
      ${answer !== null && answer.state !== "live" && can.value.evals && html`<button type="button" class="quiet" onClick=${() => (kept.value = playground.asCase())}>Keep as test</button>`}
      ${saved !== null && html`<span class="hint" role="status">Saved as version ${saved}</span>`}
      <button type="button" class="quiet" onClick=${pressing(save)}>Save as version of the assistant</button>
    </div>
  </section>`
}

/** Thinking is an option of a message and not of an assistant, so a version does not store it. */
const Effort = ({ column }: { readonly column: Column }): View => {
  const efforts = playground.columnEfforts(column)
  if (efforts.length === 0) return null
  return html`<label>
    Thinking effort
    <select value=${column.effort.value} onChange=${(event: Event) => (column.effort.value = controlValue(event))}>
      <option value="">the model’s own</option>
      ${efforts.map((effort) => html`<option value=${effort}>${effortWords[effort]}</option>`)}
    </select>
    <span class="hint">With these messages only: a saved version does not keep it.</span>
  </label>`
}

interface FiguresProps {
  readonly answer: Column["answer"]["value"]
  readonly times: Column["times"]["value"]
}

const Figures = ({ answer, times }: FiguresProps): View => {
  const facts = [
    times.first === null ? null : `first word ${duration(times.first)}`,
    times.total === null ? null : `whole ${duration(times.total)}`,
    answer?.inputTokens == null ? null : `${count(answer.inputTokens)} in, ${count(answer.outputTokens ?? 0)} out`,
    answer === null || answer.state === "live"
      ? null
      : answer.costUsd === null
        ? "cost not known"
        : money(answer.costUsd)
  ].filter(Boolean)
  return facts.length === 0 ? null : html`<p class="detail">${facts.join(" · ")}</p>`
}
