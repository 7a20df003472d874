/** Asks for the API key when there is none, or when the server refuses it. */
import { setKey } from "../api/http.ts"
import { act, assistants, keyProblem, start } from "../state/place.ts"
import { textIn } from "../lib/forms.ts"
import { html, type View } from "../view.ts"
import { Dialog } from "./Dialog.ts"

export const KeyDialog = (): View => {
  const problem = keyProblem.value
  if (problem === null) return null
  const submit = (event: SubmitEvent) => {
    event.preventDefault()
    const form = event.currentTarget
    if (!(form instanceof HTMLFormElement)) return
    setKey(textIn(form, "key").trim())
    act(start)()
  }
  const close = () => {
    keyProblem.value = null
  }
  return html`<${Dialog} title="API key" onClose=${close} mayClose=${assistants.value !== null}>
    <form onSubmit=${submit}>
      <p>The server printed one when it first started. It is kept in this browser.</p>
      <label>Key <input name="key" type="password" required autocomplete="off" spellcheck=${false} /></label>
      <p role="alert" class="problem">${problem}</p>
      <div class="actions"><button class="primary">Go</button></div>
    </form>
  <//>`
}
