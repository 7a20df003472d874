/** One case. Its name, its tags and its expectations can be changed; the case can be copied as a test, or deleted. */
import { expectationFields, kinds, toExpectation } from "../lib/expectations.ts"
import { textIn } from "../lib/forms.ts"
import { readForm } from "../lib/schema.ts"
import { go } from "../state/address.ts"
import { act, submitting } from "../state/studio.ts"
import * as tests from "../state/tests.ts"
import { html, useState, type View } from "../view.ts"
import type { EvalCase, Expectation } from "../wire.ts"
import { confirm } from "./Confirm.ts"
import { CodeBlock } from "./CodeBlock.ts"
import { IconButton } from "./Icon.ts"
import { SchemaFields } from "./SchemaForm.ts"

/** An expectation that is being written. */
export interface ExpectationDraft {
  readonly key: number
  readonly expectation: Expectation
  /** The typed texts, by the names of the fields. */
  readonly texts: Readonly<Record<string, string>>
}

let keys = 0

export const draftExpectation = (expectation: Expectation): ExpectationDraft => ({
  key: ++keys,
  expectation,
  texts: {}
})

/** Throws an error with a sentence for each field that is wrong. A kind that the studio does not know stays as it is. */
export const readExpectations = (drafts: ReadonlyArray<ExpectationDraft>): ReadonlyArray<Expectation> => {
  const read = drafts.map(({ expectation, texts }) => ({
    expectation,
    ...readForm(expectationFields(expectation), texts)
  }))
  const problems = read.flatMap(({ problems: found }) => found)
  if (problems.length > 0) throw new Error(problems.join("\n"))
  return read.map(({ expectation, values }) =>
    kinds[expectation.kind] === undefined ? expectation : toExpectation(expectation.kind, values)
  )
}

interface CaseFormProps {
  readonly each: EvalCase
  readonly onChange: () => Promise<void>
}

export const CaseForm = ({ each, onChange }: CaseFormProps): View => {
  const { case_id: id, messages, name, question, source, tags, tools } = each
  const [drafts, setDrafts] = useState(() => each.expectations.map(draftExpectation))
  const [isSaved, setSaved] = useState(false)
  const [test, setTest] = useState<string | null>(null)
  const save = async (form: HTMLFormElement) => {
    setSaved(false)
    await tests.changeCase(id, {
      name: textIn(form, "name").trim(),
      tags: textIn(form, "tags")
        .split(",")
        .flatMap((tag) => (tag.trim() === "" ? [] : [tag.trim()])),
      expectations: readExpectations(drafts)
    })
    await onChange()
    setSaved(true)
  }
  const copy = async () => setTest(source === null ? null : await tests.copyTest(source.thread_id, source.message_id))
  const remove = () =>
    confirm({
      title: "Delete this case?",
      text: `“${(name ?? question).slice(0, 80)}” is not tried any more. The thread that it was made of stays.`,
      action: "Delete case",
      run: async () => {
        await tests.removeCase(id)
        go("tests", "cases")
        await onChange()
      }
    })
  return html`<form aria-label="Case" onSubmit=${submitting(save)} onInput=${() => setSaved(false)}>
    ${
      messages.length > 0 &&
      html`<details><summary>What was said before</summary>
        <ol class="said">${messages.map(({ content, role }) => html`<li><b>${role}</b> <span dir="auto">${content ?? "calls a tool"}</span></li>`)}</ol>
      </details>`
    }
    <p dir="auto"><b>Question:</b> ${question}</p>
    ${tools.length > 0 && html`<p class="detail">From the record: ${tools.map((tool) => html`<code>${tool.name}</code> `)}</p>`}
    <div class="fields">
      <label>Name <input name="name" defaultValue=${name ?? ""} autocomplete="off" maxlength="200" /></label>
      <label>Tags, with commas between <input name="tags" defaultValue=${tags.join(", ")} autocomplete="off" /></label>
    </div>
    <${ExpectationsEditor} drafts=${drafts} onChange=${setDrafts} />
    ${test !== null && html`<${CodeBlock} code=${test} language="ts" />`}
    <div class="actions">
      ${isSaved && html`<span class="hint" role="status">Saved</span>`}
      ${source !== null && html`<button type="button" onClick=${act(copy)}>Copy as Vitest</button>`}
      <button type="button" class="danger" onClick=${remove}>Delete</button>
      <button class="primary">Save</button>
    </div>
  </form>`
}

interface ExpectationsEditorProps {
  readonly drafts: ReadonlyArray<ExpectationDraft>
  readonly onChange: (drafts: ReadonlyArray<ExpectationDraft>) => void
}

export const ExpectationsEditor = ({ drafts, onChange }: ExpectationsEditorProps): View => {
  const change = (key: number, next: ExpectationDraft) =>
    onChange(drafts.map((each) => (each.key === key ? next : each)))
  const add = () => onChange([...drafts, draftExpectation({ kind: "contains" })])
  return html`<fieldset class="expectations">
    <legend>The answer</legend>
    ${drafts.map(
      (draft, index) =>
        html`<div class="expectation" role="group" aria-label="Expectation ${index + 1}" key=${draft.key}>
          <div class="row">
            <${KindChoice} number=${index + 1} kind=${draft.expectation.kind} onChange=${(kind: string) => change(draft.key, { key: draft.key, expectation: { kind }, texts: draft.texts })} />
            <${IconButton} icon="trash" label="Remove expectation ${index + 1}" onClick=${() => onChange(drafts.filter(({ key }) => key !== draft.key))} />
          </div>
          <div class="fields">
            <${SchemaFields}
              prefix="expectation-${draft.key}"
              fields=${expectationFields(draft.expectation)}
              texts=${draft.texts}
              onInput=${(name: string, text: string) => change(draft.key, { ...draft, texts: { ...draft.texts, [name]: text } })}
            />
          </div>
        </div>`
    )}
    <button type="button" class="quiet" onClick=${add}>Expect something${drafts.length > 0 && " more"}</button>
  </fieldset>`
}

interface KindChoiceProps {
  readonly number: number
  readonly kind: string
  readonly onChange: (kind: string) => void
}

const KindChoice = ({ kind, number, onChange }: KindChoiceProps): View =>
  html`<select
    aria-label="Kind of expectation ${number}"
    value=${kind}
    onChange=${(event: Event) => {
      if (event.currentTarget instanceof HTMLSelectElement) onChange(event.currentTarget.value)
    }}
  >
    ${kinds[kind] === undefined && html`<option value=${kind}>${kind}</option>`}
    ${Object.entries(kinds).map(([name, { word }]) => html`<option value=${name}>${word}</option>`)}
  </select>`
