/** What the user said, with what was attached. */
import { bytes, wholeDate } from "../lib/format.ts"
import type { Question } from "../state/conversation.ts"
import { classes, html, type View } from "../view.ts"
import type { Attachment } from "../wire.ts"
import { Icon } from "./Icon.ts"

export const QuestionItem = ({ question }: { readonly question: Question }): View =>
  html`<li class=${classes("question", !question.isSent && "unsent")}>
    <article aria-label="You say">
      <h3 class="unseen">You</h3>
      ${question.text !== "" && html`<p title=${question.at === null ? "" : wholeDate(question.at)}>${question.text}</p>`}
      ${question.attachments.map((each) => html`<${AttachedFile} attachment=${each} />`)}
    </article>
  </li>`

const words: Readonly<Record<string, string>> = {
  uploading: "on its way",
  processing: "being read",
  completed: "",
  error: "could not be read"
}

export const AttachedFile = ({ attachment }: { readonly attachment: Attachment }): View =>
  html`<span class=${classes("chip", attachment.status === "error" && "failed")}>
    <${Icon} name="file" />
    <span>${attachment.filename}</span>
    <small>
      ${[
        attachment.file_size_bytes === null ? "" : bytes(attachment.file_size_bytes),
        words[attachment.status] ?? attachment.status
      ]
        .filter(Boolean)
        .join(", ")}
    </small>
  </span>`
