/** The user's message with its attachments. */
import { bytes, wholeDate } from "../lib/format.ts"
import type { Question } from "../state/conversation.ts"
import { documentAddress, openDocument } from "../state/documents.ts"
import { act } from "../state/place.ts"
import { classes, html, useEffect, useState, type View } from "../view.ts"
import type { Attachment } from "../wire.ts"
import { Icon } from "./Icon.ts"

export const QuestionItem = ({ question }: { readonly question: Question }): View =>
  html`<li class=${classes("question", !question.isSent && "unsent")}>
    <article aria-label="You say">
      <h3 class="unseen">You</h3>
      ${question.text !== "" && html`<p title=${question.at === null ? "" : wholeDate(question.at)}>${question.text}</p>`}
      ${question.attachments.map(
        (each) =>
          html`<${each.document_id === "" || !question.isSent ? AttachedFile : SentFile} key=${each.document_id} attachment=${each} />`
      )}
    </article>
  </li>`

const words: Readonly<Record<string, string>> = {
  uploading: "on its way",
  processing: "being read",
  completed: "",
  error: "could not be read"
}

const isPicture = (name: string): boolean => /\.(?:png|jpe?g|gif|webp)$/iu.test(name)

/** A file of a message: a picture is shown, any other file is a link with its name; both open the bytes. */
const SentFile = ({ attachment }: { readonly attachment: Attachment }): View => {
  const { document_id: id, filename } = attachment
  const [address, setAddress] = useState<string | null>(null)
  useEffect(() => {
    if (isPicture(filename)) documentAddress(id).then(setAddress, () => {})
  }, [id])
  return html`<button type="button" class="sent-file" aria-label="Open ${filename}" onClick=${() => act(openDocument)(id)}>
    ${address === null ? html`<${AttachedFile} attachment=${attachment} />` : html`<img src=${address} alt=${filename} loading="lazy" />`}
  </button>`
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
