/** The form of a new experiment: its cases, its variants, the number of attempts, and the most that it may cost. */
import { controlValue, textIn } from "../lib/forms.ts"
import { plural } from "../lib/format.ts"
import { go, href } from "../state/address.ts"
import { catalogueProblem, readModelName } from "../state/catalogue.ts"
import { assistants, submitting } from "../state/studio.ts"
import { takeWanted } from "../state/wanted.ts"
import * as tests from "../state/tests.ts"
import { html, useEffect, useState, type View } from "../view.ts"
import type { JsonRecord } from "../wire.ts"
import { type ExpectationDraft, ExpectationsEditor, readExpectations } from "./CaseForm.ts"
import { IconButton } from "./Icon.ts"
import { ModelPicker } from "./ModelPicker.ts"

interface Draft {
  readonly key: number
  readonly name: string
  readonly assistant: string
  readonly version: string
  readonly model: string
  readonly temperature: string
  readonly instructions: string
  /** The most excerpts of documents. 0: documents are not searched. */
  readonly excerpts: string
}

let keys = 0

const newDraft = (name: string): Draft => ({
  key: ++keys,
  name,
  assistant: "",
  version: "",
  model: "",
  temperature: "",
  instructions: "",
  excerpts: ""
})

const mostVariants = 10

const toVariant = ({ assistant, excerpts, instructions, model, name, temperature, version }: Draft): JsonRecord => {
  const { model: model_name, provider } = readModelName(model)
  return {
    name: name.trim(),
    ...(assistant === "" ? {} : { assistant_id: assistant }),
    ...(version === "" ? {} : { assistant_version: Number(version) }),
    ...(provider === null ? {} : { llm_provider: provider }),
    ...(model_name === null ? {} : { model_name }),
    ...(temperature === "" ? {} : { model_options: { temperature: Number(temperature) } }),
    ...(instructions.trim() === "" ? {} : { instructions }),
    ...(excerpts === "" ? {} : { retrieval: excerpts === "0" ? { excerpts: "none" } : { tok_k: Number(excerpts) } })
  }
}

export const ExperimentForm = ({ tag }: { readonly tag: string }): View => {
  const [drafts, setDrafts] = useState<ReadonlyArray<Draft>>(() => [newDraft("now"), newDraft("changed")])
  const [expected, setExpected] = useState<ReadonlyArray<ExpectationDraft>>([])
  const [cases, setCases] = useState<{ readonly count: number; readonly isMore: boolean } | null>(null)
  useEffect(
    () =>
      takeWanted(tests.readCases(tag, null), ({ cases: found, next_cursor }) =>
        setCases({ count: found.length, isMore: next_cursor !== null })
      ),
    [tag]
  )
  const begin = async (form: HTMLFormElement) => {
    const name = textIn(form, "name").trim()
    const budget = textIn(form, "budget")
    const made = await tests.beginExperiment({
      ...(name === "" ? {} : { name }),
      ...(tag === "" ? {} : { tags: [tag] }),
      variants: drafts.map(toVariant),
      repeats: Number(textIn(form, "repeats")),
      tools: textIn(form, "tools"),
      ...(budget === "" ? {} : { budget_usd: Number(budget) }),
      expectations: readExpectations(expected)
    })
    go("tests", "experiments", made.experiment_id)
  }
  const change = (key: number) => (patch: Partial<Draft>) =>
    setDrafts(drafts.map((each) => (each.key === key ? { ...each, ...patch } : each)))
  const isReady =
    drafts.every(({ model }) => catalogueProblem(readModelName(model)) === null) && (cases?.count ?? 0) > 0
  return html`<form class="pane" aria-label="New experiment" onSubmit=${submitting(begin)}>
    <div class="row">
      <h3>New experiment</h3>
      <a href=${href("tests", "experiments")}>All experiments</a>
    </div>
    <p class="hint" role="status">
      ${cases === null ? "" : cases.count === 0 ? "There is no case to try. Keep an answer as a test first." : `It tries ${plural(cases.count, "case")}${cases.isMore ? " and more" : ""}${tag === "" ? ", all there are" : ` with the tag “${tag}”`}.`}
    </p>
    <div class="fields">
      <label>Name <input name="name" autocomplete="off" maxlength="200" /></label>
      <label>Times each case is tried <input name="repeats" type="number" min="1" max="20" required defaultValue="1" /></label>
      <label>
        Tools
        <select name="tools">
          <option value="recorded">Answer from the record</option>
          <option value="live">Run</option>
        </select>
      </label>
      <label>Budget in dollars <input name="budget" type="number" min="0.000001" step="any" placeholder="none" /></label>
    </div>
    <div class="variants">
      ${drafts.map((draft, index) => html`<${VariantFields} key=${draft.key} number=${index + 1} draft=${draft} onChange=${change(draft.key)} onRemove=${drafts.length > 1 ? () => setDrafts(drafts.filter(({ key }) => key !== draft.key)) : null} />`)}
    </div>
    <details>
      <summary>Expected of every case, beside its own</summary>
      <${ExpectationsEditor} drafts=${expected} onChange=${setExpected} />
    </details>
    <div class="actions">
      ${drafts.length < mostVariants && html`<button type="button" onClick=${() => setDrafts([...drafts, newDraft(`variant ${drafts.length + 1}`)])}>Add a variant</button>`}
      <button class="primary" disabled=${!isReady}>Begin</button>
    </div>
  </form>`
}

interface VariantFieldsProps {
  readonly number: number
  readonly draft: Draft
  readonly onChange: (patch: Partial<Draft>) => void
  /** Null if this is the only variant, which cannot be removed. */
  readonly onRemove: (() => void) | null
}

const VariantFields = ({ draft, number, onChange, onRemove }: VariantFieldsProps): View => {
  const set = (name: keyof Draft) => (event: Event) => onChange({ [name]: controlValue(event) })
  return html`<fieldset class="sheet" aria-label="Variant ${number}">
    <div class="row">
      <label>Name of variant ${number} <input required maxlength="200" autocomplete="off" value=${draft.name} onInput=${set("name")} /></label>
      ${onRemove !== null && html`<${IconButton} icon="trash" label="Remove variant ${number}" onClick=${onRemove} />`}
    </div>
    <label>
      Assistant
      <select value=${draft.assistant} onChange=${set("assistant")}>
        <option value="">That of each case</option>
        ${assistants.value?.map(({ assistant_id: id, name }) => html`<option value=${id}>${name}</option>`)}
      </select>
    </label>
    ${draft.assistant !== "" && html`<label>Version <input type="number" min="1" placeholder="the present one" value=${draft.version} onInput=${set("version")} /></label>`}
    <${ModelPicker} label="Model of variant ${number}" empty="The assistant’s own" value=${draft.model} onInput=${(model: string) => onChange({ model })} />
    <label>Temperature <input type="number" min="0" max="2" step="0.1" placeholder="the model’s own" value=${draft.temperature} onInput=${set("temperature")} /></label>
    <label>Excerpts of documents <input type="number" min="0" max="100" placeholder="the assistant’s own" value=${draft.excerpts} onInput=${set("excerpts")} /></label>
    <label>Instructions <textarea rows="4" dir="auto" placeholder="The assistant’s own" value=${draft.instructions} onInput=${set("instructions")}></textarea></label>
  </fieldset>`
}
