/** A turn from a shared file: its messages, and its details beside them. Nothing of it is sent anywhere. */
import { storedAnswer } from "../lib/answer.ts"
import { useTitle } from "../state/address.ts"
import * as inspector from "../state/inspector.ts"
import { newThread } from "../state/studio.ts"
import { opened } from "../state/shared.ts"
import { wholeDate } from "../lib/format.ts"
import { html, signal, useMemo, type View } from "../view.ts"
import type { StoredMessage } from "../wire.ts"
import { AnswerItem } from "./AnswerItem.ts"
import { QuestionItem } from "./QuestionItem.ts"

export const Room = (): View => {
  const shared = opened.value
  useTitle("Shared turn")
  if (shared === null)
    return html`<p class="hint loading">The file of a shared turn is open only until the page is left. Open it again under “You”.</p>`
  const look = () => {
    inspector.inspected.value = shared.turn
    inspector.isOpen.value = true
  }
  return html`<div class="talk">
    <div class="banner">
      <p>A turn of <strong>${shared.assistant.name}</strong> that was shared on ${wholeDate(shared.saved_at)}.</p>
      <span class="actions">
        <button type="button" onClick=${look}>Look inside</button>
        <button type="button" onClick=${newThread}>Close</button>
      </span>
    </div>
    <ol class="messages" tabindex="0" aria-label="Messages of the shared turn">
      ${shared.messages.map((message) => html`<${SharedMessage} key=${message.message_id} message=${message} name=${shared.assistant.name} problem=${shared.turn.run.error?.message ?? null} />`)}
    </ol>
  </div>`
}

interface SharedMessageProps {
  readonly message: StoredMessage
  readonly name: string
  readonly problem: string | null
}

const SharedMessage = ({ message, name, problem }: SharedMessageProps): View => {
  const answer = useMemo(
    () => signal({ ...storedAnswer(message), problem, state: closed(storedAnswer(message).state) }),
    [message]
  )
  if (message.role === "user") {
    const question = {
      kind: "question",
      key: message.message_id,
      messageId: null,
      text: message.content ?? "",
      attachments: message.attachments ?? [],
      at: message.created_at,
      isSent: true
    } as const
    return html`<${QuestionItem} question=${question} />`
  }
  return html`<${AnswerItem} answer=${answer} name=${name} threadId=${null} actions=${{}} />`
}

/** A state that was in progress when the file was saved is shown as ended. */
const closed = <State extends string>(state: State) => (state === "live" ? "cancelled" : state)
