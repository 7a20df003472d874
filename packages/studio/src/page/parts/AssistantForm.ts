/** The dialog that creates an assistant, or changes one. */
import { json } from "../api/http.ts"
import { readTools, writeTools } from "../lib/tools.ts"
import { chatModels, catalogueProblem, readModelName, writeModelName } from "../state/catalogue.ts"
import { edited } from "../state/dialogs.ts"
import { assistantId, loadAssistants, newThread, submitting } from "../state/studio.ts"
import { tellTabs } from "../state/tabs.ts"
import { textIn } from "../lib/forms.ts"
import { html, useState, type View } from "../view.ts"
import type { Assistant } from "../wire.ts"
import { Dialog } from "./Dialog.ts"
import { ModelPicker } from "./ModelPicker.ts"

export const AssistantDialog = (): View => {
  const subject = edited.value
  if (subject === null) return null
  const close = () => {
    edited.value = null
  }
  return html`<${Dialog} title=${subject === "new" ? "New assistant" : "Edit assistant"} onClose=${close}>
    <${AssistantForm} assistant=${subject === "new" ? null : subject} onDone=${close} />
  <//>`
}

interface AssistantFormProps {
  readonly assistant: Assistant | null
  readonly onDone: () => void
}

const AssistantForm = ({ assistant, onDone }: AssistantFormProps): View => {
  const [model, setModel] = useState(
    assistant === null ? "" : writeModelName({ provider: assistant.llm_provider, model: assistant.model_name })
  )
  const [mayBeUnknown, allowUnknown] = useState(false)
  const [problem, setProblem] = useState<string | null>(null)
  const isUnknown = catalogueProblem(readModelName(model)) !== null
  const save = async (form: HTMLFormElement) => {
    setProblem(null)
    const text = (name: string) => textIn(form, name)
    const { model: model_name, provider: llm_provider } = readModelName(model)
    let tools
    try {
      tools = readTools(text("tools"))
    } catch (error) {
      setProblem(error instanceof Error ? error.message : "")
      return
    }
    const body = {
      name: text("name"),
      system_prompt: text("instructions"),
      tools,
      // An empty name removes the assistant's model.
      model_name: model_name ?? "",
      llm_provider: llm_provider ?? ""
    }
    const path = assistant === null ? "/assistants" : `/assistants/${assistant.assistant_id}`
    const saved = await json<Assistant>(path, { method: assistant === null ? "POST" : "PUT", body })
    await loadAssistants()
    tellTabs({ kind: "assistants" })
    if (assistant === null) {
      assistantId.value = saved.assistant_id
      newThread()
    }
    onDone()
  }
  return html`<form onSubmit=${submitting(save)} class="assistant-form">
    <label>Name <input name="name" required maxlength="255" defaultValue=${assistant?.name ?? "Ada"} autocomplete="off" autofocus /></label>
    <label>
      Instructions
      <textarea name="instructions" rows="4" placeholder="You are a helpful assistant.">${assistant?.system_prompt ?? ""}</textarea>
    </label>
    <${ModelPicker}
      label="Model"
      value=${model}
      onInput=${setModel}
      empty=${chatModels.value.length === 0 ? "provider/model" : "The server’s default"}
    />
    ${
      isUnknown &&
      html`<label class="check">
      <input type="checkbox" checked=${mayBeUnknown} onChange=${() => allowUnknown(!mayBeUnknown)} /> Use it anyway
    </label>`
    }
    <label>
      Tools that you answer by hand
      <textarea
        name="tools"
        rows="3"
        spellcheck=${false}
        placeholder=${"get_weather: weather of a city\n(one a line, or a JSON list)"}
      >${assistant?.tools === null || assistant === null ? "" : writeTools(assistant.tools)}</textarea>
    </label>
    ${problem !== null && html`<p role="alert" class="problem">${problem}</p>`}
    <div class="actions">
      <button class="primary" disabled=${isUnknown && !mayBeUnknown}>
        ${assistant === null ? "Make assistant" : "Save"}
      </button>
    </div>
  </form>`
}
