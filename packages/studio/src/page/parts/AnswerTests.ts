/** Under an answer: whether it was good, and keeping its turn as a test. */
import { kept } from "../state/dialogs.ts"
import { feedback, judge } from "../state/feedback.ts"
import { act } from "../state/studio.ts"
import { html, useState, type View } from "../view.ts"
import { Icon } from "./Icon.ts"

interface AnswerTestsProps {
  readonly threadId: string
  readonly messageId: string
}

export const AnswerTests = ({ messageId, threadId }: AnswerTestsProps): View => {
  const [isAsked, ask] = useState(false)
  const [comment, setComment] = useState("")
  const score = feedback.value.get(messageId)?.score ?? 0
  const send = act(judge)
  const complain = (event: Event) => {
    event.preventDefault()
    send(threadId, messageId, -1, comment.trim())
    ask(false)
  }
  return html`<button
      type="button"
      class="quiet"
      aria-label="Good answer"
      aria-pressed=${score > 0}
      onClick=${() => {
        ask(false)
        send(threadId, messageId, 1, "")
      }}
    >
      <${Icon} name="thumb" />Good
    </button>
    <button
      type="button"
      class="quiet"
      aria-label="Bad answer"
      aria-pressed=${score < 0}
      aria-expanded=${isAsked}
      onClick=${() => {
        // A second click must not take the words of the first one back.
        if (score >= 0) send(threadId, messageId, -1, "")
        ask(!isAsked)
      }}
    >
      <${Icon} name="thumbDown" />Bad
    </button>
    <button type="button" class="quiet" onClick=${() => (kept.value = { thread_id: threadId, message_id: messageId })}><${Icon} name="flask" />Keep as test</button>
    ${
      isAsked &&
      html`<form class="again" aria-label="What was wrong" onSubmit=${complain}>
        <label>
          What was wrong?
          <input
            value=${comment}
            autocomplete="off"
            maxlength="2000"
            onInput=${(event: Event) => {
              if (event.currentTarget instanceof HTMLInputElement) setComment(event.currentTarget.value)
            }}
          />
        </label>
        <button class="primary" disabled=${comment.trim() === ""}>Tell</button>
      </form>`
    }`
}
