/** An assistant's settings, saved only over the version that was read, and its versions with what changed in each. */
import { Refused } from "../api/http.ts"
import { textIn } from "../lib/forms.ts"
import { mayAct } from "../lib/host.ts"
import { readOptions, writeOptions } from "../lib/modelOptions.ts"
import { readTools, writeTools } from "../lib/tools.ts"
import { catalogueProblem, readModelName, writeModelName } from "../state/catalogue.ts"
import { readAssistant, saveAssistant } from "../state/knowledge.ts"
import { loadAssistants, pressing, submitting, tell } from "../state/studio.ts"
import { tellTabs } from "../state/tabs.ts"
import { html, useEffect, useState, type View } from "../view.ts"
import type { Assistant, JsonRecord } from "../wire.ts"
import { ModelPicker } from "./ModelPicker.ts"
import { OptionFields } from "./OptionFields.ts"
import { Versions } from "./Versions.ts"

export const SettingsPane = ({ assistant }: { readonly assistant: Assistant }): View => {
  const [shown, setShown] = useState(assistant)
  /** The version with which the form began. What is saved from it does not begin it anew, so that the focus stays. */
  const [begun, setBegun] = useState(assistant.version)
  const [isStale, setStale] = useState(false)
  const [isSaved, setSaved] = useState(false)
  // The list of assistants may be older than what another tab or program has saved.
  useEffect(() => {
    readAssistant(assistant.assistant_id).then((read) => {
      setShown(read)
      setBegun(read.version)
    }, tell)
  }, [])
  const show = async (next: Assistant) => {
    setShown(next)
    setStale(false)
    await loadAssistants()
    tellTabs({ kind: "assistants" })
  }
  const showAnew = async (next: Assistant) => {
    setBegun(next.version)
    setSaved(false)
    await show(next)
  }
  const refused = (error: unknown) => {
    if (!(error instanceof Refused) || error.status !== 412) throw error
    setStale(true)
  }
  const save = async (body: JsonRecord) => {
    setSaved(false)
    await saveAssistant(shown.assistant_id, shown.version, body).then(async (saved) => {
      await show(saved)
      setSaved(true)
    }, refused)
  }
  const reload = async () => showAnew(await readAssistant(shown.assistant_id))
  return html`<div class="two">
    <div>
      ${
        isStale &&
        html`<div class="banner" role="alert">
        <p>This assistant was changed elsewhere since it was read here. Nothing was saved.</p>
        <button type="button" onClick=${pressing(reload)}>Read the newest version</button>
      </div>`
      }
      <${SettingsForm} key=${`${shown.assistant_id} ${begun}`} assistant=${shown} onSave=${save} isSaved=${isSaved} />
    </div>
    <${Versions} key=${shown.assistant_id} assistant=${shown} onRestored=${showAnew} onRefused=${refused} />
  </div>`
}

interface SettingsFormProps {
  readonly assistant: Assistant
  readonly onSave: (body: JsonRecord) => Promise<void>
  readonly isSaved: boolean
}

/** The meaning of an empty model name: the model that assistants without their own use. */
const noModel = "The server’s default"

const optional = (text: string): string | null => (text.trim() === "" ? null : text)

const SettingsForm = ({ assistant, isSaved, onSave }: SettingsFormProps): View => {
  const [model, setModel] = useState(writeModelName({ provider: assistant.llm_provider, model: assistant.model_name }))
  const [written] = useState(() => writeOptions(assistant.model_options))
  const [options, setOptions] = useState(written)
  const [problem, setProblem] = useState<string | null>(null)
  const isFixed = !mayAct()
  const save = async (form: HTMLFormElement) => {
    setProblem(null)
    const { model: model_name, provider: llm_provider } = readModelName(model)
    let tools
    try {
      tools = readTools(textIn(form, "tools"))
    } catch (error) {
      return setProblem(error instanceof Error ? error.message : String(error))
    }
    await onSave({
      name: textIn(form, "name"),
      system_prompt: optional(textIn(form, "instructions")),
      tools,
      // An empty name removes the assistant's model.
      model_name: model_name ?? "",
      llm_provider: llm_provider ?? "",
      // A form cannot write every option: words to stop at may be line breaks.
      model_options: options === written ? assistant.model_options : readOptions(options)
    })
  }
  return html`<form class="settings" onSubmit=${submitting(save)} aria-label="Settings of ${assistant.name}">
    <label>Name <input name="name" required maxlength="255" readonly=${isFixed} defaultValue=${assistant.name} autocomplete="off" /></label>
    <label>
      Instructions
      <textarea name="instructions" rows="9" dir="auto" readonly=${isFixed}>${assistant.system_prompt ?? ""}</textarea>
    </label>
    ${
      isFixed
        ? html`<label>Model <input readonly value=${model} placeholder=${noModel} /></label>`
        : html`<${ModelPicker} label="Model" value=${model} onInput=${setModel} empty=${noModel} />`
    }
    <details open=${assistant.model_options !== null}>
      <summary>Model options</summary>
      <${OptionFields} texts=${options} onChange=${setOptions} isFixed=${isFixed} />
    </details>
    <label>
      Tools that you answer by hand
      <textarea name="tools" rows="4" spellcheck=${false} readonly=${isFixed} placeholder=${"get_weather: weather of a city\n(one a line, or a JSON list)"}>${assistant.tools === null ? "" : writeTools(assistant.tools)}</textarea>
    </label>
    ${problem !== null && html`<p role="alert" class="problem">${problem}</p>`}
    <div class="actions">
      <span class="hint" role="status">${isSaved ? `Saved as version ${assistant.version}` : `Version ${assistant.version}`}</span>
      ${!isFixed && html`<button class="primary" disabled=${catalogueProblem(readModelName(model)) !== null}>Save</button>`}
    </div>
  </form>`
}
