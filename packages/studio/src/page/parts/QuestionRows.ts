/** Typed questions, a row each: name, kind, question, and possible answers. */
import { controlValue } from "../lib/forms.ts"
import type { QuestionRow } from "../lib/questionRows.ts"
import { html, type View } from "../view.ts"
import { Icon, IconButton } from "./Icon.ts"

interface QuestionRowsProps {
  readonly rows: ReadonlyArray<QuestionRow>
  readonly onChange: (rows: ReadonlyArray<QuestionRow>) => void
}

const words: Readonly<Record<QuestionRow["type"], string>> = {
  noul: "Yes or no",
  choice: "One of several",
  score: "A level on a scale"
}

const criteriaWords: Readonly<Record<QuestionRow["type"], string>> = {
  noul: "What yes means, then what no means (may be empty)",
  choice: "Options, one on each line: name: description",
  score: "Levels, one on each line, the lowest first"
}

const isType = (text: string): text is QuestionRow["type"] => Object.hasOwn(words, text)

export const QuestionRows = ({ onChange, rows }: QuestionRowsProps): View => {
  const change = (index: number, patch: Partial<QuestionRow>) =>
    onChange(rows.map((row, each) => (each === index ? { ...row, ...patch } : row)))
  return html`<fieldset class="question-rows">
    <legend>Questions</legend>
    ${rows.map(
      (row, index) =>
        html`<div role="group" aria-label="Question ${index + 1}" key=${index}>
          <label>Name <input value=${row.name} autocomplete="off" spellcheck=${false} onInput=${(event: Event) => change(index, { name: controlValue(event) })} /></label>
          <label>
            Kind
            <select
              value=${row.type}
              onChange=${(event: Event) => {
                const chosen = event.currentTarget instanceof HTMLSelectElement ? event.currentTarget.value : ""
                if (isType(chosen)) change(index, { type: chosen })
              }}
            >
              ${Object.entries(words).map(([type, word]) => html`<option value=${type}>${word}</option>`)}
            </select>
          </label>
          <${IconButton} icon="trash" label="Remove question ${index + 1}" onClick=${() => onChange(rows.filter((_, each) => each !== index))} />
          <label class="wide">What is asked <input value=${row.instructions} dir="auto" autocomplete="off" onInput=${(event: Event) => change(index, { instructions: controlValue(event) })} /></label>
          <label class="wide">${criteriaWords[row.type]} <textarea rows="2" dir="auto" value=${row.criteria} onInput=${(event: Event) => change(index, { criteria: controlValue(event) })}></textarea></label>
        </div>`
    )}
    <button type="button" class="quiet" onClick=${() => onChange([...rows, { name: `question ${rows.length + 1}`, type: "noul", instructions: "", criteria: "" }])}>
      <${Icon} name="plus" /> Add a question
    </button>
  </fieldset>`
}
