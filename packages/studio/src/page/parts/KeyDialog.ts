/** Asks for the API key when there is none, or when the server refuses it, and before an address replaces the one that is kept. */
import { setKey } from "../api/http.ts"
import { act, assistants, keyProblem, offeredKey, start } from "../state/studio.ts"
import { textIn } from "../lib/forms.ts"
import { html, type View } from "../view.ts"
import { Dialog } from "./Dialog.ts"

export const KeyDialogs = (): View => html`<${KeyDialog} /><${OfferedKey} />`

const KeyDialog = (): View => {
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
      <p>The server printed one when it first started. It is kept in this browser. Without one, you are who the page’s own sign-in says.</p>
      <label>Key <input name="key" type="password" required autocomplete="off" spellcheck=${false} /></label>
      <p role="alert" class="problem">${problem}</p>
      <div class="actions"><button class="primary">Go</button></div>
    </form>
  <//>`
}

/** An address with a key may come from anybody, so it does not replace the user's own key without a question. */
const OfferedKey = (): View => {
  const offered = offeredKey.value
  if (offered === null) return null
  const close = () => {
    offeredKey.value = null
  }
  const use = () => {
    close()
    setKey(offered)
    act(start)()
  }
  return html`<${Dialog} title="Use another API key?" onClose=${close}>
    <p>This address brought a key that is not the one kept in this browser.</p>
    <div class="actions">
      <button type="button" class="primary" onClick=${close}>Keep mine</button>
      <button type="button" onClick=${use}>Use the other key</button>
    </div>
  <//>`
}
