/** The feedback of users on answers, newest first. Each entry leads to its turn, from which a case can be made. */
import { shortDate, wholeDate } from "../lib/format.ts"
import { mayAct } from "../lib/host.ts"
import { href } from "../state/address.ts"
import { kept } from "../state/dialogs.ts"
import { assistants, tell } from "../state/studio.ts"
import * as tests from "../state/tests.ts"
import { html, useEffect, useState, type View } from "../view.ts"
import type { Feedback } from "../wire.ts"
import { Icon } from "./Icon.ts"

export const FeedbackPane = (): View => {
  const [list, setList] = useState<ReadonlyArray<Feedback> | null>(null)
  useEffect(() => {
    tests.readFeedback().then(setList, tell)
  }, [])
  if (list === null) return html`<p class="hint" role="status">It is being read.</p>`
  if (list.length === 0) {
    return html`<div class="nothing"><${Icon} name="thumb" /><p>No answer was judged yet.${mayAct() && " The thumbs stand under each answer in Talk."}</p></div>`
  }
  return html`<ul class="cards" aria-label="Feedback">
    ${list.map((each) => html`<${FeedbackItem} key=${each.message_id} each=${each} />`)}
  </ul>`
}

const FeedbackItem = ({ each }: { readonly each: Feedback }): View => {
  const { assistant_id, assistant_version, comment, created_at, model_name, score, thread_id } = each
  const name = assistants.value?.find((one) => one.assistant_id === assistant_id)?.name ?? "An assistant that is gone"
  return html`<li class="sheet">
    <div class="row">
      <span class="verdict ${score < 0 ? "failed" : "passed"}">
        <${Icon} name=${score < 0 ? "thumbDown" : "thumb"} /> ${score < 0 ? "Bad" : "Good"} ${Math.abs(score) !== 1 && html`<span class="detail">${score}</span>`}
      </span>
      <time class="detail" datetime=${created_at} title=${wholeDate(created_at)}>${shortDate(created_at)}</time>
    </div>
    ${comment !== null && html`<p dir="auto">${comment}</p>`}
    <p class="detail">${name}${assistant_version !== null && `, version ${assistant_version}`}${model_name !== null && `, ${model_name}`}</p>
    <div class="actions">
      <a href=${href("talk", thread_id)}>Open the conversation</a>
      ${mayAct() && html`<button type="button" onClick=${() => (kept.value = { thread_id, message_id: each.message_id })}>Keep as test</button>`}
    </div>
  </li>`
}
