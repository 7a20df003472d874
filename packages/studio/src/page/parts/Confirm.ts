/** Asks for confirmation before something is deleted permanently. */
import { html, lazy, signal, type View } from "../view.ts"
import { act } from "../state/studio.ts"
import type { DialogProps } from "./Dialog.ts"

const Dialog = lazy<DialogProps>(async () => (await import("./Dialog.ts")).Dialog)

interface Question {
  readonly title: string
  readonly text: string
  readonly action: string
  readonly run: () => Promise<unknown>
}

const asked = signal<Question | null>(null)

export const confirm = (question: Question): void => {
  asked.value = question
}

export const Confirm = (): View => {
  const question = asked.value
  if (question === null) return null
  const close = () => {
    asked.value = null
  }
  const run = () => {
    close()
    act(question.run)()
  }
  return html`<${Dialog} title=${question.title} onClose=${close}>
    <p>${question.text}</p>
    <div class="actions">
      <button type="button" onClick=${close}>Keep it</button>
      <button type="button" class="danger" onClick=${run}>${question.action}</button>
    </div>
  <//>`
}
