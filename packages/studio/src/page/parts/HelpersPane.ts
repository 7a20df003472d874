/** The assistants that this one may ask as tools, and those to which it may hand a conversation over. */
import { Refused } from "../api/http.ts"
import { textIn } from "../lib/forms.ts"
import { mayAct } from "../lib/host.ts"
import { href } from "../state/address.ts"
import { saveAssistant } from "../state/knowledge.ts"
import { assistants, loadAssistants, pressing, submitting } from "../state/studio.ts"
import { html, useState, type View } from "../view.ts"
import type { Assistant } from "../wire.ts"
import { IconButton } from "./Icon.ts"

type Colleague = Assistant["helpers"][number]
type Kind = "helpers" | "handoffs"

const words: Readonly<
  Record<
    Kind,
    { readonly title: string; readonly one: string; readonly hint: string; readonly tool: (name: string) => string }
  >
> = {
  helpers: {
    title: "Helpers",
    one: "a helper",
    hint: "It asks them in a turn, as tools, and reads what they answer.",
    tool: (name) => name
  },
  handoffs: {
    title: "Handoffs",
    one: "a handoff",
    hint: "It hands the conversation over to them, and they answer the user.",
    tool: (name) => `hand_off_to_${name}`
  }
}

export const HelpersPane = ({ assistant }: { readonly assistant: Assistant }): View => {
  const save = async (kind: Kind, list: ReadonlyArray<Colleague>) => {
    try {
      await saveAssistant(assistant.assistant_id, assistant.version, { [kind]: list.map((each) => ({ ...each })) })
    } catch (error) {
      if (!(error instanceof Refused) || error.status !== 412) throw error
      await loadAssistants()
      throw new Error(
        "This assistant was changed elsewhere meanwhile. Its newest version is shown now; please try again.",
        { cause: error }
      )
    }
    await loadAssistants()
  }
  return html`<section class="pane">
    ${(["helpers", "handoffs"] as const).map(
      (kind) =>
        html`<${Colleagues} key=${kind} kind=${kind} assistant=${assistant} onSave=${(list: ReadonlyArray<Colleague>) => save(kind, list)} />`
    )}
  </section>`
}

interface ColleaguesProps {
  readonly kind: Kind
  readonly assistant: Assistant
  readonly onSave: (list: ReadonlyArray<Colleague>) => Promise<void>
}

const Colleagues = ({ assistant, kind, onSave }: ColleaguesProps): View => {
  const list = assistant[kind]
  const { hint, one, title, tool } = words[kind]
  const others = assistants.value?.filter(({ assistant_id: id }) => id !== assistant.assistant_id) ?? []
  const nameById = new Map(others.map(({ assistant_id, name }) => [assistant_id, name]))
  return html`<section class="sheet" aria-label=${title}>
    <h3>${title}</h3>
    <p class="hint">${hint}</p>
    <ul class="plain">
      ${list.map(
        (each) =>
          html`<li class="row" key=${each.name}>
            <span>
              <a href=${href("knowledge", each.assistant_id, "settings")}>${nameById.get(each.assistant_id) ?? "An assistant that is gone"}</a>
              ${" "}<code>${tool(each.name)}</code> <span class="detail">${each.description}</span>
            </span>
            ${mayAct() && html`<${IconButton} icon="trash" label="Remove ${each.name} from ${title}" onClick=${pressing(() => onSave(list.filter(({ name }) => name !== each.name)))} />`}
          </li>`
      )}
    </ul>
    ${others.length === 0 && html`<p class="hint">There is no other assistant.</p>`}
    ${others.length > 0 && list.length === 0 && !mayAct() && html`<p class="hint">There is none.</p>`}
    ${others.length > 0 && mayAct() && html`<${NewColleague} one=${one} others=${others} onAdd=${(added: Colleague) => onSave([...list, added])} />`}
  </section>`
}

interface NewColleagueProps {
  /** The addition in words. */
  readonly one: string
  readonly others: ReadonlyArray<Assistant>
  readonly onAdd: (added: Colleague) => Promise<void>
}

/** The name of a tool, made from the assistant's name. */
const toolName = (name: string): string =>
  name
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/gu, "_")
    .replaceAll(/^_+|_+$/gu, "")
    .slice(0, 40) || "helper"

const NewColleague = ({ onAdd, one, others }: NewColleagueProps): View => {
  const [isOpen, setOpen] = useState(false)
  const add = async (form: HTMLFormElement) => {
    const id = textIn(form, "assistant")
    const chosen = others.find(({ assistant_id }) => assistant_id === id)
    await onAdd({
      assistant_id: id,
      name: textIn(form, "name").trim() || toolName(chosen?.name ?? ""),
      description: textIn(form, "description")
    })
    setOpen(false)
  }
  if (!isOpen)
    return html`<div class="actions"><button type="button" onClick=${() => setOpen(true)}>Add ${one}</button></div>`
  return html`<form onSubmit=${submitting(add)} aria-label="Add ${one}">
    <div class="fields">
      <label>
        Assistant
        <select name="assistant">${others.map(({ assistant_id: id, name }) => html`<option value=${id}>${name}</option>`)}</select>
      </label>
      <label>Name of the tool <input name="name" autocomplete="off" placeholder="from the assistant’s name" /></label>
    </div>
    <label>What it is for <input name="description" required autocomplete="off" placeholder="The model reads this" /></label>
    <div class="actions">
      <button type="button" onClick=${() => setOpen(false)}>Leave it</button>
      <button class="primary">Add</button>
    </div>
  </form>`
}
