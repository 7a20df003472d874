/** The user's message with its attachments. */
import { bytes, wholeDate } from "../lib/format.ts"
import type { Question } from "../state/conversation.ts"
import { documentAddress, openDocument } from "../state/documents.ts"
import { act, pressing } from "../state/studio.ts"
import { classes, html, useEffect, useLayoutEffect, useRef, useState, type View } from "../view.ts"
import type { Attachment } from "../wire.ts"
import { Icon } from "./Icon.ts"

export interface QuestionActions {
  /** Sends another text in its place. Absent: it cannot be edited. */
  readonly onEdit?: (messageId: string, content: string) => void
  readonly onFork?: (messageId: string) => Promise<void>
}

export interface QuestionItemProps {
  readonly question: Question
  readonly actions?: QuestionActions
}

export const QuestionItem = ({ actions = {}, question }: QuestionItemProps): View => {
  const [isEdited, edit] = useState(false)
  const { at, attachments, isSent, messageId, text } = question
  const { onEdit, onFork } = actions
  return html`<li class=${classes("question", !isSent && "unsent")}>
    <article aria-label="You say">
      <h3 class="unseen">You</h3>
      ${
        isEdited && messageId !== null && onEdit !== undefined
          ? html`<${EditForm}
              text=${text}
              onDone=${(content: string | null) => {
                edit(false)
                if (content !== null) onEdit(messageId, content)
              }}
            />`
          : text !== "" && html`<p dir="auto" title=${at === null ? "" : wholeDate(at)}>${text}</p>`
      }
      ${attachments.map(
        (each) =>
          html`<${each.document_id === "" || !isSent ? AttachedFile : SentFile} key=${each.document_id} attachment=${each} />`
      )}
      ${
        messageId !== null &&
        !isEdited &&
        (onEdit !== undefined || onFork !== undefined) &&
        html`<span class="actions">
          ${onEdit !== undefined && html`<button type="button" class="quiet" aria-label="Edit your message" onClick=${() => edit(true)}><${Icon} name="pencil" />Edit</button>`}
          ${onFork !== undefined && html`<button type="button" class="quiet" aria-label="Fork the conversation at your message" onClick=${pressing(() => onFork(messageId))}><${Icon} name="fork" />Fork</button>`}
        </span>`
      }
    </article>
  </li>`
}

const EditForm = ({
  onDone,
  text
}: {
  readonly text: string
  readonly onDone: (content: string | null) => void
}): View => {
  const field = useRef<HTMLTextAreaElement>(null)
  useLayoutEffect(() => field.current?.focus(), [])
  const submit = (event: Event) => {
    event.preventDefault()
    const content = field.current?.value.trim() ?? ""
    if (content !== "") onDone(content)
  }
  const onKey = (event: KeyboardEvent) => {
    if (event.isComposing) return
    if (event.key === "Enter" && !event.shiftKey) submit(event)
    if (event.key !== "Escape") return
    event.preventDefault()
    onDone(null)
  }
  return html`<form class="edit" onSubmit=${submit}>
    <textarea ref=${field} rows="3" dir="auto" aria-label="Text of your message" defaultValue=${text} onKeyDown=${onKey}></textarea>
    <div class="actions">
      <span class="hint">What follows is kept as a thread.</span>
      <button type="button" onClick=${() => onDone(null)}>Leave it</button>
      <button class="primary">Send again</button>
    </div>
  </form>`
}

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
